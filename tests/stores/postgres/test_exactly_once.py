"""A connection that is lost around a commit: every event is in the log once, and its position is right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import psycopg
import pytest

from accord.errors import StoreError
from tests.limits import limit
from tests.postgres import Database
from tests.stores.postgres.proxy import proxied
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words

# The name of the prepared statement, which is in each request.
APPEND = b"accord_append"


@pytest.mark.parametrize("lost", ["answer", "request"])
@pytest.mark.parametrize("owned", ["owned", ""])
async def test_an_append_whose_answer_or_request_is_lost_is_kept_once(
    database: Database, lost: str, owned: str
) -> None:
    with proxied(database) as proxy:
        async with opened(database.through(proxy.port)) as store:
            for name in ("a", "b"):
                await store.create(record(name), owned=bool(owned))
            await store.append("a", words(2))
            if lost == "answer":
                proxy.lose_answer_to = APPEND
            else:
                proxy.lose_request = APPEND
            tickets = [
                store.queue("a", words(3, start=2)),
                store.queue("b", words(5)),
                store.queue("a", words(1, start=5)),
            ]
            await store.commit("a", tickets[-1])
            assert proxy.losses == 1
            assert await store.append("a", words(1, start=6)) == 7
            assert await store.append("b", words(1, start=5)) == 6
            assert await store.read("a") == words(7)
            assert await store.read("b") == words(6)


async def test_an_append_that_is_under_way_when_it_is_tried_again_is_kept_once(database: Database) -> None:
    with proxied(database) as proxy:
        async with opened(database.through(proxy.port)) as store:
            await store.create(record("a"), owned=True)
            with psycopg.connect(database.conninfo) as other:
                other.execute("select from accord.sessions for update")
                appending = asyncio.create_task(store.append("a", words(3)))
                await waits_for_a_lock(database, 1)
                # The server goes on with it, and the store knows nothing of that.
                proxy.cut()
                await waits_for_a_lock(database, 2)
                other.rollback()
            assert await appending == 3
            assert await store.read("a") == words(3)


async def waits_for_a_lock(database: Database, count: int) -> None:
    sql = (
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' "
        "and query like '%%accord%%'"
    )
    deadline = time.monotonic() + limit(20.0)
    while database.run(sql)[0][0] < count:
        assert time.monotonic() < deadline, "nobody waits"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["create", "fork", "patch", "delete", "acquire", "release"])
async def test_any_other_call_whose_answer_is_lost_takes_effect_once(database: Database, kind: str) -> None:
    with proxied(database) as proxy:
        async with opened(database.through(proxy.port)) as store:
            await store.create(record("a"), owned=kind == "release")
            await store.append("a", words(2))
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                "create": lambda: store.create(record("b"), owned=True),
                "fork": lambda: store.fork("a", record("b"), owned=True),
                "patch": lambda: store.patch("a", title="new", state=b"new"),
                "delete": lambda: store.delete("a"),
                "acquire": lambda: store.acquire("a"),
                "release": lambda: store.release("a"),
            }
            if kind in {"create", "fork", "acquire"}:
                await store.set_draining()  # the lease is there before
            proxy.lose_answer_to = b"owner" if kind == "release" else b"COMMIT"
            assert await calls[kind]() in (None, True)
            assert proxy.losses == 1
            if kind in {"create", "fork"}:
                assert await store.append("b", words(1, start=2)) == (3 if kind == "fork" else 1)
                with pytest.raises(StoreError) as caught:
                    await store.create(record("b"))
                assert caught.value.reason == "session_exists"
            elif kind == "patch":
                found = await store.get("a")
                assert found is not None
                assert (found.title, await store.state("a")) == ("new", b"new")
            elif kind == "delete":
                assert not await store.exists("a")
            else:
                await store.release("a")
                assert await store.owner_of("a") is None
                assert await store.append("a", words(1, start=2)) == 3


async def test_an_append_that_cannot_be_repeated_is_reported_and_the_log_goes_on(database: Database) -> None:
    with proxied(database) as proxy:
        async with opened(database.through(proxy.port), patience_seconds=0.5) as store:
            await store.create(record("a"))
            await store.append("a", words(1))
            proxy.refuses = True
            proxy.lose_request = APPEND
            with pytest.raises(StoreError) as caught:
                await store.append("a", words(1, start=9))
            assert caught.value.reason == "away"
            # An outage that lasts fails every call at once, with its cause.
            before = time.monotonic()
            with pytest.raises(StoreError) as caught:
                await store.append("a", words(1, start=9))
            assert caught.value.reason == "away"
            assert time.monotonic() - before < limit(2.0)
            proxy.refuses = False
            assert await store.append("a", words(1, start=1)) == 2
            assert await store.read("a") == words(2)


async def test_connections_that_are_cut_at_any_moment_lose_and_double_nothing(database: Database) -> None:
    with proxied(database) as proxy:
        async with opened(database.through(proxy.port), lease_seconds=60.0) as store:
            names = [f"s{number}" for number in range(5)]
            for name in names:
                await store.create(record(name), owned=True)
            positions: dict[str, list[int]] = {name: [] for name in names}
            stop = asyncio.Event()

            async def write(name: str) -> None:
                while not stop.is_set() or len(positions[name]) < 20:
                    number = len(positions[name])
                    positions[name].append(await store.append(name, words(1, start=number)))

            async def cut() -> None:
                for _ in range(15):
                    await asyncio.sleep(0.1)
                    proxy.cut()
                stop.set()

            await asyncio.gather(cut(), *map(write, names))
            for name in names:
                count = len(positions[name])
                assert positions[name] == list(range(1, count + 1))
                assert await store.read(name) == words(count)
