"""The session of the guide, typed into a shell as it stands there: what comes is what the guide shows, line by line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.command import Accord, Screen

pytest.importorskip("termios")

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
QUESTION = "[v] whole diff > "

# What every such session has, whatever the guide says: each is a whole line, and they come in this order.
LINES = (
    r"demo 0\.\d+\S* · v1 · session [0-9a-z]{4,8}",
    r"  plan  ▸ read a\.py  ○ edit a\.py",
    r"  read  a\.py +ok +\d+(\.\d+)? m?s",
    "  edit  a\\.py   \\+1 \N{MINUS SIGN}1",
    r'    - pritn\("hi"\)',
    r'    \+ print\("hi"\)',
    r"  always can also mean:  \[f\] every edit below \./  \[e\] every edit",
    r"  allow the edit of a\.py\?  \[y\] \S.*  \[a\] \S.*  \[n\] \S.*  \[v\] whole diff > y",
    r"Replaced 1 occurrence in a\.py\.",
    r'end_turn · \d+(\.\d+)? m?s · (.* · )?go on: accord run demo -c "…"',
)


def guide() -> list[str]:
    """The lines of the guide's first session."""
    text = PAGE.read_text(encoding="utf-8").partition("## The first five minutes")[2]
    return text.partition("```\n")[2].partition("```")[0].splitlines()


def without_numbers(line: str) -> str:
    """A line without what is different in every session: times, ids, how many tokens, and the gap before a time."""
    line = re.sub(r"session [0-9a-z]+", "session ID", line)
    line = re.sub(r"\d+(\.\d+)? m?s\b", "TIME", line)
    return re.sub(r" {2,}ok +", "  ok  ", re.sub(r"\d+/\d+k tokens", "TOKENS", line))


@pytest.fixture
def shown(accord: Accord, tmp_path: Path) -> list[str]:
    """What a shell shows when the line of the guide is typed into it, and `y` at the question."""
    (accord.cwd / "a.py").write_text('pritn("hi")\n', encoding="utf-8")
    command = tmp_path / "bin" / "accord"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m accord "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = f"{command.parent}:{accord.env['PATH']}"
    env = {**accord.env, "PATH": path, "NO_COLOR": "1", "PS1": "$ ", "ENV": "", "COLUMNS": "200"}
    screen = Screen(["/bin/sh", "-i"], accord.cwd, env)
    try:
        screen.expect("$ ")
        screen.type(guide()[0].removeprefix("$ ") + "\n")
        text = screen.expect(QUESTION)
        screen.type("y\n")
        text += screen.expect("\n$ ")
        screen.type("echo status $?\n")
        screen.expect("status 0")
    finally:
        screen.close()
    # The line of progress is written and erased where it stands: what counts is behind it.
    return [line.rstrip("\r").rpartition("\x1b[2K")[2] for line in text.removesuffix("\n$ ").split("\n")]


def test_the_session_of_the_guide_is_what_is_shown_and_has_every_line_of_such_a_session_in_order(
    accord: Accord, shown: list[str]
) -> None:
    assert shown[0] == 'accord run demo "replace pritn with print in a.py"'
    assert [without_numbers(line) for line in shown[1:]] == [without_numbers(line) for line in guide()[1:]]
    assert (accord.cwd / "a.py").read_text(encoding="utf-8") == 'print("hi")\n'
    paths = []
    for pattern in LINES:
        found = [place for place, line in enumerate(shown) if re.fullmatch(pattern, line)]
        assert len(found) == 1, (pattern, shown)
        paths += found
    assert paths == sorted(paths)
    others = [line for place, line in enumerate(shown[1:], 1) if place not in paths]
    assert all(line.startswith("  think ") for line in others)
