"""A standby that becomes the primary: no acknowledged commit is lost, none is there twice, owners stay owners."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

from accord.errors import StoreError
from tests.limits import limit
from tests.postgres import OwnServer, PostgresServer, debian_programs, own_server
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words
from tests.stores.test_two_processes import Holder

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        debian_programs() is None, reason="a standby needs Debian's PostgreSQL: apt-get install postgresql"
    ),
]


@pytest.fixture
def pair() -> Iterator[tuple[OwnServer, OwnServer]]:
    """A primary that acknowledges what its standby has written, and the standby."""
    with own_server() as primary, own_server(primary) as standby:
        primary.run("create database accord")
        # Not in the copy: the standby waits for nobody when it is the primary.
        primary.run("alter system set synchronous_standby_names = '*'")
        primary.run("select pg_reload_conf()")
        deadline = time.monotonic() + limit(30.0)
        while primary.run("select sync_state from pg_stat_replication") != [("sync",)]:
            assert time.monotonic() < deadline, "the standby does not follow"
        # What it has written is replayed a moment later.
        while not standby.run("select 1 from pg_database where datname = 'accord'"):
            assert time.monotonic() < deadline, "the standby does not replay"
        yield primary, standby


def conninfo_of(pair: tuple[OwnServer, OwnServer]) -> str:
    hosts = ",".join(str(server.folder) for server in pair)
    return make_conninfo(host=hosts, user="postgres", dbname="accord", target_session_attrs="read-write")


async def test_what_was_acknowledged_is_in_the_log_of_the_promoted_primary_once(
    pair: tuple[OwnServer, OwnServer],
) -> None:
    primary, standby = pair
    names = [f"s{number}" for number in range(8)]
    acknowledged = dict.fromkeys(names, 0)
    stop = asyncio.Event()
    async with opened(conninfo_of(pair), "one", lease_seconds=120.0, patience_seconds=limit(60.0)) as store:
        for name in names:
            await store.create(record(name), owned=True)
        incarnation = store.incarnation

        async def write(name: str) -> None:
            while not stop.is_set():
                number = acknowledged[name]
                assert await store.append(name, words(2, start=number)) == number + 2
                acknowledged[name] = number + 2

        async def grown(by: int) -> None:
            before = dict(acknowledged)
            async with asyncio.timeout(limit(60.0)):
                while any(acknowledged[name] < before[name] + by for name in names):
                    await asyncio.sleep(0.01)

        writing = [asyncio.create_task(write(name)) for name in names]
        await grown(20)
        # Killed in the middle of commits. For a while no server takes writes.
        await asyncio.to_thread(primary.stop, "immediate")
        at_switch = dict(acknowledged)
        began = time.monotonic()
        await asyncio.to_thread(standby.promote)
        await grown(20)
        seconds = time.monotonic() - began
        stop.set()
        await asyncio.gather(*writing)
        # Nobody came for them, and they were never lost: the lease went on at the other server.
        assert store.incarnation == incarnation
        for name in names:
            assert await store.read(name) == words(acknowledged[name])
    rows = make_conninfo(standby.conninfo, dbname="accord")
    assert standby.run("select not pg_is_in_recovery()") == [(True,)]
    async with opened(rows) as store:
        for name in names:
            assert acknowledged[name] > at_switch[name]
            assert await store.read(name) == words(acknowledged[name])
    total = sum(acknowledged.values())
    print(f"{total} events, written again {seconds:.1f} s after the promotion began")  # noqa: T201


async def test_a_node_that_has_not_come_back_after_a_promotion_keeps_its_sessions(
    pair: tuple[OwnServer, OwnServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = pair
    # A lease that no one waits for here.
    monkeypatch.setenv("ACCORD_TEST_LEASE", "120")
    place = conninfo_of(pair)
    one, other = Holder(place, "one"), Holder(place, "other")
    try:
        assert one.do("create a owned") == "None"
        assert one.do("append a first") == "1"
        assert other.do("create b owned") == "None"
        # It is alive and slow: its lock is missing at the new primary, which is no sign of its death there.
        os.kill(one.child.pid, signal.SIGSTOP)
        await asyncio.to_thread(primary.stop, "immediate")
        await asyncio.to_thread(standby.promote)
        assert other.do("append b first") == "1"
        assert other.do("acquire a") == "in_use"
        os.kill(one.child.pid, signal.SIGCONT)
        assert one.do("append a second") == "2"
        # It has renewed its lease there by now or does so soon; killed, it is gone at once.
        sql = "select count(distinct timeline) from accord.nodes where until > clock_timestamp()"
        inside = PostgresServer(make_conninfo(standby.conninfo, dbname="accord"))
        deadline = time.monotonic() + limit(90.0)
        while inside.run(sql) != [(1,)]:
            assert time.monotonic() < deadline, "the lease is not renewed at the new primary"
            await asyncio.sleep(0.1)
        one.die()
        assert other.do_behind_the_dead("acquire a") == "True"
        assert other.do("append a third") == "3"
    finally:
        for holder in (one, other):
            holder.child.kill()
            holder.end()


async def test_without_a_primary_the_error_says_so(pair: tuple[OwnServer, OwnServer]) -> None:
    primary, _ = pair
    async with opened(conninfo_of(pair), patience_seconds=0.5) as store:
        await store.create(record("a"))
        await asyncio.to_thread(primary.stop, "immediate")
        with pytest.raises(StoreError) as caught:
            await store.append("a", words(1))
        assert caught.value.reason in {"read_only", "away"}
        with contextlib.suppress(StoreError):
            await store.flush()
