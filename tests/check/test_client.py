"""Real clients, judged: ours pass in every edition, and what cannot be judged is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from accord.check.client import check_client, with_agent
from accord.check.engine.program import is_running
from accord.check.engine.report import Report
from accord.check.rule import EditionName, Options
from accord.errors import ConnectFailed

HERE = Path(__file__).parent
PROGRAM = [sys.executable, str(HERE / "client_program.py")]
EDITIONS: dict[EditionName, str] = {"v1": "1", "v2_june": "2-june", "v2": "2"}


def options(edition: EditionName, folder: Path, *only: str, seconds: float = 10.0) -> Options:
    return Options(
        edition=edition,
        only=only,
        cwd=str(folder),
        timeout_seconds=seconds,
        turn_seconds=seconds,
        start_seconds=seconds,
        grace_seconds=min(2.0, seconds),
    )


def failures(report: Report) -> dict[str, object]:
    return {outcome.rule.id: outcome.deciding for outcome in report.outcomes if outcome.status == "FAIL"}


def skipped(report: Report) -> set[str]:
    return {
        outcome.rule.id.removeprefix("ACCORD-CLIENT-") for outcome in report.outcomes if outcome.status == "SKIPPED"
    }


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("edition", EDITIONS)
async def test_our_command_keeps_every_rule(
    edition: EditionName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It never cancels its turn.
    monkeypatch.setattr("accord.check.client.questions.CANCEL_SECONDS", 0.1)
    command = [sys.executable, "-m", "accord", "run", "hello", "--allow", "all", "--edition", EDITIONS[edition]]
    folder = tmp_path / "work"
    folder.mkdir()

    given = Options(**{**vars(options(edition, folder)), "env": {"XDG_STATE_HOME": str(tmp_path / "state")}})
    report = await check_client([*command, "--", "{agent}"], given)

    assert failures(report) == {}
    assert report.conformant
    assert report.info["name"] == "accord"
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_client_on_our_framework_that_offers_everything_shows_and_keeps_every_rule(
    edition: EditionName, tmp_path: Path
) -> None:
    report = await check_client([*PROGRAM, EDITIONS[edition], "able"], options(edition, tmp_path))

    assert failures(report) == {}
    assert report.conformant
    # It takes nothing back, and what is offered cannot be refused.
    assert skipped(report) <= {"CANCEL-003", "ELICIT-003", "HONEST-001", "HONEST-002", "HONEST-003"}


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_client_on_our_framework_that_offers_nothing_refuses_it(edition: EditionName, tmp_path: Path) -> None:
    report = await check_client([*PROGRAM, EDITIONS[edition], "bare"], options(edition, tmp_path))

    assert failures(report) == {}
    assert report.conformant
    assert not skipped(report) & {"HONEST-001", "HONEST-002", "HONEST-003", "ELICIT-003"}


async def test_only_what_was_asked_for_is_played(tmp_path: Path) -> None:
    report = await check_client([*PROGRAM, "1", "able"], options("v1", tmp_path, "ACCORD-CLIENT-FS-00"))

    assert {outcome.rule.id for outcome in report.outcomes} == {f"ACCORD-CLIENT-FS-00{n}" for n in range(1, 10)}
    assert failures(report) == {}
    assert report.scoped
    assert report.processes == 1


async def test_a_client_that_never_starts_its_agent_is_not_conformant(tmp_path: Path) -> None:
    report = await check_client([sys.executable, "-c", "pass"], options("v1", tmp_path, seconds=1))

    assert not report.conformant
    assert set(failures(report)) == {"ACCORD-CLIENT-INIT-001", "ACCORD-CLIENT-TURN-001"}


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.parametrize(("speaks", "edition"), [("1", "v2"), ("2", "v1"), ("1", "v2_june")])
async def test_a_client_of_another_version_is_not_judged(speaks: str, edition: EditionName, tmp_path: Path) -> None:
    report = await check_client([*PROGRAM, speaks, "able"], options(edition, tmp_path))

    assert report.blocked_by_version
    assert not report.conformant
    assert failures(report) == {}


async def test_a_client_that_does_not_end_is_ended(tmp_path: Path) -> None:
    script = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    report = await check_client([sys.executable, "-c", script], options("v1", tmp_path, seconds=0.5))

    assert not report.conformant
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_a_command_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConnectFailed):
        await check_client([str(tmp_path / "missing"), "{agent}"], options("v1", tmp_path))


def test_the_agent_stands_where_its_place_is_kept() -> None:
    agent = ["/bin/python 3", "relay.py", "1"]

    assert with_agent(["client", "--", "{agent}"], agent) == ["client", "--", *agent]
    assert with_agent(["sh", "-c", "client --agent={agent} x"], agent) == [
        "sh",
        "-c",
        "client --agent='/bin/python 3' relay.py 1 x",
    ]
    assert with_agent(["client"], agent) == ["client"]


CHECK = """
import asyncio, sys
from accord.check.client import check_client
from accord.check.rule import Options
asyncio.run(check_client([sys.executable, sys.argv[1]], Options(cwd=sys.argv[2])))
"""
LINGERS = """
import json, os, time
from subprocess import PIPE, Popen
agent = Popen(json.loads(os.environ["ACCORD_CHECK_AGENT_JSON"]), stdin=PIPE, stdout=PIPE)
agent.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\\n')
agent.stdin.flush()
agent.stdout.readline()
with open("pids.new", "w") as file:
    file.write(f"{os.getpid()} {agent.pid}")
os.rename("pids.new", "pids")
time.sleep(600)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_killing_the_check_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "lingers.py").write_text(LINGERS)
    check = subprocess.Popen([sys.executable, "-c", CHECK, str(tmp_path / "lingers.py"), str(tmp_path)])
    try:
        _until((tmp_path / "pids").exists)
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        assert all(is_running(pid) for pid in pids)
    finally:
        check.send_signal(signal.SIGKILL)
        check.wait(10)

    _until(lambda: not any(is_running(pid) for pid in pids))


def _until(holds: object, seconds: float = 15.0) -> None:
    """Wait for what other processes do; nothing here is told of it."""
    until = time.monotonic() + seconds
    while not (callable(holds) and holds()):
        assert time.monotonic() < until
        time.sleep(0.02)
