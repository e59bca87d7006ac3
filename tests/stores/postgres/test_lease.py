"""The lease of a process: renewed, lost, stolen, handed over; by the clock of the database and no other."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from accord.errors import StoreError
from accord.stores import PostgresStore
from accord.stores.postgres.connection import DatabaseAddress, PostgresConnection
from accord.stores.postgres.lease import NodeLease
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.proxy import proxied
from tests.stores.postgres.stores import opened
from tests.stores.postgres.test_exactly_once import waits_for_a_lock
from tests.stores.sessions import record, words


async def reason(call: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as caught:
        await call()  # type: ignore[misc]
    return caught.value.reason


async def soon(truth: Callable[[], object], what: str) -> None:
    async with asyncio.timeout(limit(20.0)):
        while not truth():
            await asyncio.sleep(0.01)
    assert truth(), what


def lost_by(store: PostgresStore) -> list[frozenset[str]]:
    lost: list[frozenset[str]] = []
    store.on_lost(lost.append)
    return lost


async def test_a_lease_is_renewed_while_its_process_does_nothing(database: Database) -> None:
    async with opened(database, "one", lease_seconds=limit(3.0)) as store, opened(database, "other") as other:
        await store.create(record("a"), owned=True)
        first = store.incarnation
        start = (await store.nodes())[0].until
        deadline = time.monotonic() + limit(20.0)
        while (await other.nodes())[0].until < start + 1.0:
            assert time.monotonic() < deadline, "it is not renewed"
            await asyncio.sleep(0.05)
        assert store.incarnation == first
        assert await reason(lambda: other.acquire("a")) == "in_use"
        assert await store.append("a", words(1)) == 1


async def test_a_process_that_cannot_renew_stops_before_its_lease_is_over(database: Database) -> None:
    with proxied(database) as proxy:
        async with (
            opened(database.through(proxy.port), "one", lease_seconds=limit(2.0)) as store,
            opened(database) as other,
        ):
            lost = lost_by(store)
            await store.create(record("a"), owned=True)
            await store.create(record("b"), owned=True)
            incarnation = store.incarnation
            # Not cut: nothing comes through, and nobody is told.
            proxy.freeze()
            await soon(lambda: lost, "the loss of a lease is not told")
            assert lost == [frozenset({"a", "b"})]
            assert store.incarnation == ""
            owner = await other.owner_of("a")
            assert owner is None or owner.incarnation == incarnation
            proxy.thaw()
            assert await reason(lambda: store.append("a", words(1))) == "not_owned"
            # Each is released first: whoever held it must have heard of the loss.
            assert await reason(lambda: store.acquire("a")) == "not_owned"
            await store.release("a")
            assert await store.acquire("a")
            assert store.incarnation not in {"", incarnation}
            assert await store.append("a", words(1)) == 1
            assert await reason(lambda: store.append("b", words(1))) == "not_owned"


async def test_a_stolen_lease_is_noticed_at_the_next_write_or_renewal(database: Database) -> None:
    async with opened(database, "one", lease_seconds=30.0) as store, opened(database, "thief") as thief:
        lost = lost_by(store)
        await store.create(record("a"), owned=True)
        await store.append("a", words(1))
        database.run("update accord.nodes set until = clock_timestamp() where name = 'one'")
        assert await thief.acquire("a")
        assert await reason(lambda: store.append("a", words(1, start=7))) == "not_owned"
        await soon(lambda: lost == [frozenset({"a"})], "the loss of a session is not told")
        assert await thief.append("a", words(1, start=1)) == 2
        assert await thief.read("a") == words(2)
        # The next claim is made with a new incarnation.
        first = store.incarnation
        await store.create(record("b"), owned=True)
        assert store.incarnation != first
        assert await store.append("b", words(1)) == 1


async def test_a_session_that_was_stolen_alone_is_fenced(database: Database) -> None:
    async with opened(database, "one", lease_seconds=30.0) as store:
        await store.create(record("a"), owned=True)
        await store.append("a", words(1))
        # As a claim of another node would, between any two statements.
        database.run("update accord.sessions set epoch = epoch + 1")
        tickets = [store.queue("a", words(1, start=7))]
        assert await reason(lambda: store.commit("a", tickets[0])) == "not_owned"
        for call in (lambda: store.patch("a", title="x"), lambda: store.delete("a")):
            assert await reason(call) == "not_owned"
        assert await store.read("a") == words(1)


async def test_a_process_whose_lock_connection_is_cut_keeps_its_sessions(database: Database) -> None:
    async with opened(database, "one", lease_seconds=30.0) as store, opened(database, "other") as other:
        await store.create(record("a"), owned=True)
        first = store.incarnation
        holds = "pid in (select pid from pg_locks where locktype = 'advisory')"
        assert database.cut(holds) == 1
        deadline = time.monotonic() + limit(10.0)
        # Those of other databases are here too.
        sql = """select count(*) from pg_locks where locktype = 'advisory' and granted
            and database = (select oid from pg_database where datname = current_database())"""
        while database.run(sql) != [(1,)]:
            assert time.monotonic() < deadline, "the lock is not taken again"
        assert await reason(lambda: other.acquire("a")) == "in_use"
        assert store.incarnation == first


async def test_nodes_owners_and_counts_are_seen_by_everyone(database: Database) -> None:
    async with opened(database, "b", address="http://b:1") as store, opened(database, "a") as other:
        await store.open()
        await other.open()
        await store.create(record("x"), owned=True)
        await store.create(record("y"), owned=True)
        await other.create(record("z"))
        found = await other.owner_of("x")
        assert found is not None
        assert (found.name, found.address, found.incarnation) == ("b", "http://b:1", store.incarnation)
        assert await other.owner_of("z") is None
        assert await other.owner_of("nothing") is None
        assert [(node.name, node.sessions) for node in await other.counts()] == [("a", 0), ("b", 2)]
        await store.set_draining()
        assert [(node.name, node.draining) for node in await other.nodes()] == [("a", False), ("b", True)]
        store.queue("x", words(2))
        assert sorted(await store.release_all()) == ["x", "y"]
        assert await other.acquire("x")
        assert await other.read("x") == words(2)
        assert await reason(lambda: store.append("y", words(1))) == "not_owned"
        await store.close()
        assert [node.name for node in await other.nodes()] == ["a"]


async def test_no_clock_of_this_machine_is_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(database, "one", lease_seconds=30.0) as store, opened(database, "other") as other:
        # A machine whose clock is a day late, and then a day early.
        for skew in (-86_400.0, 86_400.0):
            monkeypatch.setattr(time, "time", lambda skew=skew: 1e9 + skew)
            await store.create(record(f"a{skew}"), owned=True)
            assert await reason(lambda: other.acquire(f"a{skew}")) == "in_use"  # noqa: B023
            await store.release(f"a{skew}")
            assert await other.acquire(f"a{skew}")


async def test_a_cancelled_acquire_acquires_nothing(database: Database) -> None:
    async with opened(database, "one") as store, opened(database, "other") as other:
        await store.create(record("a"))
        taking = asyncio.create_task(store.acquire("a"))
        await asyncio.sleep(0)
        taking.cancel()
        await asyncio.wait([taking])
        await store.flush()
        assert await other.acquire("a")


async def test_a_lease_that_is_over_is_over_for_every_write_although_nobody_came(database: Database) -> None:
    async with opened(database, "one", lease_seconds=60.0) as store:
        await store.create(record("a"), owned=True)
        await store.append("a", words(1))
        # By the clock of the database alone: this process has no reason to doubt it.
        database.run("update accord.nodes set until = clock_timestamp()")
        assert await reason(lambda: store.append("a", words(1, start=7))) == "not_owned"
        assert await store.read("a") == words(1)


async def test_a_lease_that_is_over_is_never_renewed(database: Database) -> None:
    async with opened(database, "one", lease_seconds=limit(2.0)) as store:
        lost = lost_by(store)
        await store.create(record("a"), owned=True)
        incarnation = store.incarnation
        database.run("update accord.nodes set until = clock_timestamp()")
        await soon(lambda: lost == [frozenset({"a"})], "the loss of a lease is not told")
        assert store.incarnation != incarnation
        sql = "select until > clock_timestamp() from accord.nodes where incarnation = %s"
        assert database.run(sql, [incarnation]) == [(False,)]


async def test_a_claim_waits_for_a_renewal_that_is_being_committed(database: Database) -> None:
    async with opened(database, "one", lease_seconds=60.0) as store, opened(database, "thief") as thief:
        await store.create(record("a"), owned=True)
        await thief.open()
        with psycopg.connect(database.conninfo) as renewing:
            renewing.execute("update accord.nodes set until = clock_timestamp() + interval '0.2 s' where name = 'one'")
            renewing.commit()
            renewal = "set until = clock_timestamp() + interval '1 h' where name = 'one' and until > clock_timestamp()"
            assert renewing.execute(f"update accord.nodes {renewal}".encode()).rowcount == 1
            deadline = time.monotonic() + limit(10.0)
            # As everyone else sees it, the lease is over.
            while not database.run("select until < clock_timestamp() from accord.nodes where name = 'one'")[0][0]:
                assert time.monotonic() < deadline
            claiming = asyncio.create_task(thief.acquire("a"))
            await waits_for_a_lock(database, 1)
            renewing.commit()
        with pytest.raises(StoreError) as caught:
            await claiming
        assert caught.value.reason == "in_use"
        assert await store.append("a", words(1)) == 1


async def test_a_session_that_is_made_while_the_lease_ends_is_made_once_and_owned(database: Database) -> None:
    async with opened(database, "one", lease_seconds=1.0) as store:
        await store.open()
        first = store.incarnation
        with psycopg.connect(database.conninfo) as other:
            other.execute("lock table accord.sessions in exclusive mode")
            making = asyncio.create_task(store.create(record("a"), owned=True))
            await waits_for_a_lock(database, 1)
            # Its transaction holds the row of the node, so that no renewal comes through either.
            await soon(lambda: store.incarnation != first, "the lease does not end")
            other.rollback()
        await making
        owner = await store.owner_of("a")
        assert owner is not None
        assert owner.incarnation == store.incarnation != first
        assert database.run("select count(*) from accord.sessions") == [(1,)]
        assert await store.append("a", words(1)) == 1


@pytest.mark.parametrize("lost", [1, 2])
async def test_a_session_whose_owner_lost_its_lease_meanwhile_leaves_no_row(
    database: Database, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    async with opened(database, "one", lease_seconds=30.0) as store:
        await store.open()
        claim = NodeLease.claim
        left = [lost]

        def lose_first(lease: NodeLease, *arguments: Any) -> bool:
            if left[0]:
                left[0] -= 1
                lease.lose()
            return claim(lease, *arguments)

        monkeypatch.setattr(NodeLease, "claim", lose_first)
        if lost == 1:
            await store.create(record("a"), owned=True)
            assert database.run("select epoch from accord.sessions") == [(1,)]
            assert await store.append("a", words(1)) == 1
        else:
            assert await reason(lambda: store.create(record("a"), owned=True)) == "slow"
            assert database.run("select count(*) from accord.sessions") == [(0,)]


PROGRAMS = {
    "store": """
import asyncio, sys
from accord import PostgresStore, SessionRecord

async def main():
    store = PostgresStore(sys.argv[1], node="gone", lease_seconds=120.0)
    await store.create(SessionRecord("a", "/work", 1.0, 1.0), owned=True)

asyncio.run(main())
""",
    "agent": """
import sys
import accord

agent = accord.Agent("short", version="1", store=accord.PostgresStore(sys.argv[1], node="gone", lease_seconds=120.0))

@agent.prompt
async def reply(turn):
    await turn.say("hello")

agent.run()
""",
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_that_ends_without_closing_its_store_lets_go_of_its_name_and_its_sessions(
    database: Database, kind: str
) -> None:
    hello = {"protocolVersion": 1, "clientCapabilities": {}}
    texts = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}},
    ]
    with subprocess.Popen(
        # A connection that is left open would be warned of on stderr.
        [sys.executable, "-W", "default", "-c", PROGRAMS[kind], database.conninfo],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write("".join(json.dumps(text) + "\n" for text in texts))
        program.stdin.flush()
        # The answer first: behind the end of stdin what still runs has a second, and a busy machine needs more.
        for line in program.stdout:
            if '"id":2' in line:
                break
        _, stderr = program.communicate(timeout=limit(60.0))
    assert (program.returncode, stderr) == (0, "")
    assert database.run("select name, until <= clock_timestamp() from accord.nodes") == [("gone", True)]
    assert database.run("select count(*) from accord.sessions") == [(1,)]


async def test_the_number_of_a_claim_is_known_also_where_another_node_has_claimed_the_session_since(
    database: Database,
) -> None:
    async with opened(database, "one") as one, opened(database, "other") as other:
        await one.create(record("a"), owned=True)
        claim = await other.epoch_of("a", one.incarnation)
        await one.release("a")
        assert await other.epoch_of("a", one.incarnation) == claim
        assert await other.acquire("a")
        assert await other.epoch_of("a", one.incarnation) == claim
        assert await other.epoch_of("a", other.incarnation) == claim + 1


async def test_a_lock_that_is_missing_after_a_promotion_is_no_sign_of_death(database: Database) -> None:
    with proxied(database) as proxy:
        async with (
            opened(database.through(proxy.port), "one", lease_seconds=120.0) as store,
            opened(database, "other") as other,
        ):
            await store.create(record("a"), owned=True)
            await other.open()
            # Its connections are gone, and it does not come back: to another node it looks dead.
            proxy.refuses = True
            own = database.run("select lock from accord.nodes where name = 'one'")[0][0]
            assert database.cut(f"pid in (select pid from pg_locks where {lock_is(own)})") == 1  # noqa: S608
            timeline = database.run("select timeline from accord.nodes where name = 'one'")[0][0]
            # Unless it was last seen by the primary before this one.
            database.run("update accord.nodes set timeline = '0000004D' where name = 'one'")
            assert await reason(lambda: other.acquire("a")) == "in_use"
            database.run("update accord.nodes set timeline = %s where name = 'one'", [timeline])
            assert await other.acquire("a")
            # Its thread tries to renew the lease, for a third of it; the store is closed behind that.
            proxy.refuses = False


def lock_is(number: int) -> str:
    return f"locktype = 'advisory' and (classid::bigint << 32 | objid::bigint) = {number}"


def test_a_pooler_that_shares_servers_between_transactions_is_recognised(database: Database) -> None:
    address = DatabaseAddress(database.conninfo, 5.0)

    class Pooled(PostgresConnection):
        """As through a pooler: the server announced itself under another number."""

        announced_process = 0

    class TransactionPool(DatabaseAddress):
        """Every client gets the same server."""

        def connect(self, seconds: float = 5.0) -> PostgresConnection:  # noqa: ARG002
            return Shared(connected)

    class Shared(Pooled):
        def close(self) -> None:
            """The server stays."""

    connected = address.connect()._connected
    own, other = address.connect(), Pooled(address.connect()._connected)
    try:
        address.require_own_process(own)
        address.require_own_process(other)  # a pool in session mode
        with pytest.raises(StoreError, match="direct=") as caught:
            TransactionPool(database.conninfo, 5.0).require_own_process(Shared(connected))
        assert caught.value.reason == "pooled"
    finally:
        connected.close()
        own.close()
        other.close()
