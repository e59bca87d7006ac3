"""The deadlines of an agent, by phase, and the times in which they rest."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

import accord
from accord.client.deadline import Watch
from tests.client.clock import in_no_time, now
from tests.connection.rig import Hand, until

Test = Callable[..., Coroutine[Any, Any, None]]
IN_EVERY_EDITION = pytest.mark.parametrize("edition", ["1", "2", "2-june"])

V2_RESULTS = {
    "initialize": {"protocolVersion": 2, "info": {"name": "silent", "version": "1"}, "capabilities": {"session": {}}},
    "session/new": {"sessionId": "s"},
}


def timeless(test: Test) -> Callable[..., None]:
    """Run an async test in a loop of its own time."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        in_no_time(test(**arguments))

    return run


class Worker:
    """An agent whose turns are written in the test, and what became of them."""

    def __init__(self, work: Callable[[accord.agent.Turn], Coroutine[Any, Any, None]]) -> None:
        self.agent = accord.Agent("worker", store=None, cancel_grace_seconds=1000)
        self.cancelled_at: list[float] = []
        self._work = work
        self.agent.prompt(self._reply)

    async def _reply(self, turn: accord.agent.Turn) -> None:
        try:
            await self._work(turn)
        except asyncio.CancelledError:
            self.cancelled_at.append(now())
            raise


@asynccontextmanager
async def session_with(agent: accord.Agent, edition: str = "1", **options: Any) -> AsyncIterator[accord.client.Session]:
    async with accord.connect(agent, edition=edition, **options) as remote:  # type: ignore[call-overload]
        yield await remote.new_session("/")


async def say_every(seconds: float, times: int, turn: accord.agent.Turn) -> None:
    for _ in range(times):
        await asyncio.sleep(seconds)
        await turn.say("still here ")


async def failed(turn: accord.client.Turn) -> accord.DeadlineExceeded:
    with pytest.raises(accord.DeadlineExceeded) as caught:
        await turn
    return caught.value


# --- each phase


@timeless
async def test_an_agent_that_does_not_answer_at_its_start_is_late() -> None:
    ours, _theirs = accord.memory_pair()
    with pytest.raises(accord.DeadlineExceeded) as caught:
        await accord.connect(ours, deadlines=accord.Deadlines(start_seconds=20)).open()
    assert (caught.value.phase, caught.value.seconds, now()) == ("start", 20, 20)


@timeless
async def test_an_agent_that_shows_no_sign_of_life_is_late_and_told_to_stop() -> None:
    worker = Worker(lambda _: asyncio.sleep(500))
    async with session_with(worker.agent, deadlines=accord.Deadlines(first_seconds=7)) as session:
        error = await failed(session.prompt("work"))
        assert (error.phase, error.seconds, now()) == ("first", 7, 7)
        assert worker.cancelled_at == [7]


@IN_EVERY_EDITION
@timeless
async def test_an_agent_that_falls_silent_is_late_and_told_to_stop(edition: str) -> None:
    async def work(turn: accord.agent.Turn) -> None:
        await say_every(3, 4, turn)
        await asyncio.sleep(500)

    worker = Worker(work)
    async with session_with(
        worker.agent, edition, deadlines=accord.Deadlines(first_seconds=100, idle_seconds=5)
    ) as session:
        turn = session.prompt("work")
        error = await failed(turn)
        assert (error.phase, error.seconds, now()) == ("idle", 5, 17)
        assert worker.cancelled_at == [17]
        assert turn.text == "still here " * 4
        assert session.transcript.state == "idle"


@IN_EVERY_EDITION
@timeless
async def test_signs_of_life_keep_an_agent_from_being_late(edition: str) -> None:
    worker = Worker(functools.partial(say_every, 4, 50))
    async with session_with(
        worker.agent, edition, deadlines=accord.Deadlines(first_seconds=5, idle_seconds=5)
    ) as session:
        turn = await session.prompt("work")
        assert (turn.stop_reason, now()) == ("end_turn", 200)


@IN_EVERY_EDITION
@timeless
async def test_a_turn_as_a_whole_can_be_late(edition: str) -> None:
    worker = Worker(functools.partial(say_every, 1, 1000))
    async with session_with(
        worker.agent, edition, deadlines=accord.Deadlines(idle_seconds=5, turn_seconds=30)
    ) as session:
        error = await failed(session.prompt("work"))
        assert (error.phase, error.seconds, now(), worker.cancelled_at) == ("turn", 30, 30, [30])


async def unmoved(turn: accord.agent.Turn) -> None:
    """Goes on, whatever it is told."""
    await turn.say("working")
    for _ in range(3):
        try:
            await asyncio.sleep(10_000)
        except asyncio.CancelledError:
            continue


@IN_EVERY_EDITION
@timeless
async def test_an_agent_that_does_not_stop_is_late(edition: str) -> None:
    agent = accord.Agent("unmoved", store=None, cancel_grace_seconds=9000)
    agent.prompt(unmoved)
    async with session_with(agent, edition, deadlines=accord.Deadlines(idle_seconds=5, cancel_seconds=8)) as session:
        turn = session.prompt("work")
        waiting = asyncio.ensure_future(failed(turn))
        await asyncio.sleep(1)
        turn.cancel()
        error = await waiting
        assert (error.phase, error.seconds, now()) == ("cancel", 8, 9)


@IN_EVERY_EDITION
@timeless
async def test_an_agent_that_does_not_stop_is_late_also_where_the_session_is_cancelled(edition: str) -> None:
    agent = accord.Agent("unmoved", store=None, cancel_grace_seconds=9000)
    agent.prompt(unmoved)
    async with session_with(agent, edition, deadlines=accord.Deadlines(idle_seconds=5, cancel_seconds=8)) as session:
        waiting = asyncio.ensure_future(failed(session.prompt("work")))
        await asyncio.sleep(1)
        session.cancel()
        error = await waiting
        assert (error.phase, error.seconds, now()) == ("cancel", 8, 9)


async def answer_first_requests(hand: Hand) -> None:
    """An agent of v2 that answers the requests of `V2_RESULTS` and nothing else."""
    while True:
        message = await hand.hear()
        if message["method"] in V2_RESULTS:
            await hand.say({"jsonrpc": "2.0", "id": message["id"], "result": V2_RESULTS[message["method"]]})


@timeless
async def test_a_cancel_is_the_last_deadline_of_every_prompt_that_was_sent() -> None:
    ours, theirs = accord.memory_pair()
    playing = asyncio.ensure_future(answer_first_requests(Hand(theirs)))
    async with accord.connect(ours, edition="2", deadlines=accord.Deadlines(cancel_seconds=8)) as remote:
        session = await remote.new_session("/")
        turns = [session.prompt("one"), session.prompt("two")]
        waiting = [asyncio.ensure_future(failed(turn)) for turn in turns]
        await asyncio.sleep(1)
        turns[1].cancel()
        errors = await asyncio.gather(*waiting)
        assert [(error.phase, now()) for error in errors] == [("cancel", 9), ("cancel", 9)]
    playing.cancel()


@timeless
async def test_an_agent_that_does_not_answer_the_close_of_a_session_is_not_awaited_for_ever() -> None:
    ours, theirs = accord.memory_pair()
    playing = asyncio.ensure_future(answer_first_requests(Hand(theirs)))
    async with accord.connect(ours, edition="2", deadlines=accord.Deadlines(cancel_seconds=8)) as remote:
        session = await remote.new_session("/")
        waiting = asyncio.ensure_future(session.prompt("one").wait())
        await asyncio.sleep(1)
        await session.close()
        assert (session.is_closed, (await waiting).stop_reason, now()) == (True, "cancelled", 9)
        assert remote.session("s") is None
    playing.cancel()


@timeless
async def test_the_first_deadline_that_passed_is_the_one_that_is_told() -> None:
    agent = accord.Agent("unmoved", store=None, cancel_grace_seconds=9000)
    agent.prompt(unmoved)
    async with session_with(agent, deadlines=accord.Deadlines(idle_seconds=5, cancel_seconds=8)) as session:
        error = await failed(session.prompt("work"))
        assert (error.phase, now()) == ("idle", 13)


@timeless
async def test_an_agent_that_did_not_stop_gets_the_next_prompt_all_the_same() -> None:
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)

    async def play() -> list[str]:
        methods: list[str] = []
        while "session/prompt" not in methods[3:]:
            message = await hand.hear()
            methods.append(message["method"])
            results = {"initialize": {"protocolVersion": 1, "agentCapabilities": {}}, "session/new": {"sessionId": "s"}}
            if message["method"] in results:
                await hand.say({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})
        await hand.say({"jsonrpc": "2.0", "id": message["id"], "result": {"stopReason": "end_turn"}})
        return methods

    playing = asyncio.ensure_future(play())
    async with accord.connect(
        ours, edition="1", deadlines=accord.Deadlines(first_seconds=5, cancel_seconds=3)
    ) as remote:
        session = await remote.new_session("/")
        assert (await failed(session.prompt("one"))).phase == "first"
        await until(lambda: session.transcript.state == "idle")
        turn = await session.prompt("two")
        assert turn.stop_reason == "end_turn"
        methods = await playing
        assert [name for name in methods if name.startswith("session/")] == [
            "session/new",
            "session/prompt",
            "session/cancel",
            "session/prompt",
        ]


# --- when it rests


async def asks(turn: accord.agent.Turn) -> None:
    async with turn.tool("Dig", status="pending") as tool:
        await turn.request_permission(tool)
    await turn.say("done")


@IN_EVERY_EDITION
@timeless
async def test_the_clock_rests_while_a_question_is_open(edition: str) -> None:
    async def think(_question: accord.client.PermissionQuestion) -> bool:
        await asyncio.sleep(1000)
        return True

    worker = Worker(asks)
    deadlines = accord.Deadlines(first_seconds=5, idle_seconds=5)
    async with session_with(worker.agent, edition, deadlines=deadlines, permission=think) as session:
        turn = await session.prompt("dig")
        assert (turn.stop_reason, turn.text, now()) == ("end_turn", "done", 1000)


@timeless
async def test_after_the_question_the_clock_goes_on() -> None:
    async def work(turn: accord.agent.Turn) -> None:
        await asks(turn)
        await asyncio.sleep(500)

    async def think(_question: accord.client.PermissionQuestion) -> bool:
        await asyncio.sleep(1000)
        return True

    worker = Worker(work)
    async with session_with(worker.agent, deadlines=accord.Deadlines(idle_seconds=5), permission=think) as session:
        error = await failed(session.prompt("dig"))
        assert (error.phase, now()) == ("idle", 1005)


@timeless
async def test_the_turn_as_a_whole_does_not_rest() -> None:
    async def think(_question: accord.client.PermissionQuestion) -> bool:
        await asyncio.sleep(1000)
        return True

    worker = Worker(asks)
    async with session_with(worker.agent, deadlines=accord.Deadlines(turn_seconds=50), permission=think) as session:
        error = await failed(session.prompt("dig"))
        assert (error.phase, now()) == ("turn", 50)


@timeless
async def test_a_cancel_while_a_question_is_open_leaves_only_its_own_deadline() -> None:
    asked = asyncio.Event()

    async def think(_question: accord.client.PermissionQuestion) -> bool:
        asked.set()
        await asyncio.sleep(1000)
        return True

    async def work(turn: accord.agent.Turn) -> None:
        try:
            await asks(turn)
        finally:
            await asyncio.sleep(20)

    worker = Worker(work)
    deadlines = accord.Deadlines(idle_seconds=5, cancel_seconds=30)
    async with session_with(worker.agent, deadlines=deadlines, permission=think) as session:
        turn = session.prompt("dig")
        waiting = asyncio.ensure_future(turn.wait())
        await asked.wait()
        turn.cancel()
        await waiting
        assert (turn.stop_reason, turn.error, now()) == ("cancelled", None, 20)


@IN_EVERY_EDITION
@timeless
async def test_the_clock_rests_while_nobody_takes_the_events(edition: str) -> None:
    async def work(turn: accord.agent.Turn) -> None:
        for _ in range(3000):
            await turn.say("much ")

    worker = Worker(work)
    async with session_with(
        worker.agent, edition, deadlines=accord.Deadlines(first_seconds=5, idle_seconds=5)
    ) as session:
        async with session.prompt("work") as turn:
            slow = True
            async for _event in turn:
                if slow:
                    await asyncio.sleep(1000)
                slow = False
        assert (turn.stop_reason, turn.text, now()) == ("end_turn", "much " * 3000, 1000)


# --- when it is set


@timeless
async def test_without_deadlines_a_turn_may_take_for_ever() -> None:
    worker = Worker(lambda _: asyncio.sleep(20 * 3600))
    async with session_with(worker.agent) as session:
        assert (await session.prompt("work")).stop_reason == "end_turn"


@timeless
async def test_a_prompt_may_have_deadlines_of_its_own() -> None:
    worker = Worker(lambda _: asyncio.sleep(100))
    async with session_with(worker.agent, deadlines=accord.Deadlines(first_seconds=50)) as session:
        error = await failed(session.prompt("work", deadlines=accord.Deadlines(first_seconds=10)))
        assert error.seconds == 10
        assert (await session.prompt("work", deadlines=accord.Deadlines())).stop_reason == "end_turn"


@timeless
async def test_a_prompt_that_waits_for_its_turn_is_not_late() -> None:
    worker = Worker(functools.partial(say_every, 4, 5))
    async with session_with(worker.agent, deadlines=accord.Deadlines(first_seconds=5, turn_seconds=25)) as session:
        turns = await asyncio.gather(session.prompt("one").wait(), session.prompt("two").wait())
        assert ([turn.stop_reason for turn in turns], now()) == (["end_turn"] * 2, 40)


@timeless
async def test_nothing_rings_behind_the_end() -> None:
    rung: list[accord.DeadlineExceeded] = []
    watch = Watch(accord.Deadlines(first_seconds=1, idle_seconds=1, turn_seconds=1, cancel_seconds=1), rung.append)
    watch.rest()
    watch.stop()
    watch.go_on()
    watch.sign_of_life()
    await asyncio.sleep(100)
    assert rung == []


@timeless
async def test_to_be_told_to_stop_twice_gives_no_more_time() -> None:
    rung: list[tuple[str, float]] = []
    watch = Watch(
        accord.Deadlines(first_seconds=50, cancel_seconds=10), lambda error: rung.append((error.phase, now()))
    )
    for _ in range(8):
        watch.cancelled()
        await asyncio.sleep(3)
    assert rung == [("cancel", 10)]
