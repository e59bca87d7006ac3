"""One row that cannot be read, or whose time no date can express: every list goes on, and names what it leaves out."""

from __future__ import annotations

import contextlib
import logging
import math
import sqlite3
from pathlib import Path

import pytest

from accord.errors import StoreError
from accord.stores import MemoryStore, SessionRecord, SqliteStore, Store, copy_sessions
from accord.stores.interface import clamped_time, date_of
from tests.agent.rig import agent_of, served
from tests.postgres import Database
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record, words
from tests.tables import rows

LAST = "9999-12-31T23:59:59"
NAMES = ["a", "b", "c", "d", "e"]
DAMAGES = {
    "roots that are not JSON": "roots = '['",
    "roots that are nested": f"roots = '{'[' * 100_000}'",
    "roots of another type": "roots = '[7]'",
    "roots that are a number": "roots = 7",
    "a path of another type": "cwd = 7.5",
    "a path of wrong bytes": "cwd = x'ff'",
    "a title of another type": "title = 7",
    "a time that is a text": "updated_at = 'yesterday'",
    "a time that is bytes": "created_at = x'00'",
    "a length that is a text": "events = 'many'",
    "a principal of another type": "principal = 7",
    "an id of another type": "id = 7",
    "an id of wrong bytes": "id = x'ff'",
}
STRANGE = {
    "a time behind the last date": "updated_at = 1e18",
    "a time before the first date": "updated_at = -1e18",
    "no finite time": "updated_at = 9e999, created_at = -9e999",
    "a title that is not UTF-8": "title = cast(x'ff' as text)",
    "a title with half a character": "title = cast(x'eda080' as text)",
    "an owner of another type": "owner = x'00'",
}


async def filled(store: Store) -> None:
    for time, name in enumerate(NAMES, 1):
        await store.create(record(name, float(time)))
        await store.append(name, words(1))


def change(path: Path, sql: str) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(f"UPDATE sessions SET {sql} WHERE id = 'c'")  # noqa: S608
    database.close()


async def listed(store: Store, limit: int) -> tuple[list[str], set[str]]:
    """The ids of every page, and those that were left out."""
    ids: list[str] = []
    left_out: set[str] = set()
    cursor = None
    while True:
        page = await store.list_sessions(cursor=cursor, limit=limit)
        ids += [each.id for each in page.records]
        left_out |= set(page.left_out)
        for each in page.records:
            assert clamped_time(each.updated_at) == each.updated_at
        cursor = page.next_cursor
        if cursor is None:
            return ids, left_out


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_row_that_cannot_be_read_is_left_out_and_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    await filled(store)
    change(path, DAMAGES[damage])
    name = {"an id of another type": "7", "an id of wrong bytes": "b'\\xff'"}.get(damage, "c")
    for limit in (1, 2, 50):
        assert await listed(store, limit) == (["e", "d", "b", "a"], {name})
    await store.close()


@pytest.mark.parametrize("damage", STRANGE)
async def test_a_row_with_a_strange_value_is_listed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    await filled(store)
    change(path, STRANGE[damage])
    for limit in (1, 2, 50):
        ids, left_out = await listed(store, limit)
        assert (sorted(ids), left_out) == (NAMES, set())
    await store.close()


async def test_the_record_of_a_damaged_row_is_refused_as_unreadable(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    await filled(store)
    change(tmp_path / "sessions.db", "roots = '['")
    with pytest.raises(StoreError) as caught:
        await store.get("c")
    assert (caught.value.reason, caught.value.session_id) == ("unreadable", "c")
    await store.close()


async def test_a_row_with_a_wrong_id_stops_no_pruning(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    for name in ("c", "d"):
        await store.create(record(name))
    change(tmp_path / "sessions.db", "id = 7")
    assert await store.prune_unprompted(5.0) == ["d"]
    await store.close()


@pytest.mark.parametrize("limit", [1, 2, 50])
async def test_a_database_lists_all_but_the_damaged_row(database: Database, limit: int) -> None:
    async with opened(database) as store:
        await filled(store)
        database.run("update accord.sessions set roots = '[' where id = 'c'")
        database.run("update accord.sessions set updated_at = 1e18 where id = 'b'")
        database.run("update accord.sessions set updated_at = 'nan' where id = 'd'")
        database.run("update accord.sessions set updated_at = 'infinity' where id = 'a'")
        ids, left_out = await listed(store, limit)
        assert (sorted(ids), left_out) == (["a", "b", "d", "e"], {"c"})
        with pytest.raises(StoreError) as caught:
            await store.get("c")
        assert caught.value.reason == "unreadable"


TIMES = [1e300, -1e300, math.inf, -math.inf, math.nan, 10**400, 253_402_300_800.0, 1.5e12]


@rows("time", TIMES)
def test_every_time_has_a_date(time: float) -> None:
    assert 1 <= date_of(time).year <= 9999
    assert SessionRecord("a", "/", time, time).updated_at == clamped_time(time)


async def test_times_behind_the_last_date_are_listed_once(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    await filled(store)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("UPDATE sessions SET updated_at = updated_at * 1e18")
    database.close()
    assert await listed(store, 2) == (NAMES[::-1], set())
    await store.close()


async def test_a_time_is_checked_where_it_enters_a_store(tmp_path: Path) -> None:
    for store in (SqliteStore(tmp_path / "sessions.db"), MemoryStore()):
        await store.create(record("made", math.nan))
        await store.create(record("patched"))
        await store.patch("patched", updated_at=1e18)
        times = {each.id: each.updated_at for each in (await store.list_sessions()).records}
        assert times == {"made": 0.0, "patched": clamped_time(1e18)}
        await store.close()


async def test_an_agent_lists_its_sessions_beside_a_damaged_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    for name in ("b", "c", "d"):
        await store.create(record(name), owned=True)
    change(path, "roots = '['")
    await store.patch("d", updated_at=1e18)
    async with served(agent_of(lambda turn: turn.say("x"), store=store), "v1") as hand:
        with caplog.at_level(logging.WARNING, "accord.agent"):
            answer = (await hand.request("session/list", {}))["result"]["sessions"]
    assert {each["sessionId"]: each["updatedAt"][:19] for each in answer} == {"d": LAST, "b": "1970-01-01T00:00:01"}
    assert [each.args for each in caplog.records if each.name == "accord.agent"] == [("'c'",)]
    await store.close()


# --- copies


@pytest.mark.parametrize(
    "damage",
    ["UPDATE sessions SET roots = '[' WHERE id = 'c'", "UPDATE events SET texts = x'00'", "DELETE FROM events"],
)
async def test_one_damaged_session_ends_no_copy_of_the_others_and_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "sessions.db"
    source, target = SqliteStore(path), MemoryStore()
    await filled(source)
    await source.close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        number = "(SELECT number FROM sessions WHERE id = 'c')"
        database.execute(damage if "WHERE" in damage else f"{damage} WHERE session = {number}")
    source = SqliteStore(path)
    with pytest.raises(StoreError) as caught:
        await copy_sessions(source, target)
    assert caught.value.reason in {"unreadable", "damaged"}
    assert caught.value.session_id == "c"
    assert {each.id for each in (await target.list_sessions()).records} == {*NAMES} - {"c"}
    await source.close()
