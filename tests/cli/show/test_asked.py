"""What a question shows: what is asked, and not what the agent calls it."""

from __future__ import annotations

from typing import Any

import pytest

from accord.cli.question import _sentence, subject_lines
from accord.cli.show.asked import MAX_FACTS, facts_of
from accord.client import PermissionQuestion
from accord.session.agent_ask import CommandSubject, StartTerminal
from accord.session.claims import claims_of
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.tool import Diff, FileChange, Location
from accord.session.transcript import Transcript


class Here:
    """As much of a session as a question shows."""

    cwd = "/work"
    running_turn = None
    transcript = Transcript()


def question(call: ToolCall | None, **more: Any) -> PermissionQuestion:
    claims = None if call is None else more.pop("claims", claims_of(call))
    options = [PermissionOption("y", "Yes", "allow_once")]
    return PermissionQuestion(Here(), "ls -l", options, call, claims=claims, **more)  # type: ignore[arg-type]


def shown(asked: PermissionQuestion) -> str:
    return "\n".join("".join(span.text for span in line) for line in subject_lines(asked))


@pytest.mark.parametrize(
    ("raw_input", "lines"),
    [
        ({"command": "rm -rf src"}, ["run   rm -rf src"]),
        ({"command": "rm", "args": ["-rf", "a b"]}, ["run   rm -rf 'a b'"]),
        ({"commands": ["ls", "rm x"]}, ["run   ls", "run   rm x"]),
        ({"command": "rm x", "cwd": "/other"}, ["run   rm x", "in    /other"]),
        ({"command": "rm x", "env": {"PATH": ".", "A": "b c"}}, ["run   rm x", "with  PATH=. A='b c'"]),
        ({"spell": "abracadabra"}, ['input {"spell": "abracadabra"}']),
        ({"command": 7}, ["run   (a command that cannot be read)", 'input {"command": 7}']),
    ],
)
def test_a_command_is_shown_with_all_that_belongs_to_it(raw_input: Any, lines: list[str]) -> None:
    text = shown(question(ToolCall("t", kind="execute", title="ls -l", raw_input=raw_input)))
    for line in lines:
        assert f"  {line}" in text.splitlines()


def test_a_title_stands_apart_from_the_command_and_is_not_what_is_asked() -> None:
    asked = question(ToolCall("t", kind="execute", title="ls -l", raw_input={"command": "rm -rf src"}))
    assert shown(asked).splitlines() == ["  run   rm -rf src", "    the agent calls it: ls -l"]
    assert _sentence(asked) == "allow to run rm -rf src?"


def test_every_file_of_an_edit_is_named_also_one_that_a_later_report_left_out() -> None:
    before = ToolCall("t", kind="edit", locations=[Location("/work/secret")])
    now = ToolCall(
        "t", kind="edit", locations=[Location("/work/a")], content=[Diff([FileChange("/work/b", "x\n", "y\n")])]
    )
    text = shown(question(now, claims=claims_of(now).joined(claims_of(before))))
    assert {"  edit  secret", "  edit  b"} <= set(text.splitlines())
    assert "    + y" in text.splitlines()


def test_a_question_that_names_no_call_is_shown_with_those_that_run() -> None:
    running = ToolCall("t", kind="execute", title="ls", raw_input={"command": "rm -rf src"})
    assert shown(question(None, open_calls=(running,))).splitlines() == ["  open  execute ls", "  run   rm -rf src"]


def test_a_terminal_that_is_started_unasked_is_shown_with_its_environment() -> None:
    ask = StartTerminal("s", "rm", ["x"], cwd="/work/sub", env=[("PATH", ".")])
    asked = question(None, request=ask, command=CommandSubject("rm x", "/work/sub"))
    assert shown(asked).splitlines() == ["  run   rm x", "  in    /work/sub", "  with  PATH=."]


def test_more_than_anybody_reads_is_counted() -> None:
    call = ToolCall("t", kind="execute", raw_input={"commands": [f"echo {n}" for n in range(200)]})
    facts = facts_of(question(call))
    assert len(facts) == MAX_FACTS + 1
    assert facts[-1].text == f"{200 - MAX_FACTS} lines that are not shown"
