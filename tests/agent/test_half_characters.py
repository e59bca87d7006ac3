"""Half a character, as a peer sends it that cuts an emoji in two: kept in every store, and the session goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from accord.agent import Agent, Turn
from accord.coder import make_agent
from accord.stores import MemoryStore, SqliteStore
from accord.stores.interface import Store
from tests.agent.rig import EDITIONS, served
from tests.agent.sessions import messages, reopen

CUT = "half \ud83d and \udcff"
STORES = pytest.mark.parametrize("kind", ["memory", "sqlite"])


@contextmanager
def stores(kind: str, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """A store, and the same one as a process after this one would open it."""
    first: Store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "sessions.db")
    again = first if kind == "memory" else SqliteStore(tmp_path / "sessions.db")
    yield first, again


def keeping(store: Store) -> tuple[Agent, list[object]]:
    agent, states = Agent("keeping", version="1", store=store), list[object]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        states.append(turn.session.state)
        await turn.set_title(f"title {CUT}")
        await turn.save({CUT: [turn.text]})
        async with turn.tool(f"tool {CUT}", input={CUT: CUT}) as tool:
            await tool.complete(CUT, output={CUT: CUT})
        await turn.say(f"you said {turn.text}")

    return agent, states


@STORES
@pytest.mark.parametrize("edition", EDITIONS)
async def test_half_a_character_is_kept_and_the_session_goes_on(kind: str, edition: str, tmp_path: Path) -> None:
    with stores(kind, tmp_path) as (store, again):
        agent, _ = keeping(store)
        async with served(agent, edition) as hand:
            session = await hand.new_session()
            for _ in range(2):
                heard = await hand.turn(session, CUT)
                assert heard.stop_reason == "end_turn"
                assert messages(heard)[-1] == ("agent", f"you said {CUT}")
        agent, states = keeping(again)
        async with served(agent, edition) as hand:
            history = await reopen(hand, session)
            assert messages(history)[-1] == ("agent", f"you said {CUT}")
            listed = await hand.request("session/list", {})
            assert listed["result"]["sessions"][0]["title"] == f"title {CUT}"
            await hand.turn(session, "more")
        assert states == [{CUT: [CUT]}]
        if again is not store:
            await again.close()
        await store.close()


@STORES
async def test_the_coder_goes_on_after_half_a_character(kind: str, tmp_path: Path) -> None:
    with stores(kind, tmp_path) as (store, again):
        async with served(make_agent(model="offline", store=store)) as hand:
            session = await hand.new_session(str(tmp_path))
            for _ in range(2):
                heard = await hand.turn(session, f"hello {CUT}")
                assert heard.stop_reason == "end_turn"
        async with served(make_agent(model="offline", store=again)) as hand:
            await reopen(hand, session, cwd=str(tmp_path))
            heard = await hand.turn(session, "hello again")
            assert heard.stop_reason == "end_turn"
        if again is not store:
            await again.close()
        await store.close()
