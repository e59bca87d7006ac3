"""`current_turn`: found wherever the handler's context goes, blocking in threads, and ended with the turn."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.agent import BlockingTurn, Turn, current_turn
from accord.errors import LocalProtocolError
from tests.agent.rig import IN_EVERY_EDITION, agent_of, served
from tests.limits import limit

BOUND_SECONDS = limit(20.0)


@IN_EVERY_EDITION
async def test_a_function_that_is_given_nothing_speaks_in_the_turn(edition: str) -> None:
    async def deep() -> None:
        await accord.current_turn().say("from below")

    async def reply(_: Turn) -> None:
        await asyncio.create_task(deep())

    async with served(agent_of(reply), edition) as client:
        assert (await client.turn(await client.new_session())).text == "from below"


async def test_in_a_thread_of_somebody_else_it_is_the_blocking_turn(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("in the file")
    kinds: list[type] = []

    def tool() -> str:
        turn: Any = current_turn()
        kinds.append(type(turn))
        text: str = turn.files.read("a.txt")
        turn.say(text)
        return text

    async def reply(_: Turn) -> None:
        await asyncio.to_thread(tool)
        kinds.append(type(current_turn()))

    async with served(agent_of(reply)) as client:
        assert (await client.turn(await client.new_session(str(tmp_path)))).text == "in the file"
    assert kinds == [BlockingTurn, Turn]


async def test_in_the_thread_of_a_handler_without_async_it_is_bound_to_that_handler() -> None:
    def reply(turn: BlockingTurn) -> None:
        same = current_turn(blocking=True)
        assert same.message_id == turn.message_id
        same.say("blocking")

    async with served(agent_of(reply)) as client:
        assert (await client.turn(await client.new_session())).text == "blocking"


async def test_sessions_side_by_side_have_a_turn_each() -> None:
    met = asyncio.Barrier(2)

    async def reply(turn: Turn) -> None:
        await met.wait()
        await current_turn().say(turn.session.id)

    async with served(agent_of(reply)) as client:
        sessions = [await client.new_session() for _ in range(2)]
        prompts = [await client.prompt(session) for session in sessions]
        for prompt in prompts:
            await client.answer_to(prompt)
        said = {
            message["params"]["sessionId"]: message["params"]["update"]["content"]["text"]
            for message in client.received
            if message.get("method") == "session/update"
        }
    assert said == {session: session for session in sessions}


def test_outside_of_a_turn_it_raises() -> None:
    with pytest.raises(LocalProtocolError):
        current_turn()


async def test_the_kind_that_does_not_fit_the_thread_is_refused() -> None:
    refused: list[str] = []

    def in_thread() -> None:
        try:
            current_turn(blocking=False)
        except LocalProtocolError:
            refused.append("thread")

    async def reply(_: Turn) -> None:
        await asyncio.to_thread(in_thread)
        try:
            current_turn(blocking=True)
        except LocalProtocolError:
            refused.append("loop")

    async with served(agent_of(reply)) as client:
        await client.turn(await client.new_session())
    assert refused == ["thread", "loop"]


async def test_a_cancel_reaches_a_foreign_thread_in_the_verb_that_it_waits_for() -> None:
    ended = threading.Event()
    raised: list[BaseException] = []

    def tool() -> None:
        try:
            current_turn(blocking=True).request_permission("May I?")
        except BaseException as error:
            raised.append(error)
            raise
        finally:
            ended.set()

    async def reply(_: Turn) -> None:
        # As anyio does for the frameworks that use it: the cancel waits for the thread.
        await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(tool)))

    async with served(agent_of(reply)) as client:
        session = await client.new_session()
        prompt = await client.prompt(session)
        await client.asked("session/request_permission")
        await client.cancel(session)
        assert (await client.ended(prompt)).stop_reason == "cancelled"
        assert await asyncio.to_thread(ended.wait, BOUND_SECONDS)
    assert [type(error) for error in raised] == [asyncio.CancelledError]


async def test_when_the_turn_is_over_a_thread_that_goes_on_can_do_nothing_in_it() -> None:
    go_on, ended = threading.Event(), threading.Event()
    raised: list[BaseException] = []
    running: list[Any] = []

    def tool() -> None:
        turn = current_turn(blocking=True)
        go_on.wait(BOUND_SECONDS)
        try:
            turn.say("too late")
        except BaseException as error:  # noqa: BLE001 - what it is, is the question
            raised.append(error)
        ended.set()

    async def reply(_: Turn) -> None:
        running.append(asyncio.ensure_future(asyncio.to_thread(tool)))
        await asyncio.sleep(0)

    async with served(agent_of(reply)) as client:
        heard = await client.turn(await client.new_session())
        go_on.set()
        assert await asyncio.to_thread(ended.wait, BOUND_SECONDS)
        await running[0]
    assert heard.text == ""
    assert [type(error) for error in raised] == [asyncio.CancelledError]
