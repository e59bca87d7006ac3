"""A database that is down, restarted, slow, full or read-only: an error with its cause, and no event lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from accord.errors import StoreError
from accord.stores import PostgresStore, check_store
from accord.stores.interface import Store
from tests.limits import limit
from tests.postgres import Database, OwnServer, own_server
from tests.stores.postgres.proxy import proxied
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words


async def failure(call: Callable[[], object]) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await call()  # type: ignore[misc]
    return caught.value


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as running:
        yield running


@pytest.mark.timeout(180)
async def test_a_restart_is_outlived_and_a_stop_is_reported(server: OwnServer) -> None:
    with server.database() as database:
        async with opened(database, "one", lease_seconds=60.0) as store:
            await store.create(record("a"), owned=True)
            written = 0
            stop = asyncio.Event()

            async def write() -> None:
                nonlocal written
                while not stop.is_set():
                    assert await store.append("a", words(1, start=written)) == written + 1
                    written += 1

            writing = asyncio.create_task(write())
            for mode in ("fast", "immediate"):
                await asyncio.to_thread(server.stop, mode)
                await asyncio.to_thread(server.start)
                at_restart = written
                async with asyncio.timeout(limit(30.0)):
                    while written < at_restart + 5:
                        await asyncio.sleep(0.01)
            stop.set()
            await writing
            assert await store.read("a") == words(written)
            first = store.incarnation

        server.stop()
        try:
            async with opened(database, "two", patience_seconds=0.3) as store:
                error = await failure(store.open)
                assert error.reason == "away"
                assert "check that the server runs" in str(error)
                assert (await failure(lambda: store.append("a", words(1)))).reason == "away"
        finally:
            server.start()
        async with opened(database, "two") as store:
            await store.open()
            assert store.incarnation != first
            assert await store.acquire("a")
            assert await store.append("a", words(1, start=written)) == written + 1


@pytest.mark.timeout(120)
async def test_the_other_server_of_this_machine_passes_the_check(server: OwnServer) -> None:
    with server.database() as database:

        async def make(name: str) -> Store:
            return PostgresStore(database.conninfo, schema=name)

        await check_store(make)


async def test_a_database_that_became_read_only_is_reported_and_found_again(database: Database) -> None:
    async with opened(database, patience_seconds=0.5) as store:
        await store.create(record("a"))
        database.run(f"alter database {database.name} set default_transaction_read_only = on")
        database.cut("pid <> pg_backend_pid()")
        error = await failure(lambda: store.append("a", words(1)))
        assert (error.reason, "primary" in str(error)) == ("read_only", True)
        # What is there can still be read.
        assert await store.read("a") == []
        with psycopg.connect(database.conninfo, autocommit=True) as connection:
            connection.execute("set default_transaction_read_only = off")
            connection.execute(f"alter database {database.name} reset default_transaction_read_only".encode())
        assert await store.append("a", words(1)) == 1


async def test_of_several_servers_the_primary_is_taken(database: Database) -> None:
    host, port = database.endpoint()
    with proxied(database) as proxy:
        several = make_conninfo(database.conninfo, host=f"127.0.0.1,{host}", port=f"{proxy.port},{port}")
        proxy.refuses = True
        async with opened(several) as store:
            await store.create(record("a"))
            assert await store.append("a", words(1)) == 1


async def test_a_full_disk_is_reported_and_the_log_goes_on(database: Database) -> None:
    async with opened(database) as store:
        await store.create(record("a"))
        await store.append("a", words(1))
        # The server's own error: no disk here is small enough to fill.
        database.run(
            "create function full_disk() returns trigger language plpgsql as "
            "$$ begin raise exception 'could not extend file' using errcode = '53100'; end $$"
        )
        database.run("create trigger full_disk before insert on accord.events execute function full_disk()")
        error = await failure(lambda: store.append("a", words(1, start=7)))
        assert (error.reason, "free some space" in str(error)) == ("full", True)
        database.run("drop trigger full_disk on accord.events")
        assert await store.append("a", words(1, start=1)) == 2
        assert await store.read("a") == words(2)


async def test_a_slow_database_is_given_up_in_time_and_nothing_is_doubled(database: Database) -> None:
    async with opened(database, patience_seconds=0.5) as store:
        await store.create(record("a"))
        with psycopg.connect(database.conninfo) as other:
            other.execute("lock table accord.events in exclusive mode")
            before = time.monotonic()
            error = await failure(lambda: store.append("a", words(1, start=7)))
            assert (error.reason, "patience_seconds" in str(error)) == ("slow", True)
            assert time.monotonic() - before < limit(5.0)
            # The statement was asked to stop: it lands nothing when the lock is free.
            deadline = time.monotonic() + limit(10.0)
            sql = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            while database.run(sql):
                assert time.monotonic() < deadline
            other.rollback()
        assert await store.append("a", words(1)) == 1
        assert await store.read("a") == words(1)


async def test_a_frozen_network_is_given_up_in_time(database: Database) -> None:
    with proxied(database) as proxy:
        async with opened(database.through(proxy.port), patience_seconds=0.5) as store:
            await store.create(record("a"))
            proxy.freeze()
            before = time.monotonic()
            assert (await failure(lambda: store.append("a", words(1)))).reason in {"slow", "away"}
            assert time.monotonic() - before < limit(10.0)
            proxy.thaw()
            async with asyncio.timeout(limit(20.0)):
                position = await store.append("a", words(1))
            # What was sent before the network froze may have landed when it thawed: reported as lost, never twice.
            assert position in {1, 2}


@pytest.mark.long
async def test_an_outage_of_seconds_is_waited_for_as_long_as_the_lease_lasts(database: Database) -> None:
    with proxied(database) as proxy:
        store = PostgresStore(database.through(proxy.port), direct=database.conninfo, lease_seconds=limit(30.0))
        try:
            await store.create(record("a"), owned=True)
            proxy.refuses = True
            proxy.cut()
            appending = asyncio.create_task(store.append("a", words(1)))
            await asyncio.sleep(7.0)
            proxy.refuses = False
            assert await appending == 1
        finally:
            await store.close()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"user": "nobody_knows"}, "denied"),
        ({"dbname": "nothing_there"}, "denied"),
        ({"host": "127.0.0.1", "port": "1"}, "away"),
    ],
)
async def test_an_address_that_leads_nowhere_is_reported_without_its_password(
    database: Database, change: dict[str, str], reason: str
) -> None:
    conninfo = make_conninfo(database.conninfo, **{"password": "s3cret-s3cret", **change})
    async with opened(conninfo, patience_seconds=0.3) as store:
        error = await failure(store.open)
        assert error.reason == reason
        assert "s3cret" not in f"{error} {error!r} {store!r} {error.__cause__} {error.__context__}"


async def test_a_connection_string_that_cannot_be_read_is_not_quoted() -> None:
    async with opened("host=x password = s3cret dbname='open") as store:
        error = await failure(store.open)
        assert error.reason == "bad_address"
        assert "s3cret" not in f"{error} {error.__cause__} {error.__context__}"


def test_without_the_extra_the_install_line_is_said() -> None:
    program = (
        "import sys, asyncio\n"
        "sys.modules['psycopg'] = None\n"
        "import accord\n"
        "store = accord.PostgresStore('dbname=x')\n"
        "try:\n"
        "    asyncio.run(store.open())\n"
        "except accord.StoreError as error:\n"
        "    print(error.reason, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=limit(60)
    )
    assert done.stdout.startswith("missing_extra PostgreSQL needs psycopg")
    assert "'.[postgres]'" in done.stdout
