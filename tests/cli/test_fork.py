"""`accord sessions fork`: a copy of a conversation that goes its own way, where the agent offers that."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.command import Accord

AGENT = """
import accord

agent = accord.Agent("forks", version="1", store=accord.SqliteStore("kept.db"), drafts=True)


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say(f"heard {turn.text}")


agent.run()
"""


@pytest.fixture
def words(accord: Accord) -> list[str]:
    """The words that name an agent that forks."""
    (accord.cwd / "forks.py").write_text(AGENT, encoding="utf-8")
    return ["--", sys.executable, "forks.py"]


def told(accord: Accord, session: str) -> list[str]:
    """What was said in a session."""
    shown = accord("sessions", "show", session)
    assert shown.status == 0, shown.stderr
    return [line for line in shown.stdout.splitlines() if line.startswith(("> ", "heard "))]


@pytest.mark.parametrize("edition", ["1", "2"])
def test_a_fork_begins_as_a_copy_and_goes_its_own_way(accord: Accord, words: list[str], edition: str) -> None:
    assert accord("run", "first", "-s", "trunk", "--edition", edition, *words).status == 0
    forked = accord("sessions", "fork", "trunk", "--edition", edition)
    assert forked.status == 0, forked.stderr
    twin, line = forked.stdout.splitlines()
    assert line == f'go on: accord run -s {twin} "…" -- {sys.executable} forks.py'
    on = accord("run", "-s", twin, "second", "--edition", edition, *words)
    assert (on.status, "resumed" in on.stdout) == (0, True)
    assert told(accord, twin) == ["> first", "heard first", "> second", "heard second"]
    assert told(accord, "trunk") == ["> first", "heard first"]


def test_a_fork_is_noted_and_listed(accord: Accord, words: list[str]) -> None:
    accord("run", "first", "-s", "trunk", *words)
    twin = accord("sessions", "fork", "trunk").stdout.splitlines()[0]
    rows = json.loads(accord("sessions", "ls", "--json", *words).stdout)
    assert {row["session"]: (row["name"], row["known"]) for row in rows}[twin] == (None, "both")
    assert len(rows) == 2


def test_an_edition_without_forks_says_so(accord: Accord, words: list[str]) -> None:
    accord("run", "first", "-s", "trunk", *words)
    result = accord("sessions", "fork", "trunk", "--edition", "2-june")
    assert result.status == 1
    assert result.stderr == "accord: session: this agent cannot fork sessions\n"
