"""The ends of a client's turns, by states (v2) or answers (v1): agents that report much at once, late or nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

import accord
from tests.connection.rig import Hand, until
from tests.limits import limit
from tests.tables import rows

INTRODUCTION = {
    "protocolVersion": 2,
    "info": {"name": "hand", "version": "1"},
    "capabilities": {"session": {}},
}
INTRODUCTION_V1 = {"protocolVersion": 1, "agentInfo": {"name": "hand", "version": "1"}, "agentCapabilities": {}}
RUNNING = {"sessionUpdate": "state_update", "state": "running"}
ENDED = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
CANCELLED = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}


class HandAgent(Hand):
    """An agent by hand."""

    async def report(self, **fields: Any) -> None:
        await self.notify("session/update", {"sessionId": "s", "update": fields})

    async def answer(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        await self.say({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def next_prompt(self) -> dict[str, Any]:
        message: dict[str, Any] = await self.hear()
        assert message["method"] == "session/prompt"
        return message


def _chunk(text: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


@asynccontextmanager
async def hand_and_session(edition: Literal["1", "2"] = "2") -> AsyncIterator[tuple[HandAgent, accord.client.Session]]:
    ours, theirs = accord.memory_pair()
    hand = HandAgent(theirs)

    async def introduce() -> None:
        await hand.answer(await hand.hear(), INTRODUCTION if edition == "2" else INTRODUCTION_V1)
        await hand.answer(await hand.hear(), {"sessionId": "s"})

    introducing = asyncio.ensure_future(introduce())
    async with asyncio.timeout(limit(20)), accord.connect(ours, edition=edition) as remote:
        session = await remote.new_session("/")
        await introducing
        yield hand, session


async def test_what_comes_in_one_read_with_the_answer_and_behind_it_is_no_part_of_its_turn() -> None:
    async with hand_and_session("1") as (hand, session):
        turn = session.prompt("one")
        waiting = asyncio.ensure_future(turn.wait())
        message = await hand.next_prompt()
        own, other = [_chunk(text) for text in ("its own", "of another prompt")]
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"stopReason": "end_turn"}}
        for text in (own, answer, other):
            await hand.transport.send(json.dumps(text).encode())
        await waiting
        await until(lambda: "of another prompt" in session.transcript.text)
    assert (turn.text, turn.stop_reason) == ("its own", "end_turn")


async def test_a_prompt_that_is_inserted_into_running_work_ends_with_it_also_where_all_comes_in_one_read() -> None:
    async with hand_and_session() as (hand, session):
        first = asyncio.ensure_future(session.prompt("one").wait())
        await hand.answer(await hand.next_prompt(), {"messageId": "u1"})
        await hand.report(**RUNNING)
        second = asyncio.ensure_future(session.prompt("two").wait())
        prompt = await hand.next_prompt()
        # Without a pause between them: the client has not gone on behind its call when the state is read.
        await hand.answer(prompt, {"messageId": "u2"})
        await hand.report(**ENDED)
        turns = await asyncio.gather(first, second)
    assert [(turn.stop_reason, turn.message_id) for turn in turns] == [("end_turn", "u1"), ("end_turn", "u2")]


@rows("answer_first", [True, False])
async def test_a_prompt_that_is_cancelled_before_its_work_began_ends_without_a_running_state(
    *, answer_first: bool
) -> None:
    async with hand_and_session() as (hand, session):
        turn = session.prompt("one")
        ending = asyncio.ensure_future(turn.wait())
        prompt = await hand.next_prompt()
        if answer_first:
            await hand.answer(prompt, {"messageId": "u1"})
        turn.cancel()
        assert (await hand.hear())["method"] == "session/cancel"
        await hand.report(**CANCELLED)
        if not answer_first:
            await hand.answer(prompt, {"messageId": "u1"})
        assert (await ending).stop_reason == "cancelled"


async def test_a_text_over_the_limit_is_the_reason_also_of_a_turn_whose_prompt_was_answered() -> None:
    ours, theirs = accord.memory_pair()
    hand = HandAgent(theirs)

    class Limited:
        """A transport whose limit one text passes."""

        def __getattr__(self, name: str) -> Any:
            return getattr(ours, name)

        async def receive(self) -> list[bytes]:
            texts = await ours.receive()
            if any(b"too much" in text for text in texts):
                raise accord.FrameError("a text is larger than the limit", limit_bytes=8)
            return texts

    async def introduce() -> None:
        await hand.answer(await hand.hear(), INTRODUCTION)
        await hand.answer(await hand.hear(), {"sessionId": "s"})

    introducing = asyncio.ensure_future(introduce())
    async with asyncio.timeout(limit(20)), accord.connect(Limited(), edition="2") as remote:
        session = await remote.new_session("/")
        await introducing
        turn = asyncio.ensure_future(session.prompt("one").wait())
        await hand.answer(await hand.next_prompt(), {"messageId": "u1"})
        await hand.report(**RUNNING)
        await until(lambda: session.transcript.state == "running")
        await hand.say("too much")
        with pytest.raises(accord.FrameError):
            await turn
