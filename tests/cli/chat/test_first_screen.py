"""The first screen: it says what this is and who answers, and three examples are a key away."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import accord
from accord.cli.chat.bars import DEMO_EXAMPLES, EXAMPLES
from accord.cli.chat.dialogs.permission import PermissionDialog
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import open_chat

DEMO = functools.partial(accord.connect, sys.executable, "-m", "accord", "agent", "--store", "memory")


async def test_it_says_what_this_is_who_answers_and_where_help_is(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, size=(80, 24)) as chat:
        await chat.sees("Welcome to accord chat", "actor 3.1", "v1", "small", "Ask first", tmp_path.name[-20:])
        await chat.sees("F1 help", *EXAMPLES)
        assert "no model" not in chat.text


async def test_the_demo_says_that_it_follows_rules_and_is_no_model(tmp_path: Path) -> None:
    async with open_chat(None, tmp_path, connect=DEMO, name="demo", size=(80, 24)) as chat:
        await chat.sees("this agent follows rules, it is no model", *DEMO_EXAMPLES)


async def test_a_key_takes_an_example_and_enter_sends_it(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.sees(EXAMPLES[1])
        await chat.press("2")
        assert chat.app.composer.text == EXAMPLES[1]
        await chat.press("enter")
        await chat.sees(f"You said: {EXAMPLES[1]}")
        assert "Welcome" not in chat.text


async def test_an_agent_that_still_starts_has_no_examples_and_a_digit_is_a_digit(tmp_path: Path) -> None:
    never = functools.partial(accord.connect, sys.executable, "-c", "import time; time.sleep(600)")
    async with open_chat(None, tmp_path, connect=never, ready=False) as chat:
        await chat.sees("Welcome to accord chat", "starting …", "F1 help")
        await chat.press("2")
        assert chat.app.composer.text == "2"
        assert "Try one of these" not in chat.text


async def test_a_digit_is_a_digit_where_something_was_written_or_said(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.press("x", "2")
        assert chat.app.composer.text == "x2"
        await chat.press("enter")
        await chat.sees("You said: x2")
        await chat.press("1")
        assert chat.app.composer.text == "1"


async def test_every_example_of_the_demo_is_understood_by_it(tmp_path: Path) -> None:
    async with open_chat(None, tmp_path, connect=DEMO, name="demo", size=(100, 50)) as chat:
        first, second, third = DEMO_EXAMPLES
        await chat.say(first)
        await chat.sees("This is what I understand")
        for example in (second, third):
            await chat.idle()
            await chat.say(example)
            await chat.until(lambda: isinstance(chat.app.screen, PermissionDialog), "a question")
            await chat.press("y")
            await chat.until(lambda: len(chat.app.screen_stack) == 1, "the end of the question")
        await chat.idle()
        assert (tmp_path / "hello.py").read_text() == "print('hello')\n"
        await chat.until(lambda: "hello\n" in chat.text.replace(" ", ""), "what the command printed")


async def test_a_new_session_greets_again_and_one_with_a_past_does_not(tmp_path: Path) -> None:
    actor = make_actor(accord.MemoryStore())
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("first")
        await chat.sees("You said: first")
        first = chat.app.chat_session.session
        assert first is not None
        await chat.say("/new")
        await chat.sees("Welcome to accord chat")
        await chat.app.chat_session.switch(first.id)
        await chat.sees("You said: first")
        await chat.sees_no("Welcome")
