"""An append whose result is not known: its statement may arrive late, and does nothing then.

A proxy holds what was sent on the connections of the store, and lets it through when the store has long gone on.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from accord.errors import StoreError
from accord.stores import PostgresStore
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.proxy import Proxy, proxied
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words


def backends(database: Database) -> set[int]:
    sql = "select pid from pg_stat_activity where datname = current_database() and application_name = 'accord'"
    return {row[0] for row in database.run(sql)}


def leaseholders(database: Database) -> set[int]:
    """The backends that hold the lock of a lease; other tests use the same server."""
    sql = """select pid from pg_locks where locktype = 'advisory' and database =
        (select oid from pg_database where datname = current_database())"""
    return {row[0] for row in database.run(sql)}


async def end_of(database: Database, processes: set[int]) -> None:
    """Wait until these backends have done what came to them, and are gone."""
    async with asyncio.timeout(limit(20.0)):
        while backends(database) & processes:
            await asyncio.sleep(0.02)


async def refused_append(store: PostgresStore, proxy: Proxy) -> None:
    """An append that hangs on its connection, and cannot be tried on another one."""
    proxy.hold()
    proxy.refuses = True
    with pytest.raises(StoreError) as caught:
        await store.append("a", words(1, start=1))
    assert caught.value.reason in {"away", "slow"}
    proxy.refuses = False


async def test_the_statement_of_an_append_that_was_given_up_does_nothing_when_it_arrives_late(
    database: Database,
) -> None:
    with proxied(database) as proxy:
        store_options = {"direct": database.conninfo, "patience_seconds": 0.5, "lease_seconds": limit(30.0)}
        async with opened(database.through(proxy.port), "one", **store_options) as store:
            await store.create(record("a"), owned=True)
            assert await store.append("a", words(1)) == 1
            before = backends(database)
            await refused_append(store, proxy)
            # With the claim of that append nothing more is written.
            with pytest.raises(StoreError) as caught:
                await store.append("a", words(1, start=7))
            assert caught.value.reason == "not_owned"
            await store.release("a")
            assert await store.owner_of("a") is None
            assert await store.acquire("a")
            assert await store.append("a", words(1, start=1)) == 2
            held = before - leaseholders(database)
            proxy.let_go()
            await end_of(database, held)
            assert await store.read("a") == words(2)


async def test_a_claim_that_was_given_up_and_not_released_gets_another_epoch(database: Database) -> None:
    sql = "select epoch from accord.sessions where id = 'a'"
    with proxied(database) as proxy:
        store_options = {"direct": database.conninfo, "patience_seconds": 0.5, "lease_seconds": limit(30.0)}
        async with opened(database.through(proxy.port), "one", **store_options) as store:
            await store.create(record("a"), owned=True)
            await store.append("a", words(1))
            await refused_append(store, proxy)
            proxy.refuses = True
            with pytest.raises(StoreError):
                await store.release("a")
            proxy.refuses = False
            before = database.run(sql)[0][0]
            assert await store.acquire("a")
            assert database.run(sql)[0][0] > before
            assert await store.append("a", words(1, start=1)) == 2


async def test_an_append_that_is_repeated_is_kept_once_although_its_first_statement_arrives_late(
    database: Database,
) -> None:
    with proxied(database) as proxy:
        store_options = {"direct": database.conninfo, "patience_seconds": limit(4.0), "lease_seconds": limit(30.0)}
        async with opened(database.through(proxy.port), "one", **store_options) as store:
            await store.create(record("a"), owned=True)
            assert await store.append("a", words(1)) == 1
            before = backends(database)
            proxy.hold()
            assert await store.append("a", words(1, start=1)) == 2
            assert await store.append("a", words(1, start=2)) == 3
            held = before - leaseholders(database)
            proxy.let_go()
            await end_of(database, held)
            # It is still ours, and has each event once.
            assert await store.append("a", words(1, start=3)) == 4
            assert await store.read("a") == words(4)


async def test_an_append_that_is_refused_with_a_known_result_leaves_the_claim(database: Database) -> None:
    async with opened(database, "one", lease_seconds=limit(30.0)) as store:
        await store.create(record("a"), owned=True)
        database.run(
            "create function full_disk() returns trigger language plpgsql as "
            "$$ begin raise exception 'could not extend file' using errcode = '53100'; end $$"
        )
        database.run("create trigger full_disk before insert on accord.events execute function full_disk()")
        with pytest.raises(StoreError) as caught:
            await store.append("a", words(1))
        assert caught.value.reason == "full"
        database.run("drop trigger full_disk on accord.events")
        assert await store.append("a", words(1)) == 1


async def test_a_lease_outlives_a_connection_that_hangs(database: Database) -> None:
    lease_seconds = limit(3.0)
    with proxied(database) as proxy:
        async with opened(
            database.conninfo, "one", direct=database.through(proxy.port), lease_seconds=lease_seconds
        ) as store:
            await store.create(record("a"), owned=True)
            incarnation = store.incarnation
            proxy.hold()
            end = time.monotonic() + 1.2 * lease_seconds
            while time.monotonic() < end:
                assert store.incarnation == incarnation
                await asyncio.sleep(0.05)
            # Also for others: the lock that the row names is held by the new connection.
            lock, until = database.run("select lock, until > clock_timestamp() from accord.nodes")[0]
            sql = "select count(*) from pg_locks where locktype = 'advisory' and granted and objid::bigint = %s"
            assert (until, database.run(sql, [lock & 0xFFFFFFFF])[0][0]) == (True, 1)
            assert await store.append("a", words(1)) == 1
