"""A cancel ends what goes on, whatever the handler does with it: one right answer, nothing left waiting."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Session, Turn
from accord.agent.open_prompt import OpenPrompt
from accord.errors import LocalProtocolError
from accord.session.client_requests import Prompt, PromptAnswered
from tests.agent.rig import EDITIONS, ELICITS, IN_EVERY_EDITION, Hand, Heard, agent_of, allow, served, until
from tests.agent.sessions import reopening
from tests.tables import rows

PERMISSION = "session/request_permission"
ANSWERS_AT_THE_END = pytest.mark.parametrize("edition", ["v1", "v2_june"])
GRACE_SECONDS = 0.05

Work = Callable[[Turn], Awaitable[Any]]


async def forever(_: Turn) -> None:
    await asyncio.Event().wait()


def working(work: Work, **options: Any) -> tuple[Agent, list[BaseException | None]]:
    """An agent that says "begun", works, and notes what its work ended with."""
    ends: list[BaseException | None] = []

    async def reply(turn: Turn) -> None:
        await turn.say("begun")
        try:
            await work(turn)
        except BaseException as error:
            ends.append(error)
            raise
        ends.append(None)

    return agent_of(reply, **options), ends


async def cancelled(hand: Hand, session: str) -> Heard:
    """Begin a turn, cancel it when it has begun, and hear its end."""
    prompt = await hand.prompt(session)
    await hand.said("begun")
    await hand.cancel(session)
    return await hand.ended(prompt)


async def burst(hand: Hand, *messages: dict[str, Any]) -> None:
    """Let several messages be on the link before any of them is read."""
    texts = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    await asyncio.gather(*(hand.transport.send(text) for text in texts))


# --- wherever the handler waits


@IN_EVERY_EDITION
@rows("stored", [True, False])
async def test_a_handler_that_waits_is_cancelled_and_its_turn_says_so(edition: str, stored: bool) -> None:  # noqa: FBT001
    agent, ends = working(forever, stored=stored)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        heard = await cancelled(hand, session)
        assert heard.stop_reason == "cancelled"
        assert [type(end) for end in ends] == [asyncio.CancelledError]
        if edition == "v2":
            assert heard.states == ["running", "idle"]
        assert await hand.drain() == []
        assert (await cancelled(hand, session)).stop_reason == "cancelled"


@IN_EVERY_EDITION
async def test_a_permission_that_is_waited_for_is_retired_and_its_late_answer_does_nothing(edition: str) -> None:
    async def ask(turn: Turn) -> None:
        async with turn.tool("Write", status="pending") as tool:
            await turn.request_permission(tool)

    agent, ends = working(ask)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        asked = await hand.asked(PERMISSION)
        await hand.cancel(session)
        heard = await hand.ended(prompt)
        assert heard.stop_reason == "cancelled"
        assert isinstance(ends[0], asyncio.CancelledError)
        (call,) = heard.tools().values()
        assert call["status"] == ("cancelled" if edition == "v2" else "failed")
        withdrawn = [m["params"]["requestId"] for m in hand.received if m.get("method") == "$/cancel_request"]
        assert withdrawn == ([] if edition == "v2_june" else [asked["id"]])  # June has no words for it
        await hand.reply(asked, allow({}))
        assert await hand.drain() == []


@rows("edition", ["v1", "v2"])
async def test_a_form_that_is_waited_for_is_retired(edition: str) -> None:
    agent, ends = working(lambda turn: turn.elicit("Who?", {"name": {"type": "string"}}))
    async with served(agent, edition, ELICITS) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        asked = await hand.asked("elicitation/create")
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
        assert [m["params"] for m in hand.received if m.get("method") == "$/cancel_request"] == [
            {"requestId": asked["id"]}
        ]
        await hand.reply(asked, {"action": "accept", "content": {"name": "late"}})
        assert await hand.drain() == []
    assert isinstance(ends[0], asyncio.CancelledError)


async def test_a_file_that_the_client_is_reading_is_not_waited_for() -> None:
    agent, ends = working(lambda turn: turn.files.read("a.txt"))
    async with served(agent, "v1", {"fs": {"readTextFile": True}}) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.asked("fs/read_text_file")
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
    assert isinstance(ends[0], asyncio.CancelledError)


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_command_that_runs_is_ended(edition: str, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = f"import os,time; open({str(mark)!r},'w').write(str(os.getpid())); time.sleep(600)"
    agent, ends = working(lambda turn: turn.terminals.run([sys.executable, "-c", program]))
    async with served(agent, edition) as hand:
        session = await hand.new_session(str(tmp_path))
        prompt = await hand.prompt(session)
        await until(lambda: mark.exists() and mark.read_text().isdigit())
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
        assert isinstance(ends[0], asyncio.CancelledError)
        await until(lambda: not Path(f"/proc/{mark.read_text()}").exists())


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "unstored"])
async def test_a_say_that_waits_for_a_client_that_does_not_read_is_cancelled(edition: str, stored: bool) -> None:  # noqa: FBT001
    stuck: list[int] = []

    async def flood(turn: Turn) -> None:
        async with turn.tool("Flood") as tool:
            for number in range(10_000):
                stuck[:] = [number]
                await tool.stream("x" * 1000)

    agent, ends = working(flood, stored=stored)
    async with served(agent, edition, max_bytes=10_000) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        before = -1
        while not stuck or stuck[0] != before:
            before = stuck[0] if stuck else -1
            for _ in range(200):
                await asyncio.sleep(0)
        assert stuck[0] < 2000
        await hand.cancel(session)
        heard = await hand.ended(prompt)
        assert heard.stop_reason == "cancelled"
        assert isinstance(ends[0], asyncio.CancelledError)
        (call,) = heard.tools().values()
        assert call["status"] == ("cancelled" if edition == "v2" else "failed")
        assert call["title"] == "Flood"


@IN_EVERY_EDITION
async def test_a_cancel_that_comes_with_its_prompt_ends_it_at_once(edition: str) -> None:
    agent, _ = working(forever, cancel_grace_seconds=600.0)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        for turns in range(12):
            # As many turns of the loop between the two as it may take until the handler has begun.
            prompt = await hand.prompt(session)
            for _ in range(turns):
                await asyncio.sleep(0)
            await hand.cancel(session)
            heard = await hand.ended(prompt, len(hand.received))
            assert heard.stop_reason == "cancelled"


@IN_EVERY_EDITION
async def test_a_cancel_in_the_very_step_in_which_the_handler_is_started_ends_it(edition: str) -> None:
    agent, _ = working(forever, cancel_grace_seconds=600.0)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
        await burst(
            hand,
            {"id": 1, "method": "session/prompt", "params": params},
            {"method": "session/cancel", "params": {"sessionId": session}},
        )
        assert (await hand.ended(1)).stop_reason == "cancelled"


# --- whatever it does with it


@IN_EVERY_EDITION
async def test_a_handler_that_swallows_the_cancel_and_returns_was_cancelled_all_the_same(edition: str) -> None:
    async def swallow(turn: Turn) -> None:
        tool = await turn.tool("Left open").start()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            turn.finish("end_turn")
            await turn.say("bye")
        assert not tool.finished

    agent, ends = working(swallow)
    async with served(agent, edition) as hand:
        heard = await cancelled(hand, await hand.new_session())
    assert ends == [None]
    assert heard.stop_reason == "cancelled"
    assert heard.text == "begunbye"
    (call,) = heard.tools().values()
    assert call["status"] == ("cancelled" if edition == "v2" else "failed")


@IN_EVERY_EDITION
async def test_a_handler_that_raises_something_else_was_cancelled_all_the_same(edition: str) -> None:
    async def stumble(_: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("a secret")

    agent, _ = working(stumble)
    async with served(agent, edition) as hand:
        heard = await cancelled(hand, await hand.new_session())
    assert heard.stop_reason == "cancelled"
    assert "secret" not in str(heard.messages)


@IN_EVERY_EDITION
async def test_what_a_handler_says_at_the_end_comes_before_the_end(edition: str) -> None:
    async def tidy(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for number in range(50):
                await turn.say(f" {number}")

    agent, _ = working(tidy)
    async with served(agent, edition) as hand:
        heard = await cancelled(hand, await hand.new_session())
        assert heard.text == "begun" + "".join(f" {number}" for number in range(50))
        assert heard.stop_reason == "cancelled"
        assert await hand.drain() == []


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_handler_that_goes_on_forever_is_left_behind(
    edition: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    turns: list[Turn] = []
    let_go = asyncio.Event()

    async def stubborn(turn: Turn) -> None:
        turns.append(turn)
        if len(turns) > 1:
            await turn.say((await turn.terminals.run([sys.executable, "-c", "print('next')"])).output)
            return
        async with turn.tool("Left behind"):
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue

    agent, ends = working(stubborn, cancel_grace_seconds=GRACE_SECONDS)
    async with served(agent, edition) as hand:
        session = await hand.new_session(str(tmp_path))
        heard = await cancelled(hand, session)
        assert heard.stop_reason == "cancelled"
        assert ends == []
        (call,) = heard.tools().values()
        assert call["status"] == ("cancelled" if edition == "v2" else "failed")
        assert "did not end within" in caplog.text
        with pytest.raises(LocalProtocolError, match="the turn is over"):
            await turns[0].say("late")
        prompt = await hand.prompt(session)
        # The old one comes to its end in the middle of the new turn, and harms nothing.
        await hand.said("begun")
        let_go.set()
        heard = await hand.ended(prompt)
        assert heard.stop_reason == "end_turn"
        assert "next" in heard.text
        assert len(ends) == 2


@IN_EVERY_EDITION
async def test_questions_that_are_asked_after_the_cancel_are_not_approved(edition: str) -> None:
    answers: list[bool] = []

    async def ask_again(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            answers.append(bool(await asyncio.ensure_future(turn.request_permission("Still?"))))

    agent, ends = working(ask_again)
    async with served(agent, edition) as hand:
        hand.answers[PERMISSION] = allow
        heard = await cancelled(hand, await hand.new_session())
    assert heard.stop_reason == "cancelled"
    assert answers == [False]
    assert heard.requests(PERMISSION) == []
    assert ends == [None]


@IN_EVERY_EDITION
async def test_a_question_in_a_task_of_the_handlers_own_is_not_approved_either(edition: str) -> None:
    answers: list[bool] = []

    async def delegate(turn: Turn) -> None:
        asking = asyncio.ensure_future(turn.request_permission("May I?"))
        try:
            await asyncio.shield(asking)
        finally:
            answers.append(bool(await asking))

    agent, _ = working(delegate)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.asked(PERMISSION)
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"
    assert answers == [False]


# --- nothing to cancel, and more than one thing


@IN_EVERY_EDITION
async def test_a_cancel_where_nothing_goes_on_says_nothing(edition: str) -> None:
    async with served(agent_of(lambda _: None), edition) as hand:
        session = await hand.new_session()
        await hand.cancel(session)
        await hand.cancel("no such session")
        assert await hand.drain() == []
        assert (await hand.turn(session)).stop_reason == "end_turn"


@rows("edition", ["v1", "v2_june"])
async def test_a_cancel_answers_all_prompts_of_the_session_as_cancelled_in_order(edition: str) -> None:
    agent, ends = working(forever)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        prompts = [await hand.prompt(session, name) for name in "abc"]
        await hand.said("begun")
        await hand.cancel(session)
        await hand.cancel(session)
        for prompt in prompts:
            assert (await hand.answer_to(prompt))["result"] == {"stopReason": "cancelled"}
        answered = [message["id"] for message in hand.received if message.get("id") in prompts]
        assert answered == prompts
        assert len(ends) == 1
        assert (await cancelled(hand, session)).stop_reason == "cancelled"


async def test_in_v2_a_cancel_drops_held_prompts_with_an_error_and_they_leave_no_trace() -> None:
    agent, ends = working(forever)
    async with served(agent, "v2") as hand:
        session = await hand.new_session()
        first, second, third = [await hand.prompt(session, name) for name in "abc"]
        await hand.said("begun")
        await hand.cancel(session)
        assert (await hand.ended(first)).stop_reason == "cancelled"
        for prompt in (second, third):
            assert (await hand.answer_to(prompt))["error"]["code"] == -32800
        assert len(Heard(hand.received).of("user_message")) == 1
        assert len(ends) == 1


@IN_EVERY_EDITION
async def test_a_prompt_that_comes_after_the_cancel_is_served(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.say("begun")
        if turn.text == "hang":
            await asyncio.Event().wait()

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        hanging = await hand.prompt(session, "hang")
        await hand.said("begun")
        await hand.cancel(session)
        later = await hand.prompt(session, "later")
        assert (await hand.ended(later)).stop_reason == "end_turn"
        assert (await hand.answer_to(hanging)).get("result", {}).get("stopReason", "cancelled") == "cancelled"


# --- one request taken back


@rows("edition", ["v1", "v2_june"])
async def test_a_running_prompt_that_is_taken_back_is_cancelled_alone(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        await turn.say("begun")
        if turn.text == "hang":
            await asyncio.Event().wait()

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        hanging, held = await hand.prompt(session, "hang"), await hand.prompt(session, "held")
        await hand.said("begun")
        await hand.withdraw(hanging)
        assert (await hand.answer_to(hanging))["result"] == {"stopReason": "cancelled"}
        assert (await hand.answer_to(held))["result"] == {"stopReason": "end_turn"}


@IN_EVERY_EDITION
async def test_a_held_prompt_that_is_taken_back_never_begins(edition: str) -> None:
    gate = asyncio.Event()
    texts: list[str] = []

    async def reply(turn: Turn) -> None:
        texts.append(turn.text)
        await turn.say("begun")
        await gate.wait()

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        first = await hand.prompt(session, "first")
        await hand.said("begun")
        held = await hand.prompt(session, "held")
        await hand.drain()
        await hand.withdraw(held)
        answer = await hand.answer_to(held)
        if edition == "v2":
            assert answer["error"]["code"] == -32800
        else:
            assert answer["result"] == {"stopReason": "cancelled"}
        gate.set()
        assert (await hand.ended(first)).stop_reason == "end_turn"
    assert texts == ["first"]


@rows("edition", EDITIONS)
async def test_a_held_prompt_that_is_taken_back_before_its_request_began_never_begins(edition: str) -> None:
    gate = asyncio.Event()
    texts: list[str] = []

    async def reply(turn: Turn) -> None:
        texts.append(turn.text)
        await turn.say("begun")
        await gate.wait()

    async with served(agent_of(reply), edition) as hand:
        session = await hand.new_session()
        first = await hand.prompt(session, "first")
        await hand.said("begun")
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "held"}]}
        await burst(
            hand,
            {"id": 7, "method": "session/prompt", "params": params},
            {"method": "$/cancel_request", "params": {"requestId": 7}},
            {"method": "$/cancel_request", "params": {"requestId": 7}},
        )
        answer = await hand.answer_to(7)
        if edition == "v2":
            assert answer["error"]["code"] == -32800
        else:
            assert answer["result"] == {"stopReason": "cancelled"}
        gate.set()
        assert (await hand.ended(first)).stop_reason == "end_turn"
        assert [message for message in hand.received if message.get("id") == 7] == [answer]
    assert texts == ["first"]


@rows("edition", ["v1", "v2_june"])
async def test_a_first_prompt_that_is_taken_back_before_its_request_began_is_cancelled(edition: str) -> None:
    agent, _ = working(forever)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
        await burst(
            hand,
            {"id": 7, "method": "session/prompt", "params": params},
            {"method": "$/cancel_request", "params": {"requestId": 7}},
        )
        assert (await hand.answer_to(7))["result"] == {"stopReason": "cancelled"}
        assert (await cancelled(hand, session)).stop_reason == "cancelled"


async def test_in_v2_a_first_prompt_that_is_taken_back_is_inserted_and_runs() -> None:
    async def reply(turn: Turn) -> None:
        await turn.say("ran")

    async with served(agent_of(reply), "v2") as hand:
        session = await hand.new_session()
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
        await burst(
            hand,
            {"id": 7, "method": "session/prompt", "params": params},
            {"method": "$/cancel_request", "params": {"requestId": 7}},
        )
        heard = await hand.ended(7)
        assert heard.answer is not None
        assert "messageId" in heard.answer["result"]
        assert heard.text == "ran"
        assert heard.stop_reason == "end_turn"
        await hand.withdraw(7)
        assert await hand.drain() == []


@ANSWERS_AT_THE_END
async def test_taking_back_a_prompt_that_ends_just_now_changes_nothing(edition: str) -> None:
    gate = asyncio.Event()

    async def reply(turn: Turn) -> None:
        await turn.say("begun")
        await gate.wait()
        for _ in range(100):
            await turn.say("x" * 100)

    # While the last words do not fit on the link, the answer waits behind them.
    async with served(agent_of(reply), edition, max_bytes=2000) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.said("begun")
        gate.set()
        for _ in range(100):
            await asyncio.sleep(0)
        await hand.withdraw(prompt)
        for _ in range(100):
            await asyncio.sleep(0)
        await hand.withdraw(prompt)
        heard = await hand.ended(prompt)
    assert heard.stop_reason in {"end_turn", "cancelled"}
    assert len(heard.text) == 10_005


# --- what goes wrong while it ends


@IN_EVERY_EDITION
@rows("error", [OSError("cannot"), LocalProtocolError("cannot"), asyncio.CancelledError()])
async def test_what_cannot_be_tidied_up_does_not_keep_a_turn_from_its_end(edition: str, error: BaseException) -> None:
    async def reply(turn: Turn) -> None:
        async def fail() -> None:
            turn.session.__dict__.pop("_end_commands")
            raise error

        turn.session.__dict__["_end_commands"] = fail

    async with served(agent_of(reply), edition) as hand:
        heard = await hand.turn(await hand.new_session())
    assert heard.stop_reason == ("cancelled" if isinstance(error, asyncio.CancelledError) else "end_turn")


@asynccontextmanager
async def opening(edition: str, texts: list[str]) -> AsyncIterator[tuple[Hand, str, asyncio.Event]]:
    """A session from before whose `on_session` handler waits for an event; the texts are those of its turns."""
    ready, opened = asyncio.Event(), asyncio.Event()

    async def reply(turn: Turn) -> None:
        texts.append(turn.text)

    agent = agent_of(reply)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.turn(session, "before")

    @agent.on_session
    async def wait(_: Session) -> None:
        opened.set()
        await ready.wait()
        texts.append("ready")

    async with served(agent, edition) as hand:
        await hand.ask(*reopening(hand, session, replay=False))
        await until(opened.is_set)
        yield hand, session, ready


@IN_EVERY_EDITION
async def test_a_prompt_that_comes_while_its_session_is_opened_waits_for_that(edition: str) -> None:
    texts: list[str] = []
    async with opening(edition, texts) as (hand, session, ready):
        first = await hand.prompt(session, "first")
        await hand.drain()
        assert texts == ["before"]
        ready.set()
        second = await hand.prompt(session, "second")
        await hand.ended(first)
        await hand.ended(second)
    assert texts == ["before", "ready", "first", "second"]


@IN_EVERY_EDITION
async def test_a_cancel_reaches_the_prompts_that_wait_for_the_opening_of_their_session(edition: str) -> None:
    texts: list[str] = []
    async with opening(edition, texts) as (hand, session, ready):
        dropped = await hand.prompt(session, "dropped")
        await hand.cancel(session)
        later = await hand.prompt(session, "later")
        await hand.drain()
        ready.set()
        answer = await hand.answer_to(dropped)
        if edition == "v2":
            assert answer["error"]["code"] == -32800
        else:
            assert answer["result"]["stopReason"] == "cancelled"
        assert (await hand.ended(later)).stop_reason == "end_turn"
    assert texts == ["before", "ready", "later"]


@IN_EVERY_EDITION
async def test_a_prompt_for_a_session_that_is_being_closed_is_refused(edition: str) -> None:
    let_go = asyncio.Event()

    async def tidy(_: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await let_go.wait()

    agent, _ = working(tidy)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        first = await hand.prompt(session)
        await hand.said("begun")
        closing = await hand.ask("session/close", {"sessionId": session})
        await hand.drain()
        late = await hand.prompt(session)
        assert (await hand.answer_to(late))["error"]["code"] == -32002
        let_go.set()
        assert (await hand.answer_to(closing))["result"] == {}
        assert (await hand.ended(first)).stop_reason == "cancelled"


async def test_a_prompt_is_answered_once() -> None:
    prompt = OpenPrompt(Prompt("s", []))
    prompt.answer(PromptAnswered("end_turn"))
    prompt.answer(PromptAnswered("cancelled"))
    prompt.answer(RuntimeError())
    assert (await prompt.answered()).stop_reason == "end_turn"
