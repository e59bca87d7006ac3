"""A long session is loaded in pages: others are served meanwhile, and it is never in memory as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.agent import Turn
from accord.session.content import Text
from accord.session.event import Event, MessageChanged, MessageChunk, StateChanged, ToolChanged
from accord.stores import MemoryStore, SessionRecord, SqliteStore
from accord.stores.interface import PAGE_EVENTS, Store
from tests.agent.rig import EDITIONS, agent_of, served
from tests.agent.sessions import CWD, messages, reopen, reopening

MESSAGES = 3000
NEW = {"cwd": CWD, "mcpServers": []}


class Counting(MemoryStore):
    """Counts the events that were read at once, and notes every page."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0
        self.reads = 0

    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        events = await super().read(session_id, after, limit)
        self.reads += 1
        self.most = max(self.most, len(events))
        return events

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        events = await super().read_page(session_id, after)
        self.reads += 1
        self.most = max(self.most, len(events))
        return events


async def echo(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


async def fill(store: Store, count: int = MESSAGES) -> None:
    await store.create(SessionRecord("long", CWD, 1.0, 1.0))
    for start in range(0, count, 1000):
        speakers = ("user", "agent")
        events: list[Event] = [
            MessageChanged(speakers[number % 2], f"m{number}", [Text(f"text {number}")])  # type: ignore[arg-type]
            for number in range(start, start + 1000)
        ]
        await store.append("long", events)


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("replay", [True, False])
async def test_no_more_than_a_page_is_read_at_once(edition: str, *, replay: bool) -> None:
    store = Counting()
    await fill(store)
    async with served(agent_of(echo, store=store), edition, max_bytes=64 * 1024 * 1024) as hand:
        heard = await reopen(hand, "long", replay=replay)
        assert (len(messages(heard)) == MESSAGES) == replay
        assert store.most <= PAGE_EVENTS
        assert store.reads >= 2 * MESSAGES // PAGE_EVENTS
        # Also one that is open already, and a copy.
        await reopen(hand, "long", replay=replay)
        assert store.most <= PAGE_EVENTS
        assert (await hand.turn("long", "more")).text == "You said: more"


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_is_opened_while_a_long_one_is_told(edition: str, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    await fill(store)
    async with served(agent_of(echo, store=store), edition) as hand:
        load = await hand.ask(*reopening(hand, "long"))
        # The first of it is there, and it is far from its end: what is asked now is not behind it.
        await hand.hear_until(lambda message: message.get("method") == "session/update")
        new = await hand.ask("session/new", NEW)
        await hand.answer_to(load)
        order = [message["id"] for message in hand.received if message.get("id") in {load, new}]
        assert order == [new, load]
    await store.close()


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_what_was_broken_off_far_from_the_end_of_the_log_is_healed(edition: str) -> None:
    store = Counting()
    await store.create(SessionRecord("long", CWD, 1.0, 1.0))
    cut: list[Event] = [StateChanged("running"), ToolChanged("c1", title="Early", status="in_progress", created=True)]
    await store.append("long", cut)
    for number in range(3):
        await store.append("long", [MessageChunk("agent", Text("word "), id=f"m{number}") for _ in range(1000)])
    async with served(agent_of(echo, store=store), edition) as hand:
        heard = await reopen(hand, "long")
        (call,) = heard.tools().values()
        assert (call["title"], call["status"]) == ("Early", "failed")
        assert [len(text.split()) for _, text in messages(heard)] == [1000] * 3
    last: list[Any] = (await store.read("long"))[-2:]
    assert [event.status if isinstance(event, ToolChanged) else event.state for event in last] == ["failed", "idle"]
