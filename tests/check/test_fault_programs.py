"""Faulty agents as programs, to try other checkers on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.check import Options, check_agent
from tests.check.faults import FAULTS
from tests.limits import limit

pytest.importorskip("termios")

PROGRAM = [sys.executable, str(Path(__file__).parent / "faults")]


def told(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *args], capture_output=True, text=True, timeout=limit(60), check=False)


async def statuses(name: str, home: Path, *only: str) -> dict[str, str]:
    options = Options(only=only, env={"TMPDIR": str(home)}, grace_seconds=limit(2))
    report = await check_agent([*PROGRAM, "v1", name], options)
    return {outcome.rule.id: outcome.status for outcome in report.outcomes}


async def test_a_fault_is_the_same_in_a_process_of_its_own(tmp_path: Path) -> None:
    found = await statuses("BannerOnStdout", tmp_path, "ACP-TRANSPORT-")
    assert found == {"ACP-TRANSPORT-001": "FAIL", "ACP-TRANSPORT-002": "PASS"}


async def test_a_conforming_agent_finds_its_sessions_after_a_restart(tmp_path: Path) -> None:
    found = await statuses("FullV1", tmp_path, "ACP-LOAD-", "ACP-LIST-", "ACP-DELETE-001")
    assert set(found.values()) == {"PASS"}
    assert list(tmp_path.rglob("session-*.json"))


def test_without_a_name_every_agent_of_the_edition_is_listed() -> None:
    listed = [line.split()[1] for line in told("v1").stdout.splitlines()]
    assert listed[:2] == ["PlainV1", "FullV1"]
    assert listed[2:] == [fault.name for fault in FAULTS if (fault.edition, fault.side) == ("v1", "agent")]


@pytest.mark.parametrize("args", [["v3"], ["v1", "Nobody"]])
def test_what_is_not_there_is_a_wrong_use(args: list[str]) -> None:
    run = told(*args)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr
