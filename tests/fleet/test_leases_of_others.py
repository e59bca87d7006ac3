"""The end of another node's lease is seen when it ends, and not at the next of regular looks."""

from __future__ import annotations

import asyncio

import pytest

from accord.serve import fleet as fleet_module
from accord.serve.fleet import ServerFleet
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.stores import opened


async def test_what_is_open_to_a_node_ends_with_its_lease(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    # A regular look would come in an hour.
    monkeypatch.setattr(fleet_module, "REFRESH_SECONDS", 3600.0)
    async with opened(database, "one", lease_seconds=10_800.0) as store:
        await store.open()
        database.run(
            """insert into accord.nodes (incarnation, name, address, version, lock, lease_seconds, until)
            values ('stopped', 'two', 'http://127.0.0.1:1', '1', 0, 1, clock_timestamp() + interval '0.3 s')"""
        )
        fleet = ServerFleet(store, "a secret of many characters, for a test")
        await fleet.start()
        node = await fleet.node("two")
        assert node is not None
        ended = asyncio.Event()
        with fleet.until_gone(node, ended.set):
            async with asyncio.timeout(limit(20.0)):
                await ended.wait()
        assert await fleet.node("two") is None
        await fleet.close()
