"""Failures are sentences with advice; what the agent wrote to stderr stands below them where it helps."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import pytest

import accord
from accord.cli.chat.failures import failure_note
from accord.display import own
from accord.errors import request_error
from tests.cli.chat.rig import open_chat
from tests.cli.chat.test_agent_log import NOISY

REPR = re.compile(r"Traceback|Error\(|<[\w.]+ object at|\{'|line \d+, in ")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (accord.RateLimited(30), "rate limited: try again in 30 s"),
        (accord.RateLimited(1.5, "Slow down"), "rate limited: try again in 1.5 s"),
        (accord.RateLimited(), "rate limited: try again a little later"),
    ],
)
def test_a_rate_limit_says_when_to_try_again(error: accord.RateLimited, text: str) -> None:
    note = failure_note(error, "the prompt")
    assert note.text == text
    assert note.detail == ("Slow down" if "Slow" in str(error) else "")


@pytest.mark.parametrize(
    "error",
    [
        request_error(-32000, "Authentication required", {"authMethods": [{"id": "login", "name": "Log in"}]}),
        request_error(-32002, "Not found", "Missing provider"),
        request_error(-32002, "Not found", {"details": "Missing provider"}),
    ],
)
def test_what_the_sentence_says_is_not_repeated_below_it(error: accord.RequestError) -> None:
    assert failure_note(error, "the prompt").detail == ""


def test_what_the_sentence_leaves_out_stands_below_it() -> None:
    data = {"details": "x" * 1000}
    assert "x" * 900 in failure_note(request_error(-32002, "Not found", data), "the prompt").detail


async def test_a_rate_limit_is_a_sentence_on_the_screen_and_the_prompt_can_be_sent_again(tmp_path: Path) -> None:
    agent = accord.Agent("busy", store=None)
    waits = [30]

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        if waits:
            raise accord.RateLimited(waits.pop())
        await turn.say(f"You said: {turn.text}")

    async with open_chat(agent, tmp_path) as chat:
        await chat.say("hello")
        await chat.sees("rate limited: try again in 30 s", "Up brings your message back")
        assert not REPR.search(chat.text)
        await chat.idle()
        await chat.press("up", "enter")
        await chat.sees("You said: hello")


async def test_an_agent_that_fails_without_a_word_is_shown_with_its_stderr(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    connect = functools.partial(accord.connect, sys.executable, str(tmp_path / "noisy.py"))
    async with open_chat(None, tmp_path, connect=connect) as chat:
        await chat.say("fail")
        await chat.sees("the prompt failed", "stderr ended with:", "RuntimeError: kept for the log")
        assert "evil" not in chat.text


async def test_the_line_that_an_agent_printed_in_place_of_its_answer_is_shown(tmp_path: Path) -> None:
    program = "import sys; sys.stdin.readline(); print('{not json', flush=True)"
    connect = functools.partial(accord.connect, sys.executable, "-c", program)
    async with open_chat(None, tmp_path, connect=connect, ready=False) as chat:
        await chat.sees("starting the agent failed", "{not json", "one message a line")


async def test_an_agent_that_does_not_start_is_a_sentence(tmp_path: Path) -> None:
    connect = functools.partial(accord.connect, str(tmp_path / "nothing"))
    async with open_chat(None, tmp_path, connect=connect, ready=False) as chat:
        await chat.sees("starting the agent failed", "Is the command right and installed?")
        assert not REPR.search(chat.text)


async def test_an_agent_that_dies_is_a_sentence_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text("import sys; sys.exit('no key: set KEY first')")
    connect = functools.partial(accord.connect, sys.executable, str(tmp_path / "dies.py"))
    async with open_chat(None, tmp_path, connect=connect, ready=False) as chat:
        await chat.sees("failed", "no key: set KEY first")
        assert not REPR.search(chat.text)


SET_UP = "If it is not set up yet: set `KEY`"


@pytest.mark.parametrize(
    ("error", "doing", "is_named"),
    [
        (accord.ConnectionLost("it ended"), "starting the agent", True),
        (accord.AuthRequired(), "the prompt", True),
        (accord.InternalError(), "the prompt", True),
        (accord.ConnectionLost("it ended"), "the prompt", False),
        (accord.InvalidParams(), "the prompt", False),
    ],
)
def test_how_to_set_the_agent_up_is_named_where_a_missing_key_may_be_the_cause(
    error: Exception, doing: str, *, is_named: bool
) -> None:
    note = failure_note(error, doing, set_up=SET_UP)
    assert note.advice.startswith(SET_UP) == is_named
    assert failure_note(error, doing).advice in note.advice


def test_an_agent_that_ended_before_there_was_a_session_is_not_said_to_go_on_with_one() -> None:
    assert (
        "goes on with the session" not in failure_note(accord.ConnectionLost("it ended"), "starting the agent").advice
    )


async def test_an_agent_without_a_login_of_its_own_is_not_said_to_let_you_choose_one(tmp_path: Path) -> None:
    agent = accord.Agent("locked", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        del turn
        raise accord.AuthRequired

    async with open_chat(agent, tmp_path, set_up=lambda: SET_UP) as chat:
        await chat.say("hello")
        await chat.sees("It offers no login", "set `KEY`")


def test_a_traceback_of_the_agent_keeps_its_indentation() -> None:
    lines = [
        own("Traceback (most recent call last):"),
        own('  File "a.py", line 1'),
        own("    f()"),
        own("KeyError: 1"),
    ]
    note = failure_note(request_error(-32603, "Internal error"), "the prompt", stderr=lines)
    assert note.detail.splitlines()[1:] == lines


def test_a_reason_for_programs_is_not_shown_behind_the_sentence() -> None:
    note = failure_note(
        request_error(-32603, "There is no key for openai:gpt-5", {"reason": "model_locked"}), "the prompt"
    )
    assert "{" not in note.text + note.detail
    assert "model_locked" not in note.text + note.detail
