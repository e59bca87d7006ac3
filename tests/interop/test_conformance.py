"""The verdicts of `accord check` on other projects' programs, and that docs/conformance.md has the same."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from accord.check import Report, check_agent
from accord.check.client import check_client
from accord.check.rule import EditionName
from tests.interop.judged import npm_agent, sdk_program
from tests.interop.npm_agents import AGENTS

WANTED = os.environ.get("ACCORD_REAL_AGENTS")
PAGE = Path(__file__).parents[2] / "docs/conformance.md"

slow = pytest.mark.needs(WANTED is not None, "scripts/test --interop")


class Row(NamedTuple):
    """A program, the name that the page gives it, and the ids of the rules that it must keep and does not."""

    name: str
    edition: EditionName
    title: str
    home: str = ""
    """The fixture that knows where its SDK is; none for an agent from npm."""
    broken: str = ""
    either: str = ""
    """Rules of which it breaks one, or both, by when it is asked."""

    def __str__(self) -> str:
        return f"{self.name}-{self.edition}"


ROWS = (
    Row("py_v1", "v1", "agent on the Python SDK", "python_peer_v1"),
    Row("ts_v1", "v1", "agent on the TypeScript SDK", "typescript_peer"),
    Row(
        "py_v2",
        "v2",
        "agent on the Python SDK",
        "python_peer_v2",
        """ACCORD-CANCEL-208 ACCORD-CANCEL-209 ACCORD-INIT-204 ACCORD-INIT-205 ACCORD-PROMPT-203 ACCORD-RESUME-204
        ACCORD-WIRE-202 ACCORD-WIRE-206 ACP-BATCH-201 ACP-INIT-202""",
    ),
    Row("ts_v2", "v2", "agent on the TypeScript SDK", "typescript_peer"),
    Row("py_v1_client", "v1", "client on the Python SDK", "python_peer_v1"),
    Row("ts_v1_client", "v1", "client on the TypeScript SDK", "typescript_peer"),
    Row("py_v2_client", "v2", "client on the Python SDK", "python_peer_v2", "ACCORD-CLIENT-RUDE-003"),
    Row("ts_v2_client", "v2", "client on the TypeScript SDK", "typescript_peer"),
    # It loses a session that is loaded within the minute in which it was made, and replays a later one too late.
    Row("gemini", "v1", "Gemini CLI", either="ACP-LOAD-001 ACP-LOAD-002"),
    # Its commands fill the records of a start: the last rules of that are not judged.
    Row("qwen", "v1", "Qwen Code", broken="ACP-SCHEMA-001"),
    Row("opencode", "v1", "OpenCode"),
    Row("codex", "v1", "Codex", broken="ACCORD-TERMINAL-004"),
    Row("codex-zed", "v1", "Codex, the older adapter", broken="ACP-JSONRPC-001 ACP-JSONRPC-003 ACP-TRANSPORT-001"),
    Row("claude", "v1", "Claude"),
    Row("codex", "v2", "Codex", broken="ACCORD-DELETE-201 ACCORD-ENUM-201 ACCORD-UNKNOWN-202"),
    Row(
        "claude",
        "v2",
        "Claude",
        broken="""ACCORD-CANCEL-202 ACCORD-CANCEL-208 ACCORD-CANCEL-209 ACCORD-CANCEL-210 ACCORD-INIT-202
        ACCORD-INIT-204 ACCORD-UNKNOWN-202 ACCORD-WIRE-201 ACCORD-WIRE-202 ACCORD-WIRE-203""",
    ),
)
ON_SDKS = [row for row in ROWS if row.home]
FROM_NPM = [row for row in ROWS if not row.home]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder for each check: what one that was killed left changed is not the business of the next."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def broken(report: Report) -> set[str]:
    """The rules that must be kept and were not, with what is wrong for whoever reads a failing test."""
    return {
        f"{outcome.rule.id}: {outcome.deciding and outcome.deciding.message}"
        for outcome in report.outcomes
        if outcome.status == "FAIL" and outcome.rule.tier in {"mandatory", "capability"}
    }


def rules_of(row: Row) -> set[str]:
    """The ids that the page has for a program."""
    return {*row.broken.split(), *row.either.split()}


def ids(messages: set[str]) -> set[str]:
    """Without what is wrong."""
    return {message.partition(":")[0] for message in messages}


@slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("row", ON_SDKS, ids=str)
async def test_a_program_on_an_official_sdk_breaks_what_it_broke_before(
    row: Row, request: pytest.FixtureRequest
) -> None:
    judged = sdk_program(row.name, row.edition, request.getfixturevalue(row.home))
    check = check_client if row.name.endswith("_client") else check_agent
    report = await check(judged.argv, judged.options)

    found = broken(report)
    assert ids(found) == set(row.broken.split()), found


@slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("row", FROM_NPM, ids=str)
async def test_an_agent_from_npm_breaks_what_it_broke_before(row: Row, tmp_path: Path) -> None:
    if not AGENTS[row.name].is_installed:
        missing = f"{row.name} is missing: scripts/agents could not install it"
        if WANTED != "present":
            pytest.fail(missing)
        pytest.skip(missing)
    async with npm_agent(row.name, row.edition, tmp_path) as judged:
        report = await check_agent(judged.argv, judged.options)

    found, either = broken(report), set(row.either.split())
    assert ids(found) - either == set(row.broken.split()), found
    assert ids(found) & either or not either, found


# --- the page


def told() -> dict[tuple[str, str], tuple[str, set[str]]]:
    """By program and edition the verdict of the page and the ids beside it."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## What was found\n")[2].partition("\n## ")[0]
    table = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[2] in {"v1", "v2"}:
            table[cells[0], cells[2]] = (cells[3], set(re.findall(r"`([A-Z]+-[A-Z0-9-]+)`", cells[4])))
    return table


def test_the_page_tells_of_each_program_what_is_asserted_here() -> None:
    expected = {
        (row.title, row.edition): ("not conformant" if rules_of(row) else "conformant", rules_of(row)) for row in ROWS
    }
    assert told() == expected


def test_the_page_explains_every_id_of_its_table() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## What was found\n")[2].partition("\n## ")[0]
    explained = {
        id_
        for line in section.splitlines()
        if line.startswith("| `")
        for id_ in re.findall(r"`(AC[A-Z]+-[A-Z0-9-]+)`", line.split("|")[1])
    }
    assert explained == {id_ for row in ROWS for id_ in rules_of(row)}
