"""A lease that ends while a session is being loaded: no session is entered that its node does not own."""

from __future__ import annotations

from typing import Any

from accord.agent import Turn
from accord.agent.shared_sessions import SharedSessions
from accord.stores import PostgresStore
from tests.agent.rig import agent_of, served
from tests.agent.sessions import error_of, messages, reopen, reopening
from tests.limits import limit
from tests.postgres import Database


class LosingStore(PostgresStore):
    """Loses its lease while it reads a log, when it is told so."""

    loses: Database | None = None

    async def state(self, session_id: str) -> bytes | None:
        found = await super().state(session_id)
        if self.loses is not None:
            self.loses.run("update accord.nodes set until = clock_timestamp()")
            self.loses = None
        return found


async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


async def test_a_session_whose_lease_is_lost_while_it_is_loaded_is_not_entered(database: Database) -> None:
    shared = SharedSessions()
    options: dict[str, Any] = {"node": "one", "lease_seconds": limit(60.0)}
    store = LosingStore(database.conninfo, **options)
    store.on_lost(shared.lose)
    agent = agent_of(reply, store=store)
    async with served(agent, shared=shared) as hand:
        session = await hand.new_session()
        await hand.turn(session, "one")
        await hand.request("session/close", {"sessionId": session})
    async with served(agent, shared=shared) as hand:
        store.loses = database
        refused = error_of(await hand.request(*reopening(hand, session)))
        assert (refused["code"], refused["data"]["reason"]) == (-32002, "session_lost")
        # On the same node, with another lease.
        assert messages(await reopen(hand, session))[0] == ("user", "one")
        assert (await hand.turn(session, "two")).text == "You said: two"
    await store.close()


async def test_a_claim_that_was_lost_unnoticed_is_made_again_by_the_next_prompt(database: Database) -> None:
    shared = SharedSessions()
    store = PostgresStore(database.conninfo, node="one", lease_seconds=limit(60.0))
    agent = agent_of(reply, store=store)
    async with served(agent, shared=shared) as hand:
        session = await hand.new_session()
        await hand.turn(session, "one")
        database.run("update accord.nodes set until = clock_timestamp()")
        assert (await hand.turn(session, "two")).text == "You said: two"
    await store.close()
