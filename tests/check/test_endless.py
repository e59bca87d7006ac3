"""Programs that write without end: a check of them stays small, and ends with a verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import limit

resource = pytest.importorskip("resource")

PROGRAM = [sys.executable, str(Path(__file__).with_name("endless_agent.py"))]
LIMIT_MIB = limit(300)
BOUNDS = ["--timeout", "3", "--turn-timeout", "3", "--close-grace", "0.5", "--start-timeout", "20"]
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], check=False).returncode
sys.stderr.write(f"\\npeak {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} status {status}")
"""


def measured(words: list[str], state: Path) -> tuple[int, int, str]:
    """The exit status, the peak of the largest process in MiB, and what was said."""
    command = [sys.executable, "-c", MEASURE, sys.executable, "-m", "accord", "check", *words]
    env = {**os.environ, "XDG_STATE_HOME": str(state)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=limit(240), check=False)
    *_, said, peak, _, status = ["", *done.stderr.rsplit(maxsplit=4)]
    assert said.endswith("peak"), done.stderr
    return int(status), int(peak), done.stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["updates", "line"])
def test_a_check_of_an_endless_agent_stays_small_and_ends_with_a_verdict(kind: str, tmp_path: Path) -> None:
    reports = ["--json", str(tmp_path / "report.json"), "--md", str(tmp_path / "report.md")]
    # Three starts of the agent write until no more is kept, one after the other; a whole check has twelve.
    only = ["--only", "ACP-PROMPT", "--only", "ACP-CANCEL", "--jobs", "1"]
    status, peak, said = measured(["--edition", "1", *BOUNDS, *only, *reports, "--", *PROGRAM, kind], tmp_path)
    assert (status, peak < LIMIT_MIB) == (1, True), (peak, said)
    assert "NOT CONFORMANT" in said
    assert "ACP-PROMPT-001" in said


@pytest.mark.long
@pytest.mark.parametrize("edition", ["1", *(pytest.param(each, marks=pytest.mark.every) for each in ("2", "2-june"))])
@pytest.mark.parametrize("kind", ["updates", "line", "notifications", "requests", "brackets"])
def test_a_check_of_any_endless_agent_stays_small(kind: str, edition: str, tmp_path: Path) -> None:
    status, peak, said = measured(["--edition", edition, *BOUNDS, "--", *PROGRAM, kind], tmp_path)
    assert (status, peak < LIMIT_MIB) == (1, True), (peak, said)


def client(kind: str, state: Path) -> tuple[int, int, str]:
    return measured(["--client", "--edition", "1", *BOUNDS, "--", *PROGRAM, kind, "--client", "{agent}"], state)


def test_a_check_of_an_endless_client_stays_small_and_ends_with_a_verdict(tmp_path: Path) -> None:
    status, peak, said = client("prompts", tmp_path)
    assert (status, peak < LIMIT_MIB) == (1, True), (peak, said)
    assert "NOT CONFORMANT" in said


@pytest.mark.long
@pytest.mark.parametrize("kind", ["updates", "line", "notifications", "requests", "brackets"])
def test_a_check_of_any_endless_client_stays_small(kind: str, tmp_path: Path) -> None:
    status, peak, said = client(kind, tmp_path)
    assert (status, peak < LIMIT_MIB) == (1, True), (peak, said)
