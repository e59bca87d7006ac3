"""Exceptions as failures of the command: what is said of the `data` of an error, in one bounded line."""

from __future__ import annotations

from typing import Any

import pytest

import accord
from accord.cli.fault import DATA_CHARACTERS, failure_of
from accord.cli.status import STDERR_LINES, Status, last_lines
from accord.errors import ConnectFailed, ConnectionLost, DeadlineExceeded, request_error
from tests.cli.command import Accord, scripted


def _message(code: int, data: Any) -> str:
    return failure_of(request_error(code, "Internal error", data), "prompt").message


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (None, "(-32603)"),
        ("the model is on fire", "(-32603): the model is on fire"),
        ({"details": "no credit"}, "(-32603): no credit"),
        ({"message": "no credit", "model": "large"}, "(-32603): no credit, model: large"),
        ({"correlationId": "c-1"}, "(-32603); its log has the reason under c-1"),
        ({"errorKind": "billing", "limit": {"left": 0}}, '(-32603): {"errorKind": "billing", "limit": {"left": 0}}'),
        (["a", 1], '(-32603): ["a", 1]'),
        ({"details": {"why": "x"}}, '(-32603): {"details": {"why": "x"}}'),
        (0, "(-32603): 0"),
        ({}, "(-32603)"),
    ],
)
def test_the_data_of_an_error_is_shown(data: Any, shown: str) -> None:
    assert _message(-32603, data).endswith(shown)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"reason": "model_locked"}, "(-32603)"),
        ({"reason": "permission_denied", "scope": "write"}, "(-32603): scope: write"),
        ({"field": "cwd", "expected": "a directory inside /x"}, "(-32603): expected: a directory inside /x"),
        ({"reason": "It rains."}, "(-32603): reason: It rains."),
        ({"reason": "x", "limit": {"left": 0}}, '(-32603): {"limit": {"left": 0}}'),
    ],
)
def test_the_words_for_programs_are_not_shown_behind_a_sentence(data: Any, shown: str) -> None:
    assert failure_of(request_error(-32603, "The sun is gone", data), "prompt").message.endswith(shown)


@pytest.mark.parametrize("data", ["x" * 10_000, {"details": "x" * 10_000}, {"a": ["x" * 10_000]}])
def test_data_that_is_long_is_clipped(data: Any) -> None:
    message = _message(-32603, data)
    assert len(message) < DATA_CHARACTERS + 100
    assert "…" in message


def test_data_that_is_too_deep_is_no_traceback() -> None:
    data: Any = []
    for _ in range(100_000):
        data = [data]
    assert "too deep" in _message(-32603, data)


@pytest.mark.parametrize("code", [-32000, -32602, -32002])
def test_the_data_of_errors_with_a_class_of_their_own_is_shown_too(code: int) -> None:
    assert "the cat ate it" in _message(code, {"details": "the cat ate it"})


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Authentication required", ""),
        ("Authentication required: no key for the model", ": no key for the model"),
        ("no key for the model", ": no key for the model"),
    ],
)
def test_the_name_of_the_error_is_not_repeated_before_the_reason_for_a_login(message: str, said: str) -> None:
    failure = failure_of(request_error(-32000, message, None), "session")
    assert failure.message == f"the agent wants you to log in first{said}"


def test_an_agent_that_does_not_stop_was_ended_and_gets_no_more_time() -> None:
    failure = failure_of(DeadlineExceeded("cancel", 30), "prompt", "goose")
    assert failure.status == Status.TIMEOUT
    assert "30 s, so the agent was ended" in failure.line
    assert "--timeout" not in failure.line


@pytest.mark.parametrize(
    ("argv", "agent", "advice"),
    [
        (("my-agent",), "mine", "Is it installed and on the PATH? See: accord agents info mine"),
        (("my-agent",), "", "Is it installed and on the PATH?"),
        ((), "", ""),
    ],
)
def test_a_command_without_a_name_is_not_looked_up(argv: tuple[str, ...], agent: str, advice: str) -> None:
    assert failure_of(ConnectFailed("no", argv=argv), "start", agent).advice == advice


def test_nothing_in_the_data_steers_the_terminal(accord: Accord) -> None:
    result = accord("run", "x", *scripted("fails_with_data"))
    assert result.status == 1
    assert r"field: model, title: \x1b]0;gotcha\x07" in result.stderr
    assert "\x1b" not in result.stderr


OWN = ['  File "/home/you/notes.py", line 4, in reply', "    price[name]"]
LIBRARIES = [
    f'  File "{accord.agent.__file__}", line 1, in run',
    "    await work",
    "    ^^^^^^^^^^",
    '  File "/usr/lib/python3.12/asyncio/tasks.py", line 2, in wait',
    "    return",
    '  File "/home/you/.venv/lib/python3.12/site-packages/x.py", line 3, in x',
    "    raise",
]


def test_the_end_of_a_long_traceback_keeps_the_frames_of_the_agent_itself() -> None:
    lines = ["failed, id 1", "Traceback (most recent call last):", *LIBRARIES, *OWN, *LIBRARIES, "KeyError: 'tea'"]
    shown = last_lines("\n".join(lines))
    assert shown == ["failed, id 1", "Traceback (most recent call last):", *OWN, "KeyError: 'tea'"]


def test_a_traceback_of_libraries_alone_is_shown_as_it_ends() -> None:
    lines = ["Traceback (most recent call last):", *LIBRARIES, *LIBRARIES, "KeyError: 'tea'"]
    assert last_lines("\n".join(lines)) == lines[-STDERR_LINES:]


@pytest.mark.parametrize(("status", "is_guessed"), [(0, True), (1, False), (None, False)])
def test_an_agent_that_ends_without_an_error_may_not_run_at_all(status: int | None, *, is_guessed: bool) -> None:
    failure = failure_of(ConnectionLost("it has ended", exit_status=status), "start", "-- python notes.py")
    assert ("agent.run()" in failure.advice) is is_guessed
