"""`accord check ADDRESS`: the same three exit codes and reports; a token comes from the config, never from the line."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.check.faults.reference.server import TOKEN
from tests.check.faults.server import SERVER_FAULTS, SERVERS
from tests.cli.command import Accord
from tests.limits import limit

pytest.importorskip("termios")

# Without the rule about silent streams, which takes as long as a server is silent.
CHOSEN = ("--only", "ACCORD-REMOTE-00", "--only", "ACCORD-REMOTE-01", "--only", "ACP-INIT")
QUICK = (*CHOSEN, "--edition", "1", "--timeout", "5", "--turn-timeout", "5")


@contextmanager
def served(make: Callable[[], Any]) -> Iterator[int]:
    """The port of a server whose loop runs in a thread, since the command is waited for in this one."""
    is_started, is_over, ports = threading.Event(), threading.Event(), []

    async def serve() -> None:
        server = make()
        await server.start()
        ports.append(server.port)
        is_started.set()
        while not is_over.is_set():
            await asyncio.sleep(0.05)
        await server.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert is_started.wait(limit(20.0))
        yield ports[0]
    finally:
        is_over.set()
        thread.join(limit(20.0))


def configured(accord: Accord, port: int, token: str = TOKEN) -> None:
    (accord.home / "token").write_text(token, encoding="utf-8")
    entry = {"url": f"http://127.0.0.1:{port}/acp", "tokenFile": str(accord.home / "token")}
    accord.config.write_text(json.dumps({"agent_servers": {"served": entry}}), encoding="utf-8")


def test_a_server_that_conforms_is_said_to_and_reports_name_its_address(accord: Accord) -> None:
    report = accord.cwd / "report.json"
    with served(SERVERS["v1"]) as port:
        configured(accord, port)
        result = accord("check", *QUICK, "--json", str(report), "served")
    assert result.status == 0, result.stdout
    assert "CONFORMANT" in result.stdout
    document = json.loads(report.read_text(encoding="utf-8"))
    assert document["agent_command"] == [f"http://127.0.0.1:{port}/acp"]
    assert TOKEN not in report.read_text(encoding="utf-8")


def test_a_server_that_does_not_conform_is_told_what_is_wrong(accord: Accord) -> None:
    fault = next(fault for fault in SERVER_FAULTS if fault.breaks == "ACCORD-REMOTE-003")
    with served(fault.make) as port:
        configured(accord, port)
        result = accord("check", *QUICK, "served")
    assert result.status == 1
    assert "ACCORD-REMOTE-003" in result.stdout
    assert any(line.strip().startswith("→ GET /acp") for line in result.stdout.splitlines())
    assert f"Bearer {TOKEN}" not in result.stdout


def test_an_address_that_cannot_be_judged_is_one_line_and_status_2(accord: Accord) -> None:
    with served(SERVERS["v1"]) as port:
        address = f"http://127.0.0.1:{port}/acp"
        without = accord("check", *QUICK, address)
        secret = accord("check", *QUICK, "--header", "Authorization=Bearer x", address)
    gone = accord("check", *QUICK, address)
    program = accord("check", *QUICK, "--header", "X-Team=blue", "demo")
    for result, word in (
        (without, "ACCORD_TOKEN"),
        (secret, "command line"),
        (gone, "accord serve"),
        (program, "--header"),
    ):
        assert result.status == 2
        assert len(result.stderr.splitlines()) == 1
        assert word in result.stderr


def test_a_header_goes_with_every_request(accord: Accord) -> None:
    wanted = type(
        "WantsATeam", (SERVERS["v1"],), {"is_authorized": lambda _, request: request.header("x-team") == "blue"}
    )
    with served(wanted) as port:
        result = accord("check", *QUICK, "--header", "X-Team=blue", f"http://127.0.0.1:{port}/acp")
    assert result.status == 0, result.stdout + result.stderr
