"""Sessions without a prompt: listed while a process has them open, kept for a while, then pruned."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from accord.session.content import Text
from accord.session.event import ConfigChanged, Event, MessageChanged, MessageChunk
from accord.stores import MemoryStore, SessionRecord, SqliteStore, Store
from accord.stores.schema import SCHEMA_VERSION
from accord.stores.text import encode_event, has_prompt, is_prompt
from tests.stores.test_two_processes import Holder
from tests.tables import rows

PROMPT = MessageChanged("user", "m1", [Text("go")])


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "sessions.db")
    yield store
    asyncio.run(store.close())


def record(session_id: str, at: float = 1.0) -> SessionRecord:
    return SessionRecord(session_id, "/work", at, at)


async def listed(store: Store, *, unprompted: bool = False, limit: int = 50) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list_sessions(cursor=cursor, limit=limit, unprompted=unprompted)
        found += [each.id for each in page.records]
        cursor = page.next_cursor
        if cursor is None:
            return found


@rows(
    "event",
    [
        PROMPT,
        MessageChunk("user", Text("go")),
        MessageChunk("user", Text("half \ud83d"), "m1", {"null": None}),
    ],
)
def test_a_prompt_is_known_by_its_text(event: Event) -> None:
    text = encode_event(event)
    assert is_prompt(text)
    other = encode_event(ConfigChanged([]))
    assert all(map(has_prompt, (text, b"\n".join([text, other]), b"\n".join([other, text]))))


@rows(
    "event",
    [
        MessageChunk("agent", Text('{"event":"message","speaker":"user"')),
        MessageChunk("thought", Text("hm")),
        ConfigChanged([]),
    ],
)
def test_nothing_else_counts_as_a_prompt(event: Event) -> None:
    text = encode_event(event)
    assert not is_prompt(text)
    assert not has_prompt(b"\n".join([text, text]))
    assert not has_prompt(b"")


async def test_a_session_that_nobody_prompted_is_listed_only_while_it_is_open(store: Store) -> None:
    await store.create(record("open", 3.0), owned=True)
    await store.create(record("left", 2.0))
    await store.create(record("prompted", 1.0))
    await store.append("left", [ConfigChanged([])])
    await store.append("prompted", [ConfigChanged([]), PROMPT])
    assert await listed(store) == ["open", "prompted"]
    assert await listed(store, unprompted=True) == ["open", "left", "prompted"]
    await store.release("open")
    assert await listed(store) == ["prompted"]


async def test_one_that_is_left_out_can_still_be_opened_and_prompted(store: Store) -> None:
    await store.create(record("left"))
    assert await listed(store) == []
    assert await store.acquire("left")
    assert await listed(store) == ["left"]
    await store.append("left", [PROMPT])
    await store.release("left")
    assert await listed(store) == ["left"]


async def test_a_copy_is_prompted_where_its_source_is(store: Store) -> None:
    await store.create(record("source", 4.0))
    await store.fork("source", record("empty", 3.0))
    await store.append("source", [PROMPT])
    await store.fork("source", record("copy", 2.0))
    assert await listed(store) == ["source", "copy"]


async def test_pages_are_whole_also_where_many_are_left_out(store: Store) -> None:
    for number in range(30):
        await store.create(record(f"s{number:02}", float(number)))
        if number % 7 == 0:
            await store.append(f"s{number:02}", [PROMPT])
    expected = ["s28", "s21", "s14", "s07", "s00"]
    for limit in (1, 2, 5, 50):
        assert await listed(store, limit=limit) == expected
    page = await store.list_sessions(limit=2, unprompted=False)
    assert [each.id for each in page.records] == expected[:2]


async def test_only_what_nobody_prompted_and_nobody_has_open_is_pruned(store: Store) -> None:
    await store.create(record("open"), owned=True)
    await store.create(record("left"))
    await store.create(record("young", 9.0))
    await store.create(record("prompted"))
    await store.append("prompted", [PROMPT])
    assert await store.prune_unprompted(5.0) == ["left"]
    assert await store.prune_unprompted(5.0) == []
    assert await listed(store, unprompted=True) == ["young", "prompted", "open"]
    await store.release("open")
    assert await store.prune_unprompted(5.0) == ["open"]


async def test_a_session_that_another_process_has_open_is_listed_and_not_pruned(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    holder = Holder(path)
    assert holder.do("create theirs owned") == "None"
    store = SqliteStore(path)
    assert await listed(store) == ["theirs"]
    assert await store.prune_unprompted(5.0) == []
    holder.die()
    holder.end()
    assert await listed(store) == []
    assert await store.prune_unprompted(5.0) == ["theirs"]
    await store.close()


async def test_of_what_an_earlier_version_kept_only_an_empty_log_counts_as_unprompted(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    shutil.copyfile(Path(__file__).with_name("fixtures") / "sessions-2.sqlite", path)
    store = SqliteStore(path)
    assert await listed(store) == ["talk", "cut"]
    assert await listed(store, unprompted=True) == ["talk", "\ud800", "cut"]
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
