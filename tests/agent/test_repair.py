"""A commit that failed: nothing of its turn is kept or sent behind it, and the log gets its end when that is possible.

Each test has a store in which a commit of some events fails, with or without an effect, once or for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Turn
from accord.agent.shared_sessions import SharedSessions
from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import Event, MessageChanged, MessageChunk, StateChanged, ToolChanged
from accord.stores import MemoryStore, SqliteStore
from tests.agent.rig import IN_EVERY_EDITION, Heard, agent_of, served, until
from tests.agent.sessions import error_of, messages, reopen, reopening
from tests.agent.test_stores import locked

Chosen = Callable[[Event], bool]


class FailingStore(MemoryStore):
    """`fails` chooses the events whose commit fails; `lands` says whether they are kept all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: Chosen = lambda _: False
        self.lands = False
        self.failing: set[int] = set()
        self.appends: list[list[Event]] = []
        self.acquired = 0

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        if not any(map(self.fails, events)):
            self.appends.append(list(events))
            return super().queue(session_id, events)
        ticket = super().queue(session_id, events) if self.lands else -len(self.failing) - 1
        self.failing.add(ticket)
        return ticket

    async def commit(self, session_id: str, ticket: int) -> None:
        if ticket in self.failing:
            await asyncio.sleep(0)
            raise StoreError("it did not answer", reason="slow", session_id=session_id)
        await super().commit(session_id, ticket)

    async def acquire(self, session_id: str) -> bool:
        self.acquired += 1
        return await super().acquire(session_id)

    def events(self) -> list[Event]:
        return [event for events in self.appends for event in events]


def says(text: str) -> Chosen:
    return lambda event: isinstance(event, MessageChunk) and getattr(event.block, "text", "") == text


def ends(event: Event) -> bool:
    return isinstance(event, StateChanged) and event.stop_reason is not None


def states(events: Sequence[Event]) -> list[tuple[str, str | None]]:
    return [(event.state, event.stop_reason) for event in events if isinstance(event, StateChanged)]


def spoken(events: Sequence[Event]) -> list[str]:
    return [getattr(event.block, "text", "") for event in events if isinstance(event, MessageChunk)]


def prompt_of(session: str, text: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def counting(store: Any) -> Agent:
    """An agent that says numbers, each in a commit of its own, and goes on when it is cancelled."""

    async def count(turn: Turn) -> None:
        if turn.text != "count":
            await turn.say(turn.text)
            return
        for number in range(6):
            try:
                await turn.say(f"{number} ")
                await asyncio.sleep(0.001)
            except (asyncio.CancelledError, StoreError):
                turn.session._publisher.publish_soon(MessageChunk("agent", Text("late "), "late"))

    return agent_of(count, store=store)


@IN_EVERY_EDITION
@pytest.mark.parametrize("lands", [False, True])
async def test_the_log_and_the_client_have_no_hole_and_one_end(edition: str, lands: bool) -> None:  # noqa: FBT001
    store = FailingStore()
    store.lands = lands
    async with served(counting(store), edition) as hand:
        session = await hand.new_session()
        store.fails = says("2 ")
        heard = await hand.turn(session, "count")
        assert heard.error["data"] == {"reason": "store_slow"}
        store.fails = lambda _: False
        assert (await hand.turn(session, "again")).text == "again"
        log = await store.read(session)
        assert heard.text == "0 1 "
        assert spoken(log) == ["0 ", "1 ", *(["2 "] if lands else []), "again"]
        assert states(log) == [("running", None), ("idle", "error"), ("running", None), ("idle", "end_turn")]
        # The first failure was said once, as an error of the turn.
        assert len([each for each in hand.received if "error" in each]) == (0 if edition == "v2" else 1)


@IN_EVERY_EDITION
async def test_an_end_that_could_not_be_kept_is_written_later_without_being_asked(edition: str) -> None:
    store = FailingStore()
    async with served(counting(store), edition) as hand:
        session = await hand.new_session()
        store.fails = ends
        heard = await hand.turn(session, "hello")
        assert heard.stop_reason == "error"
        assert states(await store.read(session)) == [("running", None)]
        store.fails = lambda _: False
        await until(lambda: states(store.events())[-1] == ("idle", "error"))
        assert states(await store.read(session)) == [("running", None), ("idle", "error")]
        # The log has the error that the client was told.
        end = (await store.read(session))[-1]
        assert isinstance(end, StateChanged)
        assert end.error is not None
        assert end.error.message == heard.error["message"]


@IN_EVERY_EDITION
async def test_a_prompt_whose_commit_seemed_to_fail_has_an_end_before_the_next_one(edition: str) -> None:
    store = FailingStore()
    store.lands = True
    async with served(counting(store), edition) as hand:
        session = await hand.new_session()
        store.fails = lambda event: isinstance(event, MessageChanged)
        error_of(await hand.request("session/prompt", prompt_of(session, "one")))
        store.fails = lambda _: False
        assert (await hand.turn(session, "two")).text == "two"
        log = await store.read(session)
        assert states(log) == [("running", None), ("idle", "error"), ("running", None), ("idle", "end_turn")]
        assert [text for _, text in messages(await reopen(hand, session))] == ["one", "two", "two"]


@IN_EVERY_EDITION
async def test_a_prompt_and_the_beginning_of_its_turn_are_one_append(edition: str) -> None:
    store = FailingStore()
    async with served(counting(store), edition) as hand:
        await hand.turn(await hand.new_session(), "hello")
    first = store.appends[0]
    assert [type(event) for event in first] == [MessageChanged, StateChanged]
    # And the state is kept once.
    assert states(store.events()) == [("running", None), ("idle", "end_turn")]


@IN_EVERY_EDITION
async def test_a_session_is_loaded_as_its_log_is_after_the_repair(edition: str) -> None:
    store = FailingStore()
    async with served(counting(store), edition) as hand:
        session = await hand.new_session()
        store.fails = says("2 ")
        await hand.turn(session, "count")
        acquired = store.acquired
        # As long as the store fails, the session is not loaded.
        store.fails = lambda _: True
        error_of(await hand.request(*reopening(hand, session)))
        store.fails = lambda _: False
        assert [text for _, text in messages(await reopen(hand, session))] == ["count", "0 1 "]
        assert store.acquired > acquired
        assert states(await store.read(session))[-1] == ("idle", "error")


@IN_EVERY_EDITION
async def test_tool_calls_that_were_open_are_ended_in_the_log(edition: str) -> None:
    store = FailingStore()

    async def work(turn: Turn) -> None:
        if turn.text == "count":
            await turn.tool("work", kind="execute").start()
            await turn.session._publisher.flush()
            await turn.say("lost")
            await asyncio.Event().wait()

    async with served(agent_of(work, store=store), edition) as hand:
        session = await hand.new_session()
        store.fails = says("lost")
        await hand.turn(session, "count")
        store.fails = lambda _: False
        await hand.turn(session, "again")
        tools = [event for event in await store.read(session) if isinstance(event, ToolChanged)]
        assert [event.status for event in tools][-1] == "failed"
        assert len({event.id for event in tools}) == 1


@IN_EVERY_EDITION
async def test_what_a_handler_saves_behind_a_failure_is_not_kept(edition: str) -> None:
    store = FailingStore()

    async def save(turn: Turn) -> None:
        await turn.say("lost")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await turn.session.save({"late": True})

    async with served(agent_of(save, store=store), edition) as hand:
        session = await hand.new_session()
        store.fails = says("lost")
        await hand.turn(session, "x")
        assert await store.state(session) is None


@IN_EVERY_EDITION
async def test_a_file_that_was_locked_in_a_turn_has_the_end_of_that_turn(edition: str, tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path, busy_seconds=0.01)
    gate, is_locked = asyncio.Event(), asyncio.Event()

    async def speak(turn: Turn) -> None:
        await turn.say("kept")
        await turn.session._publisher.flush()
        if turn.text == "lock":
            is_locked.set()
            await gate.wait()
            await turn.say("lost")
            await asyncio.Event().wait()

    async with served(agent_of(speak, store=store), edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session, "lock")
        await hand.said("kept")
        await is_locked.wait()
        with locked(path):
            gate.set()
            heard: Heard = await hand.ended(prompt)
        assert (heard.text, heard.stop_reason) == ("kept", "error")
        assert (await hand.turn(session, "more")).text == "kept"
        log = await store.read(session)
    await store.close()
    assert spoken(log) == ["kept", "kept"]
    assert states(log) == [("running", None), ("idle", "error"), ("running", None), ("idle", "end_turn")]


async def test_a_session_that_is_lost_while_its_log_is_repaired_is_left_alone() -> None:
    store, shared = FailingStore(), SharedSessions()
    acquire = store.acquire

    async def lose(session_id: str) -> bool:
        shared.lose([session_id])
        return await acquire(session_id)

    async with served(counting(store), shared=shared) as hand:
        session = await hand.new_session()
        store.fails = says("lost")
        await hand.turn(session, "lost")
        store.fails = lambda _: False
        store.acquire = lose  # type: ignore[method-assign]
        refused = error_of(await hand.request(*reopening(hand, session)))
        assert refused["data"] == {"reason": "store_lost"}
        store.acquire = acquire  # type: ignore[method-assign]
        # It can be loaded again, by one claim.
        await reopen(hand, session)
        assert store._sessions[session].claims == 1
        assert (await hand.turn(session, "more")).text == "more"
    assert [state for state, _ in states(await store.read(session))] == ["running", "idle"] * 2


async def test_a_session_whose_claim_was_lost_is_not_claimed_again_by_itself() -> None:
    store = FailingStore()

    async def refuse(session_id: str, ticket: int) -> None:  # noqa: ARG001
        raise StoreError("it is another's", reason="not_owned")

    async with served(counting(store)) as hand:
        session = await hand.new_session()
        commit = store.commit
        store.commit = refuse  # type: ignore[method-assign]
        refused = error_of(await hand.request("session/prompt", prompt_of(session, "count")))
        assert (refused["code"], refused["data"]["reason"]) == (-32002, "session_lost")
        store.commit = commit  # type: ignore[method-assign]
        assert [task for task in asyncio.all_tasks() if "SessionRepair" in repr(task.get_coro())] == []


@IN_EVERY_EDITION
async def test_a_load_does_not_wait_for_the_turn_of_a_prompt_that_repairs_the_log(edition: str) -> None:
    store, gate = FailingStore(), asyncio.Event()

    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)
        if turn.text == "long":
            await gate.wait()

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        store.fails = says("lost")
        await hand.turn(session, "lost")
        # Until the prompt has arrived nothing repairs the log.
        store.fails = lambda _: True
        prompt = await hand.prompt(session, "long")
        method, params = reopening(hand, session)
        loading = await hand.ask(method, params)
        store.fails = lambda _: False
        assert "result" in await hand.answer_to(loading)
        gate.set()
        await hand.answer_to(prompt)
