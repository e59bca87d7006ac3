"""Sessions that several clients may have open: what one of them does to a session that it has not opened."""

from __future__ import annotations

import asyncio

from accord.agent import Turn
from accord.agent.shared_sessions import SharedSessions
from accord.stores import MemoryStore
from tests.agent.rig import IN_EVERY_EDITION, agent_of, served
from tests.agent.sessions import error_of, reopening


async def ask(turn: Turn) -> None:
    await turn.request_permission("May I?")


@IN_EVERY_EDITION
async def test_a_session_that_asks_something_ends_when_a_client_that_has_not_opened_it_deletes_it(edition: str) -> None:
    store, shared = MemoryStore(), SharedSessions()
    agent = agent_of(ask, store=store)
    async with served(agent, edition, shared=shared) as first, served(agent, edition, shared=shared) as second:
        session = await first.new_session()
        prompt = await first.prompt(session)
        await first.asked("session/request_permission")
        assert (await second.request("session/delete", {"sessionId": session}))["result"] == {}
        assert (await first.ended(prompt)).stop_reason == "cancelled"
        assert not await store.exists(session)
        assert len(shared) == 0
        assert error_of(await first.request(*reopening(first, session)))["code"] == -32002
        # Nothing is left of it.
        assert [task for task in asyncio.all_tasks() if "_ask" in repr(task.get_coro())] == []
