"""Lists, search, retention and copies of sessions in PostgreSQL."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import psycopg
import pytest

from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import Event, MessageChanged, MessageChunk
from accord.stores import MemoryStore, PostgresStore, SessionRecord, SqliteStore, Store, copy_sessions
from accord.stores.interface import DRAFT
from accord.stores.postgres.encoding import escaped, unescaped
from tests.limits import limit
from tests.postgres import Database
from tests.stores.fixtures.fill import EXPECTED
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words
from tests.stores.test_processes import share, survive
from tests.tables import rows


def test_what_was_committed_survives_four_kills(database: Database) -> None:
    survive(database.conninfo, rounds=4, seed=random.randrange(10**6))


@pytest.mark.every
@pytest.mark.timeout(600)
def test_what_was_committed_survives_a_hundred_kills(database: Database) -> None:
    survive(database.conninfo, rounds=100, seed=random.randrange(10**6))


def test_processes_that_share_a_new_database_never_collide(database: Database) -> None:
    share(database.conninfo, 25)


@rows("text", ["", "a", "\\", "\\\\u0000", "a\x00b", "\ud800 \udfff", "C:\\users\\ü", "\\\x00\\"])
def test_every_text_has_a_form_of_its_own(text: str) -> None:
    assert unescaped(escaped(text)) == text
    escaped(text).encode()
    assert "\x00" not in escaped(text)


def owned_by(name: str, principal: str, time: float = 1.0) -> SessionRecord:
    return SessionRecord(name, "/work", time, time, principal=principal)


async def found(store: PostgresStore, text: str, principal: str | None = None) -> list[str]:
    return [one.id for one in (await store.search_sessions(text, principal=principal)).records]


async def test_sessions_are_found_by_title_and_messages_of_their_principal(database: Database) -> None:
    async with opened(database) as store:
        for number, principal in enumerate(("ada", "ada", "bob")):
            await store.create(owned_by(f"s{number}", principal, float(number)))
        await store.patch("s0", title="The Flying Circus")
        # A word that is cut between two chunks, and two commits.
        await store.append("s1", [MessageChanged("user", "m1", [Text("What flies?")])])
        await store.append("s1", [MessageChunk("agent", Text("A penguin has a hel"))])
        await store.append("s1", [MessageChunk("agent", Text("icopter, ça va"))])
        await store.append("s2", [MessageChunk("agent", Text("the helicopter of Bob"))])
        assert await found(store, "helicopter") == ["s2", "s1"]
        assert await found(store, "helicopter", "ada") == ["s1"]
        assert await found(store, "circus") == ["s0"]
        assert await found(store, "flies penguin") == ["s1"]
        assert await found(store, '"helicopter of" -penguin') == ["s2"]
        assert await found(store, "hel") == []
        assert await found(store, "") == []
        assert await found(store, "' ; drop \x00 \ud800 table") == []
        # What follows a search is found by the next, also when it ends a word.
        await store.append("s1", [MessageChunk("agent", Text("ter"))])
        assert await found(store, "vater") == ["s1"]
        page = await store.search_sessions("helicopter", limit=1)
        assert [one.id for one in page.records] == ["s2"]
        page = await store.search_sessions("helicopter", limit=1, cursor=page.next_cursor)
        assert ([one.id for one in page.records], page.next_cursor) == (["s1"], None)
        await store.delete("s2")
        assert await found(store, "bob") == []


async def test_a_long_log_is_indexed_in_parts(database: Database) -> None:
    async with opened(database) as store:
        await store.create(record("a"))
        for start in range(0, 4000, 500):
            events: list[Event] = [MessageChunk("agent", Text(f" word{start + n} {'x' * 60}")) for n in range(500)]
            await store.append("a", events)
        assert await found(store, "word0") == await found(store, "word3999") == ["a"]
        assert database.run("select count(*) > 1, max(last) from accord.words") == [(True, 4000)]


async def test_old_sessions_go_and_owned_ones_stay(database: Database) -> None:
    async with opened(database, "one") as store, opened(database, "other") as other:
        for name, time in (("old", 1.0), ("open", 1.0), ("new", 9.0)):
            await store.create(record(name, time))
            await store.append(name, [MessageChunk("user", Text("go"))])
            await store.patch(name, state=b"x")
        await store.acquire("open")
        assert await found(other, "go") == ["new", "open", "old"]
        assert await other.prune_older(5.0) == ["old"]
        assert await other.prune_older(5.0) == []
        tables = ("sessions", "events", "states", "words")
        for table in tables:
            assert database.run(f"select count(*) from accord.{table}") == [(2,)], table  # noqa: S608
        await store.release("open")
        assert await other.prune_older(5.0) == ["open"]


async def test_a_log_that_another_program_has_changed_is_reported(database: Database) -> None:
    async with opened(database) as store:
        await store.create(record("a"))
        for number in range(3):
            await store.append("a", words(1, start=number))
        database.run("delete from accord.events where last = 2")
        for call in (store.read("a"), store.read_page("a", 1)):
            with pytest.raises(StoreError) as caught:
                await call
            assert caught.value.reason == "damaged"


async def fill(store: Store) -> None:
    for session_id, (kept, events, state) in EXPECTED.items():
        await store.create(
            SessionRecord(session_id, kept.cwd, kept.created_at, kept.updated_at, kept.title, kept.roots, 0, "ada")
        )
        await store.append(session_id, events)
        await store.patch(session_id, state=state)


async def check_filled(store: Store, principal: str) -> None:
    listed = (await store.list_sessions(principal=principal)).records
    assert [one.id for one in listed] == ["talk", "\ud800", "cut"]
    for session_id, (kept, events, state) in EXPECTED.items():
        one = await store.get(session_id)
        assert one is not None
        assert (one.cwd, one.title, one.roots, one.events) == (kept.cwd, kept.title, kept.roots, len(events))
        assert (one.created_at, one.updated_at) == (kept.created_at, kept.updated_at)
        assert await store.read(session_id) == events
        assert await store.state(session_id) == state
        assert await store.acquire(session_id)


@pytest.mark.parametrize("way", ["to postgres", "from postgres"])
async def test_sessions_are_copied_from_sqlite_and_back(database: Database, tmp_path: Path, way: str) -> None:
    file = SqliteStore(tmp_path / "sessions.db")
    async with opened(database) as store:
        source, target = (file, store) if way == "to postgres" else (store, file)
        await fill(source)
        seen: list[tuple[int, str]] = []
        copied = await copy_sessions(
            source, target, principal="ada", target_principal="eve", progress=lambda *one: seen.append(one)
        )
        assert (copied, seen) == (3, [(1, "talk"), (2, "\ud800"), (3, "cut")])
        # What is there already is left alone.
        assert await copy_sessions(source, target) == 0
        await check_filled(target, "eve")
    await file.close()


async def test_a_copy_that_breaks_off_leaves_nothing_half(database: Database) -> None:
    class Breaking(MemoryStore):
        async def state(self, session_id: str) -> bytes | None:
            raise StoreError(f"broken: {session_id}")

    source = Breaking()
    await source.create(record("a"))
    await source.append("a", words(3))
    async with opened(database) as store:
        with pytest.raises(StoreError, match="broken"):
            await copy_sessions(source, store)
        assert not await store.exists("a")


async def test_of_two_that_make_one_id_at_the_same_moment_the_second_finds_the_first(database: Database) -> None:
    async with opened(database) as store:
        await store.create(record(f"{DRAFT}a"), owned=True)
        with psycopg.connect(database.conninfo) as other:
            columns = "id, principal, cwd, roots, created_at, updated_at, made_by"
            values = "'a', '', '', '[]', 1, 1, gen_random_uuid()"
            other.execute(f"insert into accord.sessions ({columns}) values ({values})".encode())  # noqa: S608
            publishing = asyncio.create_task(store.publish(f"{DRAFT}a", "a"))
            # It has seen no session of the id, and waits for the end of the other transaction.
            waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            async with asyncio.timeout(limit(20.0)):
                while not await asyncio.to_thread(database.run, waiting):
                    assert not publishing.done()
        with pytest.raises(StoreError) as caught:
            await publishing
        assert caught.value.reason == "session_exists"
        await store.append(f"{DRAFT}a", words(1))
