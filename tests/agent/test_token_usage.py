"""The tokens of a turn: counted by an author, sent where the edition has a place for them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord.agent import Agent, BlockingTurn, TokenUsage, Turn
from accord.errors import LocalProtocolError
from accord.session.custom import custom
from accord.stores import MemoryStore
from tests.agent.rig import IN_EVERY_EDITION, Heard, agent_of, served
from tests.tables import rows

IN_EDITIONS_WITH_A_PLACE = rows("edition", ["v1", "v2"])

SAID = {"totalTokens": 160, "inputTokens": 110, "outputTokens": 50, "thoughtTokens": 20, "cachedReadTokens": 40}
ORIGINAL = {
    "token_usage": {
        "input_tokens": 110,
        "output_tokens": 50,
        "total_tokens": 160,
        "thought_tokens": 20,
        "cached_read_tokens": 40,
    }
}


async def count(turn: Turn) -> None:
    turn.add_token_usage(100, 30, thought_tokens=20)
    turn.add_token_usage(10, 20, cached_read_tokens=40)
    await turn.say("done")


def ending(heard: Heard) -> dict[str, Any]:
    """The message that ends a turn: the answer, or the state."""
    if heard.answer is not None and "stopReason" in heard.answer.get("result", {}):
        return dict(heard.answer["result"])
    return [update for update in heard.of("state_update") if update["state"] == "idle"][-1]


@IN_EDITIONS_WITH_A_PLACE
async def test_the_sum_goes_with_the_end_where_the_unstable_text_is_spoken(edition: str) -> None:
    async with served(agent_of(count, drafts=True), edition) as hand:
        end = ending(await hand.turn(await hand.new_session()))

    assert end["usage"] == SAID
    assert "_meta" not in end


@IN_EVERY_EDITION
async def test_it_is_an_original_where_the_text_has_no_place_for_it(edition: str) -> None:
    async with served(agent_of(count), edition) as hand:
        end = ending(await hand.turn(await hand.new_session()))

    assert "usage" not in end
    assert end["_meta"] == {"accord/original": ORIGINAL}


async def test_june_has_no_place_for_it_however_it_is_spoken() -> None:
    async with served(agent_of(count, drafts=True), "v2_june") as hand:
        end = ending(await hand.turn(await hand.new_session()))

    assert "usage" not in end
    assert end["_meta"] == {"accord/original": ORIGINAL}


@IN_EVERY_EDITION
@rows("drafts", [False, True])
async def test_a_turn_that_counted_nothing_says_nothing_of_it(edition: str, drafts: bool) -> None:  # noqa: FBT001
    async def reply(turn: Turn) -> None:
        await turn.say("hello")

    async with served(agent_of(reply, drafts=drafts), edition) as hand:
        end = ending(await hand.turn(await hand.new_session()))

    assert "usage" not in end
    assert "_meta" not in end


@IN_EDITIONS_WITH_A_PLACE
async def test_the_next_turn_begins_to_count_anew(edition: str) -> None:
    async with served(agent_of(count, drafts=True), edition) as hand:
        session = await hand.new_session()
        first = ending(await hand.turn(session))
        second = ending(await hand.turn(session))

    assert first["usage"] == second["usage"] == SAID


@IN_EDITIONS_WITH_A_PLACE
async def test_a_cancelled_turn_says_what_it_took_so_far(edition: str) -> None:
    async def work(turn: Turn) -> None:
        turn.add_token_usage(7, 3)
        await turn.say("working")
        await asyncio.Event().wait()

    async with served(agent_of(work, drafts=True), edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.said("working")
        await hand.cancel(session)
        end = ending(await hand.ended(prompt))

    assert end["stopReason"] == "cancelled"
    assert end["usage"] == {"totalTokens": 10, "inputTokens": 7, "outputTokens": 3}


async def test_a_turn_that_fails_says_it_where_the_end_is_a_state() -> None:
    async def fail(turn: Turn) -> None:
        turn.add_token_usage(7, 3)
        raise RuntimeError

    async with served(agent_of(fail, drafts=True), "v2") as hand:
        end = ending(await hand.turn(await hand.new_session()))

    assert end["stopReason"] == "error"
    assert end["usage"] == {"totalTokens": 10, "inputTokens": 7, "outputTokens": 3}


@rows("edition", ["v1", "v2_june"])
async def test_an_answer_that_is_an_error_has_no_place_for_it(edition: str) -> None:
    async def fail(turn: Turn) -> None:
        turn.add_token_usage(7, 3)
        raise RuntimeError

    async with served(agent_of(fail, drafts=True), edition) as hand:
        heard = await hand.turn(await hand.new_session())

    assert set(heard.error) <= {"code", "message", "data"}
    assert "token" not in str(heard.error).lower()


@IN_EDITIONS_WITH_A_PLACE
async def test_a_stop_reason_of_the_agents_own_goes_beside_it(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        turn.add_token_usage(7, 3)
        turn.finish(custom("_bored"))

    async with served(agent_of(reply, drafts=True), edition) as hand:
        end = ending(await hand.turn(await hand.new_session()))

    assert end["usage"]["totalTokens"] == 10
    meant = end["stopReason"] if edition == "v2" else end["_meta"]["accord/original"]["stop_reason"]
    assert meant == "_bored"


@IN_EDITIONS_WITH_A_PLACE
async def test_a_handler_in_a_thread_counts_too(edition: str) -> None:
    seen: list[Any] = []

    def reply(turn: BlockingTurn) -> None:
        turn.add_token_usage(7, 3, total_tokens=12, cached_write_tokens=2)
        seen.append(turn.token_usage)

    async with served(agent_of(reply, drafts=True), edition) as hand:
        end = ending(await hand.turn(await hand.new_session()))

    assert seen == [TokenUsage(7, 3, 12, cached_write_tokens=2)]
    assert end["usage"] == {"totalTokens": 12, "inputTokens": 7, "outputTokens": 3, "cachedWriteTokens": 2}


@IN_EDITIONS_WITH_A_PLACE
async def test_a_strict_agent_sends_it_as_well(edition: str) -> None:
    async with served(agent_of(count, drafts=True, strict=True, stored=False), edition) as hand:
        assert ending(await hand.turn(await hand.new_session()))["usage"] == SAID


def _numbers(value: Any) -> list[str]:
    """Every number in it, as text: not the digits of an id, which may be any."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in _numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in _numbers(each)]
    return [str(value)] if isinstance(value, int | float) else []


@IN_EVERY_EDITION
async def test_the_history_has_it_by_turn_and_a_client_that_loads_is_not_told_it_again(edition: str) -> None:
    seen: list[Any] = []

    async def reply(turn: Turn) -> None:
        seen.append([span.token_usage for span in (await turn.history()).turns])
        await count(turn)

    store = MemoryStore()
    async with served(_kept(reply, store), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session)
    async with served(_kept(reply, store), edition) as hand:
        replay = {"replayFrom": {"type": "start"}} if edition == "v2" else {}
        method = "session/resume" if edition == "v2" else "session/load"
        answer = await hand.request(method, {"sessionId": session, "cwd": "/tmp", "mcpServers": [], **replay})  # noqa: S108
        assert "result" in answer
        loaded = list(hand.received)
        await hand.turn(session)

    assert seen == [[None], [TokenUsage(110, 50, 160, 20, 40), None]]
    assert "160" not in _numbers(loaded)


def _kept(reply: Any, store: MemoryStore) -> Agent:
    return agent_of(reply, store=store, drafts=True)


@rows(
    ("counts", "error"),
    [
        ({"input_tokens": -1, "output_tokens": 0}, ValueError),
        ({"input_tokens": 1, "output_tokens": 1, "thought_tokens": -5}, ValueError),
        ({"input_tokens": 2**64, "output_tokens": 0}, ValueError),
        ({"input_tokens": 1.5, "output_tokens": 0}, TypeError),
        ({"input_tokens": "1", "output_tokens": "2"}, TypeError),
    ],
)
async def test_a_count_that_is_none_is_refused_and_changes_nothing(counts: Any, error: type[Exception]) -> None:
    seen: list[Any] = []

    async def reply(turn: Turn) -> None:
        turn.add_token_usage(1, 2)
        with pytest.raises(error):
            turn.add_token_usage(**counts)
        seen.append(turn.token_usage)

    async with served(agent_of(reply)) as hand:
        await hand.turn(await hand.new_session())

    assert seen == [TokenUsage(1, 2, 3)]


async def test_what_is_counted_after_the_end_is_refused() -> None:
    turns: list[Turn] = []

    async def reply(turn: Turn) -> None:
        turns.append(turn)

    async with served(agent_of(reply)) as hand:
        await hand.turn(await hand.new_session())
        with pytest.raises(LocalProtocolError):
            turns[0].add_token_usage(1, 1)
