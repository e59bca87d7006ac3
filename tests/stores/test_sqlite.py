"""The store in a file: what is committed together, what is lost together, and a loop that never stands still."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import MessageChunk
from accord.stores import SqliteStore, Store, check_store
from accord.stores.sqlite import CHECKPOINT_BYTES
from tests.limits import limit
from tests.stores.sessions import record, words

PATIENCE_SECONDS = limit(20.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


async def made(path: Path, *names: str) -> SqliteStore:
    store = SqliteStore(path)
    for name in names or ("a",):
        await store.create(record(name))
    return store


@contextlib.contextmanager
def held(store: SqliteStore) -> Iterator[None]:
    """The writing thread stands still inside, so that what comes meanwhile waits together."""
    gate = threading.Event()
    standing = threading.Event()

    def stand() -> None:
        standing.set()
        gate.wait(PATIENCE_SECONDS)

    store._writer.submit(stand)
    standing.wait(PATIENCE_SECONDS)
    try:
        yield
    finally:
        gate.set()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another connection writes inside, and does not finish."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def on_writer(store: SqliteStore, sql: str) -> None:
    """Say something to the connection that writes."""

    def say() -> None:
        assert store._writing is not None
        store._writing._connection.execute(sql)

    await asyncio.wrap_future(store._writer.submit(say))


async def transactions(store: SqliteStore) -> list[str]:
    """From now on, every commit on the writing connection."""
    seen: list[str] = []

    def watch(sql: str) -> None:
        if sql == "COMMIT":
            seen.append(sql)

    def start() -> None:
        assert store._writing is not None
        store._writing._connection.set_trace_callback(watch)

    await asyncio.wrap_future(store._writer.submit(start))
    return seen


async def turns() -> None:
    """Give every task that is ready a few turns."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_keeps_the_promises_of_a_store(tmp_path: Path) -> None:
    async def make_store(place: str) -> Store:
        return SqliteStore(tmp_path / place / "sessions.db")

    await check_store(make_store)


# --- group commit


async def test_appends_that_wait_together_are_committed_together(path: Path) -> None:
    store = await made(path, "a", "b", "c")
    commits = await transactions(store)
    with held(store):
        waiting = [asyncio.create_task(store.append("abc"[n % 3], words(1, start=n))) for n in range(30)]
        await turns()
    await asyncio.gather(*waiting)
    assert len(commits) == 1
    for index, name in enumerate("abc"):
        assert await store.read(name) == [words(1, start=n)[0] for n in range(index, 30, 3)]
    await store.close()


async def test_events_that_were_queued_are_one_row_and_large_groups_are_several(path: Path) -> None:
    store = await made(path)
    for event in words(200):
        store.queue("a", [event])
    await store.flush()
    await store.append("a", words(8, start=200, name="x" * 100_000))
    assert await store.read("a") == words(200) + words(8, start=200, name="x" * 100_000)
    assert await store.read("a", after=203, limit=2) == words(2, start=203, name="x" * 100_000)
    await store.close()
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT last, count FROM events").fetchall() == [
            (200, 200),
            (203, 3),
            (206, 3),
            (208, 2),
        ]


async def test_nothing_is_written_for_events_that_nobody_waits_for_unless_they_are_many(path: Path) -> None:
    store = await made(path)
    commits = await transactions(store)
    store.queue("a", words(100))
    await on_writer(store, "SELECT 1")
    assert commits == []
    store.queue("a", words(1, name="x" * 2_000_000))
    await on_writer(store, "SELECT 1")
    assert commits == ["COMMIT"]
    store.queue("a", words(1, start=101))
    await store.close()
    reopened = SqliteStore(path)
    assert len(await reopened.read("a")) == 102
    await reopened.close()


async def test_a_commit_of_what_is_committed_returns_at_once(path: Path) -> None:
    store = await made(path)
    ticket = store.queue("a", words(1))
    await store.commit("a", ticket)
    with held(store):
        await store.commit("a", ticket)
    await store.close()


async def test_a_call_between_two_appends_sees_the_first_and_not_the_second(path: Path) -> None:
    store = await made(path)
    with held(store):
        first = asyncio.create_task(store.append("a", words(1)))
        await turns()
        fork = asyncio.create_task(store.fork("a", record("b")))
        await turns()
        second = asyncio.create_task(store.append("a", words(1, start=1)))
        await turns()
    assert await first == 1
    await fork
    assert await second == 2
    assert await store.read("b") == words(1)
    await store.close()


async def test_a_waiter_that_is_cancelled_takes_nothing_from_the_others(path: Path) -> None:
    store = await made(path)
    with held(store):
        waiting = [asyncio.create_task(store.append("a", words(1, start=number))) for number in range(3)]
        await turns()
        waiting[0].cancel()
        await turns()
    assert await asyncio.gather(*waiting[1:]) == [2, 3]
    assert waiting[0].cancelled()
    assert await store.read("a") == words(3)
    await store.close()


def test_several_loops_may_use_one_store(path: Path) -> None:
    store = asyncio.run(made(path))
    assert asyncio.run(store.append("a", words(1))) == 1

    async def both() -> None:
        with held(store):
            here = asyncio.create_task(store.append("a", words(1)))
            there = asyncio.create_task(asyncio.to_thread(asyncio.run, store.append("a", words(1))))
            await turns()
        assert {await here, await there} == {2, 3}

    asyncio.run(both())
    asyncio.run(store.close())


# --- failures


async def test_a_commit_that_fails_keeps_nothing_and_tells_everybody(path: Path) -> None:
    store = await made(path, "a", "b")
    await store.append("a", words(1))
    await on_writer(store, "PRAGMA max_page_count = 20")
    with held(store):
        waiting = [asyncio.create_task(store.append("a", words(1, start=number))) for number in range(1, 5)]
        waiting += [asyncio.create_task(store.append("b", words(40, name="x" * 10_000)))]
        await turns()
    errors = await asyncio.gather(*waiting, return_exceptions=True)
    assert [(type(error), getattr(error, "reason", None)) for error in errors] == [(StoreError, "full")] * 5
    assert [getattr(error, "session_id", None) for error in errors] == ["a"] * 4 + ["b"]
    assert {getattr(error, "path", None) for error in errors} == {str(path)}
    assert await store.read("a") == words(1)
    assert await store.read("b") == []
    await on_writer(store, "PRAGMA max_page_count = 1000000")
    assert await store.append("a", words(1, start=1)) == 2
    assert await store.append("b", words(40, name="x" * 10_000)) == 40
    await store.close()


def fail_once(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next transaction of appended events fail."""
    database = store._writing
    assert database is not None
    append = database.append

    def fail(*_: object) -> dict[str, StoreError]:
        monkeypatch.setattr(database, "append", append)
        raise StoreError("it failed", reason="full")

    monkeypatch.setattr(database, "append", fail)


async def outcome(store: SqliteStore, session_id: str, ticket: int) -> str:
    try:
        await store.commit(session_id, ticket)
    except StoreError as error:
        return error.reason
    return "kept"


async def test_what_was_queued_behind_a_failure_is_lost_with_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await made(path, "a", "b")
    fail_once(store, monkeypatch)
    with held(store):
        first = store.queue("a", words(1, name="lost"))
        between = asyncio.create_task(store.patch("b", title="between"))
        await turns()
        second = store.queue("a", words(1, name="queued before anybody knew"))
        other = store.queue("b", words(1))
    await between
    third = store.queue("a", words(1, name="queued before anybody was told"))
    assert await outcome(store, "b", other) == "kept"
    assert [await outcome(store, "a", ticket) for ticket in (second, first, third)] == ["full"] * 3
    assert await store.read("a") == []
    assert await store.append("a", words(1)) == 1
    assert await store.read("b") == words(1)
    await store.close()


async def test_a_failure_that_nobody_was_told_is_raised_by_flush_or_by_close(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await made(path)
    fail_once(store, monkeypatch)
    store.queue("a", words(1))
    with pytest.raises(StoreError) as caught:
        await store.flush()
    assert caught.value.reason == "full"
    await store.flush()
    fail_once(store, monkeypatch)
    store.queue("a", words(1))
    with pytest.raises(StoreError) as caught:
        await store.close()
    assert caught.value.reason == "full"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("accord-store")]


async def test_a_file_that_cannot_be_opened_fails_every_call_until_it_can(tmp_path: Path) -> None:
    path = tmp_path / "in the way" / "sessions.db"
    path.parent.write_bytes(b"")
    store = SqliteStore(path)
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            await store.create(record())
        assert (caught.value.reason, caught.value.path) == ("failed", str(path))
    for call in (store.append("a", words(1)), store.read("a")):
        with pytest.raises(StoreError):
            await call
    path.parent.unlink()
    await store.create(record())
    assert await store.append("a", words(1)) == 1
    await store.close()


DELETED = {"database": [""], "log": ["-wal"], "files": ["", "-wal", "-shm"]}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open: run it on Linux or macOS")
@pytest.mark.parametrize("suffixes", DELETED.values(), ids=DELETED)
@pytest.mark.parametrize("replacement", [None, b""], ids=["deleted", "replaced"])
async def test_a_file_that_was_deleted_under_the_store_fails_every_call_until_it_is_put_back(
    path: Path, suffixes: list[str], replacement: bytes | None
) -> None:
    store = await made(path)
    await store.append("a", words(1))
    assert await store.read("a") == words(1)
    away = path.with_name("away")
    for suffix in suffixes:
        Path(f"{path}{suffix}").rename(f"{away}{suffix}")
        if replacement is not None:
            Path(f"{path}{suffix}").write_bytes(replacement)
    for call in (store.append("a", words(1, start=1)), store.create(record("b")), store.read("a"), store.state("a")):
        with pytest.raises(StoreError) as caught:
            await call
        assert (caught.value.reason, caught.value.path) == ("moved", str(path))
    for suffix in suffixes:
        Path(f"{away}{suffix}").replace(f"{path}{suffix}")
    assert await store.read("a") == words(1)
    assert await store.append("a", words(1, start=1)) == 2
    assert not await store.exists("b")
    await store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open: run it on Linux or macOS")
async def test_the_end_of_a_store_leaves_a_new_file_in_its_place_alone(path: Path) -> None:
    store = await made(path)
    await store.acquire("a")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()
    new = await made(path, "b")
    await store.close()
    assert await new.append("b", words(1)) == 1
    await new.close()
    again = SqliteStore(path)
    assert await again.read("b") == words(1)
    await again.close()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there: run it on Linux or macOS")
async def test_a_link_to_the_file_is_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "target.db")
    store = await made(path)
    assert await store.append("a", words(1)) == 1
    path.unlink()
    with pytest.raises(StoreError) as caught:
        await store.append("a", words(1, start=1))
    assert caught.value.reason == "moved"
    await store.close()


async def test_another_writer_that_does_not_finish_is_busy(path: Path) -> None:
    store = SqliteStore(path, busy_seconds=0.01)
    await store.create(record())
    with locked(path):
        for call in (store.append("a", words(1)), store.patch("a", title="x"), store.delete("a")):
            with pytest.raises(StoreError) as caught:
                await call
            assert caught.value.reason == "busy"
        assert await store.read("a") == []
    assert await store.append("a", words(1)) == 1
    await store.close()


async def test_the_loop_goes_on_while_another_writer_is_waited_for(path: Path) -> None:
    store = await made(path)
    with locked(path):
        waiting = asyncio.create_task(store.append("a", words(1)))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not waiting.done()
    assert await waiting == 1
    await store.close()


# --- closing


async def test_nothing_is_left_behind_but_one_file(path: Path) -> None:
    store = await made(path)
    await store.append("a", words(1))
    await store.read("a")
    assert len(list(path.parent.iterdir())) > 1
    await store.close()
    assert list(path.parent.iterdir()) == [path]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("accord-store")]


async def test_a_store_that_was_never_used_makes_no_file(path: Path) -> None:
    store = SqliteStore(path)
    await store.close()
    assert not path.exists()


async def test_a_close_that_is_cancelled_closes_all_the_same(path: Path) -> None:
    store = await made(path)
    ticket = store.queue("a", words(1))
    with held(store):
        closing = asyncio.create_task(store.close())
        await turns()
        closing.cancel()
        await turns()
    assert closing.cancelled()
    with pytest.raises(StoreError) as caught:
        await store.commit("a", ticket)
    assert caught.value.reason == "closed"
    for executor in (store._writer, store._reader):
        executor.shutdown()
    reopened = SqliteStore(path)
    assert await reopened.read("a") == words(1)
    await reopened.close()


async def test_a_reader_that_meets_the_close_is_told(path: Path) -> None:
    store = await made(path)
    with held(store):
        reading = asyncio.create_task(store.read("a"))
        await turns()
        closing = asyncio.create_task(store.close())
        await turns()
    await closing
    with pytest.raises(StoreError) as caught:
        await reading
    assert caught.value.reason == "closed"


# --- many


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.long)])
async def test_many_sessions_are_listed_by_pages(path: Path, count: int) -> None:
    store = SqliteStore(path)
    for start in range(0, count, 1_000):
        numbers = range(start, min(start + 1_000, count))
        await asyncio.gather(*(store.create(record(f"s{n}", n, cwd=f"/work/{n % 10}")) for n in numbers))
    assert await listed(store, None) == [f"s{n}" for n in reversed(range(count))]
    assert await listed(store, "/work/3") == [f"s{n}" for n in reversed(range(3, count, 10))]
    assert await listed(store, "/work") == []
    await store.close()


async def listed(store: SqliteStore, cwd: str | None) -> list[str]:
    names: list[str] = []
    page = await store.list_sessions(cwd=cwd, limit=100)
    while True:
        names += [one.id for one in page.records]
        if page.next_cursor is None:
            return names
        page = await store.list_sessions(cwd=cwd, cursor=page.next_cursor, limit=100)


# --- the write-ahead log


async def test_a_long_log_is_moved_to_the_file_while_the_store_is_open(path: Path) -> None:
    store = await made(path)
    text = "x" * 64 * 1024
    count = CHECKPOINT_BYTES // len(text) + 1
    for number in range(count):
        await store.append("a", [MessageChunk("agent", Text(f"{number} {text}"))])
    # By then the file has more than its tables, although no commit had to move anything.
    assert store._checkpoint is not None
    await asyncio.wait_for(asyncio.wrap_future(store._checkpoint), PATIENCE_SECONDS)
    assert path.stat().st_size > CHECKPOINT_BYTES // 2
    assert len(await store.read("a")) == count
    await store.close()
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(f"{path.name}-")] == []


async def test_few_events_are_left_in_the_log(path: Path) -> None:
    store = await made(path)
    await store.append("a", words(100))
    assert store._checkpoint is None
    await store.close()
