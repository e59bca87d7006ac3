"""Every exit code, produced by the real command; the table of the guide and that of `--help` name the same ones."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accord.cli.status import Status
from tests.cli.command import Accord, scripted
from tests.limits import limit

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
TIMEOUT = ("--timeout", "1.5")

# For each code lines that end with it; the last word names a scripted agent, unless it is all of the line.
LINES: dict[Status, tuple[tuple[str, ...], ...]] = {
    Status.DONE: (("run", "x", "plain"), ("run", "x", "full"), ("run", "x", "banner")),
    Status.FAILED: (("run", "x", "fails"), ("run", "x", "refuses"), ("run", "x", "future")),
    Status.USAGE: (("run", "nobody", "x"), ("run", "demo", "x", "--colour"), ("fly",), ("agents", "rm", "nobody")),
    Status.TIMEOUT: (
        ("run", "x", *TIMEOUT, "hangs"),
        ("run", "x", *TIMEOUT, "drips"),
        ("run", "stop", "--max-tools", "2", "works_on"),
    ),
    Status.NO_SESSION: (("run", "demo", "-c", "x"), ("sessions", "show", "nothing")),
    Status.DENIED: (("run", "x", "asks"),),
    Status.LOGIN: (("run", "x", "wants_login"), ("agents", "doctor", "wants_login")),
    Status.NO_AGENT: (("run", "x", "exits"), ("run", "x", "dies"), ("run", "x", "--", "/no/such/program")),
}
NAMES = {
    "plain", "full", "banner", "fails", "refuses", "future", "hangs", "drips", "asks", "wants_login",
    "exits", "dies", "works_on",
}  # fmt: skip


def words_of(line: tuple[str, ...]) -> list[str]:
    return [*line[:-1], *scripted(line[-1])] if line[-1] in NAMES else list(line)


@pytest.mark.usefixtures("short_graces")
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("status", "line"), [(status, line) for status, lines in LINES.items() for line in lines])
def test_a_line_ends_with_its_code(accord: Accord, status: Status, line: tuple[str, ...]) -> None:
    result = accord(*words_of(line))
    assert result.status == status, result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert len([each for each in result.stderr.splitlines() if not each.startswith("  | ")]) == (status != 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_line_ends_with_130(accord: Accord, number: signal.Signals) -> None:
    with accord.start(
        "run", "x", *scripted("patient"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != b"working on it\n":
            pass
        process.send_signal(number)
        assert process.wait(limit(20)) == 130


def test_there_is_no_other_code_and_all_are_documented(accord: Accord) -> None:
    assert {*LINES, Status.INTERRUPTED} == set(Status)
    page = PAGE.read_text(encoding="utf-8").partition("## Exit codes")[2].partition("\n## ")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == set(Status)
    told = accord("run", "--help").stdout.partition("exit codes: ")[2]
    assert {int(code) for code in re.findall(r"(?:^|, |\s)(\d+) \w", told)} == set(Status)


@pytest.mark.parametrize(("verb", "meant"), [("rn", "run"), ("chta", "chat"), ("session", "sessions")])
def test_a_mistyped_verb_gets_a_guess(accord: Accord, verb: str, meant: str) -> None:
    result = accord(verb, "demo", "hi")
    assert result.status == 2
    assert f"did you mean {meant}?" in result.stderr


def test_a_text_without_an_agent_is_said_to_have_none(accord: Accord) -> None:
    result = accord("run", "explain this repository")
    assert result.status == 2
    assert "no agent is named" in result.stderr
    assert "accord run AGENT 'explain this repository'" in result.stderr


@pytest.mark.usefixtures("short_graces")
@pytest.mark.parametrize(
    "program",
    ["print('Welcome to my shell')", "print('Welcome to my shell', flush=True); import time; time.sleep(60)"],
)
def test_a_program_that_is_no_agent_is_recognised_and_what_it_printed_is_shown(
    accord: Accord, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.cli.stray_output.PATIENCE_SECONDS", 0.1)
    result = accord("run", "hi", "--timeout", str(limit(2)), "--", sys.executable, "-c", program)
    assert result.status == 7
    # A remark comes before the failure where the program still runs.
    lines = result.stderr.splitlines()
    assert len(lines) <= 2
    assert all("Welcome to my shell" in line for line in lines)
