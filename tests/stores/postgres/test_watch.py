"""Watchers on another node: from the cursor, then live, in order, none twice and none missing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from accord.errors import StoreError
from accord.session.event import Event
from accord.stores import MemoryStore, PostgresStore, SqliteStore
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.proxy import proxied
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words
from tests.tables import rows

Watch = AsyncIterator[list[tuple[int, Event]]]


async def collect(watch: Watch, count: int) -> list[tuple[int, Event]]:
    found: list[tuple[int, Event]] = []
    async with asyncio.timeout(limit(30.0)):
        while len(found) < count:
            found += await anext(watch)
    return found


def numbered(count: int, start: int = 0) -> list[tuple[int, Event]]:
    return list(enumerate(words(count, start=start), start + 1))


async def test_a_watcher_gets_the_log_and_then_every_commit_of_another_node(database: Database) -> None:
    async with opened(database, "one") as store, opened(database, "two") as other:
        await store.create(record("a"), owned=True)
        await store.append("a", words(700))
        watch, late = other.watch("a"), other.watch("a", after=650)
        assert await collect(watch, 700) == numbered(700)
        assert await collect(late, 50) == numbered(50, start=650)
        delays = []
        for number in range(20):
            pending = asyncio.ensure_future(anext(watch))
            await asyncio.sleep(0)
            before = time.monotonic()
            await store.append("a", words(1, start=700 + number))
            async with asyncio.timeout(limit(10.0)):
                assert await pending == numbered(1, start=700 + number)
            delays.append(time.monotonic() - before)
        # Far below the second after which a poll would have found each.
        assert sorted(delays)[10] < limit(0.5), delays
        assert await collect(late, 20) == numbered(20, start=700)
        await watch.aclose()  # type: ignore[attr-defined]
        await late.aclose()  # type: ignore[attr-defined]


async def test_what_is_written_while_a_watcher_comes_is_neither_lost_nor_doubled(database: Database) -> None:
    async with opened(database, "one") as store, opened(database, "two") as other:
        await store.create(record("a"), owned=True)

        async def write() -> None:
            for number in range(150):
                await store.append("a", words(1, start=number))

        writing = asyncio.create_task(write())
        found = await asyncio.gather(*(collect(other.watch("a"), 150) for _ in range(5)))
        await writing
        assert found == [numbered(150)] * 5


async def waits(store: PostgresStore) -> None:
    """Return when the only watcher of a store has read everything, and waits."""
    async with asyncio.timeout(limit(20.0)):
        while True:
            assert store._listener is not None
            found = [each for group in store._listener._subscriptions.values() for each in group]
            if any(each._woken._waiters for each in found):
                return
            await asyncio.sleep(0.01)


async def test_a_lost_notification_is_found_within_seconds(database: Database) -> None:
    async with opened(database, "one") as store, opened(database, "two") as other:
        await store.create(record("a"), owned=True)
        watch = other.watch("a")
        await store.append("a", words(1))
        assert await collect(watch, 1) == numbered(1)
        pending = asyncio.ensure_future(anext(watch))
        await waits(other)
        # Written without a word, as if the notification had been lost.
        database.run(
            "with n as (update accord.sessions set head = 2 returning number) insert into accord.events "
            "select n.number, 2, 1, 1, append_id, %s from n join accord.events e on e.session = n.number",
            [b'{"event":"message_chunk","speaker":"agent","block":{"type":"text","text":"word 1"}}'],
        )
        async with asyncio.timeout(limit(10.0)):
            assert await pending == numbered(1, start=1)


async def test_a_watcher_outlives_cut_connections_and_an_outage(database: Database) -> None:
    with proxied(database) as proxy:
        async with (
            opened(database, "one") as store,
            opened(database.through(proxy.port), patience_seconds=0.3) as other,
        ):
            await store.create(record("a"), owned=True)
            watch = other.watch("a")
            for number in range(6):
                await store.append("a", words(1, start=number))
                assert await collect(watch, 1) == numbered(1, start=number)
                if number == 2:
                    proxy.refuses = True
                    asyncio.get_running_loop().call_later(1.5, setattr, proxy, "refuses", 0)
                proxy.cut()


async def test_a_watcher_of_a_deleted_session_is_told(database: Database) -> None:
    async with opened(database, "one") as store, opened(database, "two") as other:
        await store.create(record("a"))
        watch = other.watch("a")
        await store.append("a", words(1))
        assert await collect(watch, 1) == numbered(1)
        await store.delete("a")
        for waiting in (watch, other.watch("never")):
            with pytest.raises(StoreError) as caught:
                async with asyncio.timeout(limit(10.0)):
                    await anext(waiting)
            assert caught.value.reason == "unknown_session"


async def test_a_watcher_ends_with_its_store(database: Database) -> None:
    async with opened(database) as store:
        await store.create(record("a"))
        waiting = asyncio.ensure_future(anext(store.watch("a")))
        await store.append("a", [])
        await store.close()
        with pytest.raises(StoreError) as caught:
            async with asyncio.timeout(limit(10.0)):
                await waiting
        assert caught.value.reason == "closed"


@rows("kind", ["memory", "sqlite"])
async def test_the_stores_of_one_machine_are_watched_too(kind: str, tmp_path: object) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(f"{tmp_path}/sessions.db")
    await store.create(record("a"))
    await store.append("a", words(3))
    watch = store.watch("a", after=1)
    assert await collect(watch, 2) == numbered(2, start=1)
    pending = asyncio.ensure_future(anext(watch))
    await store.append("a", words(1, start=3))
    async with asyncio.timeout(limit(10.0)):
        assert await pending == numbered(1, start=3)
    await store.close()


def test_a_store_shows_no_password() -> None:
    assert "secret" not in repr(PostgresStore("postgresql://user:secret@host/name", node="one"))
