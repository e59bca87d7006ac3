"""The end of a node whose store goes on: an application that is closed in a process that lives."""

from __future__ import annotations

from accord.serve.fleet import ServerFleet
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words


async def test_a_node_that_is_closed_hands_its_sessions_over_although_its_store_stays_open(database: Database) -> None:
    # A lease that no test waits for: what is free afterwards was handed over.
    async with opened(database, "one", lease_seconds=limit(120.0)) as store, opened(database, "other") as other:
        await store.create(record("a"), owned=True)
        await store.append("a", words(1))
        await ServerFleet(store).close()
        await other.acquire("a")
        assert await other.append("a", words(1)) == 2
