"""The verdicts of `accord check` on other people's servers, and that docs/conformance.md has the same."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from accord.check import AgentAddress, Options, Report, check_agent
from accord.check.rule import EditionName
from tests.interop.programs import PEERS, Program
from tests.interop.test_remote import free_port, is_listening
from tests.limits import limit

WANTED = os.environ.get("ACCORD_REAL_AGENTS")
PAGE = Path(__file__).parents[2] / "docs/conformance.md"

slow = pytest.mark.needs(WANTED is not None, "scripts/test --interop")


class ServerRow(NamedTuple):
    """A server, the name that the page gives it, and the rules of the transport that it does not keep."""

    name: str
    edition: EditionName
    scheme: str
    title: str
    broken: str = ""
    """Rules that must be kept."""
    advice: str = ""
    """Rules that should be."""

    def __str__(self) -> str:
        return f"{self.name}-{self.edition}-{self.scheme}"


_ACCESS = "ACCORD-REMOTE-203 ACCORD-REMOTE-204"
_PYTHON = "ACCORD-REMOTE-017 ACCORD-REMOTE-020 ACCORD-REMOTE-021 ACCORD-REMOTE-104"
ROWS: tuple[ServerRow, ...] = (
    ServerRow("ts", "v1", "http", "TypeScript SDK 2.4.0", advice=_ACCESS),
    ServerRow("ts", "v2", "http", "TypeScript SDK 2.4.0", advice=_ACCESS),
    ServerRow("py", "v1", "http", "Python SDK 1.0.0rc3", advice=f"{_PYTHON} ACCORD-REMOTE-109 {_ACCESS}"),
    ServerRow("py", "v2", "http", "Python SDK 1.0.0rc3", advice=f"{_PYTHON} {_ACCESS}"),
    ServerRow("stdio-to-ws", "v1", "ws", "stdio-to-ws 0.2.0", "ACCORD-REMOTE-110", f"ACCORD-REMOTE-103 {_ACCESS}"),
    ServerRow("stdio-to-ws", "v2", "ws", "stdio-to-ws 0.2.0", "ACCORD-REMOTE-110", f"ACCORD-REMOTE-103 {_ACCESS}"),
)


def plain_server(row: ServerRow, home: Callable[[str], Path]) -> tuple[Program, int | None]:
    """The program that serves a plain agent, and the port that it was given; None if it prints one."""
    if row.name == "py":
        # Both editions are served by the newer package.
        argv = (str(home("python_peer_v2")), "-W", "ignore", str(PEERS / "py_host.py"), row.edition, "plain")
        return Program(argv, {}), None
    modules = home("typescript_peer")
    env = {"ACCORD_TS_PEER": str(modules)}
    agent = ("node", str(PEERS.parent / "plain" / f"ts_{row.edition}.mjs"))
    if row.name == "ts":
        return Program(agent, {**env, "ACCORD_SERVE": "1"}), None
    port = free_port()
    bridge = str(modules / "node_modules/.bin/stdio-to-ws")
    return Program(("node", bridge, "--quiet", "--port", str(port), " ".join(agent)), env), port


@asynccontextmanager
async def running(program: Program, port: int | None) -> AsyncIterator[int]:
    """Run a server; some end by themselves when they are judged."""
    process = await asyncio.create_subprocess_exec(
        *program.argv,
        env={**os.environ, **program.env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(limit(30.0)):
            if port is None:
                assert process.stdout is not None
                port = int(await process.stdout.readline())
            while not await is_listening(port):
                await asyncio.sleep(0.02)
        yield port
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def judged(row: ServerRow, request: pytest.FixtureRequest, project: Path) -> Report:
    program, port = plain_server(row, request.getfixturevalue)
    async with running(program, port) as found:
        address = AgentAddress(f"{row.scheme}://127.0.0.1:{found}/acp")
        options = Options(
            edition=row.edition,
            only=("ACCORD-REMOTE",),
            cwd=str(project),
            timeout_seconds=10,
            turn_seconds=20,
            jobs=1,
        )
        return await check_agent(address, options)


def failed(report: Report, *tiers: str) -> dict[str, str]:
    return {
        each.rule.id: each.deciding.message if each.deciding else ""
        for each in report.outcomes
        if each.status == "FAIL" and each.rule.tier in tiers
    }


@slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("row", ROWS, ids=str)
async def test_a_server_breaks_what_it_broke_before(
    row: ServerRow, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    report = await judged(row, request, tmp_path)
    binding, advice = failed(report, "mandatory", "capability"), failed(report, "advisory")
    assert (set(binding), set(advice)) == (set(row.broken.split()), set(row.advice.split())), (binding, advice)


# --- the page


def section() -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.partition("\n## Servers that were judged\n")[2].partition("\n## ")[0]


def test_the_page_tells_of_each_server_what_is_asserted_here() -> None:
    told = {}
    for line in section().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1] in {"v1", "v2"}:
            ids = [set(re.findall(r"`(ACCORD-[A-Z0-9-]+)`", cell)) for cell in cells[3:]]
            told[cells[0], cells[1]] = (cells[2], *ids)
    expected = {
        (row.title, row.edition): (
            "not conformant" if row.broken else "conformant",
            set(row.broken.split()),
            set(row.advice.split()),
        )
        for row in ROWS
    }
    assert told == expected


def test_the_page_explains_every_rule_of_its_table() -> None:
    explained = {
        id_
        for line in section().splitlines()
        if line.startswith("| `")
        for id_ in re.findall(r"`(ACCORD-[A-Z0-9-]+)`", line.split("|")[1])
    }
    assert explained == {id_ for row in ROWS for id_ in (*row.broken.split(), *row.advice.split())}
