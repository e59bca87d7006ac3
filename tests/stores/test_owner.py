"""The owner files of SQLite stores: private, locked, swept, and never taken for what they are not.

What every store with owners promises to several processes is in `test_two_processes`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.errors import StoreError
from accord.stores import SqliteStore, owner
from accord.stores.owner import is_live, open_owner, owners_folder
from tests.stores.sessions import record, words
from tests.stores.test_two_processes import Holder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="flock and signals as POSIX has them")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def holders(path: Path) -> Iterator[tuple[Holder, Holder]]:
    """Two processes on one database that has the session `a`."""
    one, other = Holder(path), Holder(path)
    assert one.do("create a") == "None"
    yield one, other
    for holder in (one, other):
        holder.child.kill()
        holder.end()


def owners(path: Path) -> list[str]:
    folder = owners_folder(path)
    return sorted(os.listdir(folder)) if folder.exists() else []  # noqa: PTH208


def column(path: Path, session: str = "a") -> str | None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT owner FROM sessions WHERE id = ?", (session,)).fetchone()
    owner_name: str | None = row[0]
    return owner_name


# --- two processes


def test_a_dead_owners_sessions_are_free_at_once(holders: tuple[Holder, Holder], path: Path) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do("append a last") == "1"
    dead = column(path)
    assert owners(path) == [dead]
    one.die()
    assert other.do("acquire a") == "True"
    assert other.do("append a next") == "2"
    assert column(path) != dead
    assert owners(path) == [column(path)]


def test_a_child_that_ends_does_not_end_the_ownership_of_its_parent(path: Path) -> None:
    program = (
        "import asyncio, os, sys\n"
        "from accord.stores import SqliteStore, SessionRecord\n"
        "async def main():\n"
        "    store = SqliteStore(sys.argv[1])\n"
        "    await store.create(SessionRecord('a', '/', 1.0, 1.0), owned=True)\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        sys.exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        other = Holder(path)
        try:
            assert other.do("acquire a") == "in_use"
        finally:
            parent.kill()
            other.kill()
            other.end()


# --- one process


async def test_links_to_one_database_lead_to_one_owner(tmp_path: Path) -> None:
    path, link = tmp_path / "real" / "sessions.db", tmp_path / "link.db"
    store = SqliteStore(path)
    await store.create(record(), owned=True)
    link.symlink_to(path)
    again = SqliteStore(link)
    assert not await again.acquire("a")
    assert len(owners(path)) == 1
    await again.close()
    await store.close()


async def test_the_owner_file_is_private_and_goes_with_the_last_store(path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0  # noqa: PTH208
    store = SqliteStore(path)
    await store.create(record(), owned=True)
    folder = owners_folder(path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (name,) = owners(path)
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert column(path) == name
    await store.close()
    assert owners(path) == []
    assert column(path) is None
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


async def test_reading_makes_no_owner(path: Path) -> None:
    store = SqliteStore(path)
    await store.create(record())
    await store.append("a", words(3))
    await store.read("a")
    await store.list_sessions()
    assert not owners_folder(path).exists()
    await store.close()


async def test_a_session_that_was_lost_cannot_be_written(path: Path) -> None:
    store = SqliteStore(path)
    await store.create(record(), owned=True)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE sessions SET owner = NULL")
        for call in (store.append("a", words(1)), store.patch("a", title="x")):
            with pytest.raises(StoreError) as caught:
                await call
            assert (caught.value.reason, caught.value.session_id) == ("not_owned", "a")
    await store.close()


async def test_who_is_cancelled_acquires_nothing(path: Path) -> None:
    store = SqliteStore(path)
    await store.create(record())
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # The transaction that acquires has begun and waits for this one.
        connection.execute("BEGIN IMMEDIATE")
        acquiring = asyncio.ensure_future(store.acquire("a"))
        await asyncio.sleep(0)
        acquiring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await acquiring
        connection.execute("ROLLBACK")
    assert await store.acquire("a")
    await store.close()


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "x", "A" * 32, "0" * 31, "0" * 33, 7, b"0" * 32])
async def test_a_column_that_names_no_owner_file_is_no_owner(path: Path, name: object) -> None:
    store = SqliteStore(path)
    await store.create(record())
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE sessions SET owner = ?", (name,))
    assert await store.acquire("a")
    await store.close()


def test_files_of_the_dead_are_swept_and_those_of_the_living_are_not(path: Path) -> None:
    folder = owners_folder(path)
    folder.mkdir()
    dead, living, strange = "0" * 32, "1" * 32, "notes.txt"
    for name in (dead, living, strange):
        (folder / name).touch()
    with (folder / living).open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ours = open_owner(path)
        assert owners(path) == sorted([living, strange, ours.name])
        assert is_live(folder, living)
    assert not is_live(folder, living)
    ours.close()
    assert owners(path) == [strange]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for names in /proc: run it on Linux")
def test_a_file_that_a_sweeper_takes_between_creation_and_lock_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = owners_folder(path), []
    take = owner._locks

    def sweep_first(descriptor: int) -> bool:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        made.append(name)
        if len(made) == 1:
            (folder / name).unlink()
        return len(made) != 2 and take(descriptor)

    monkeypatch.setattr(owner, "_locks", sweep_first)
    ours = open_owner(path)
    assert len(made) == 3
    assert ours.name == made[2]
    assert is_live(folder, ours.name)
    ours.close()


@pytest.mark.parametrize(
    ("number", "reason"), [(errno.ENOLCK, "no_locks"), (errno.EOPNOTSUPP, "no_locks"), (errno.EIO, "failed")]
)
async def test_a_file_system_that_cannot_lock_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, "no")

    store = SqliteStore(path)
    await store.create(record())
    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(StoreError) as caught:
        await store.acquire("a")
    assert caught.value.reason == reason
    assert owners(path) == []
    await store.close()


async def test_an_owner_that_cannot_be_tried_is_not_taken_for_dead(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = Holder(path)
    try:
        assert holder.do("create a owned") == "None"
        store = SqliteStore(path)
        await store.create(record("b"), owned=True)

        def fail(*_: object) -> None:
            raise OSError(errno.ENOLCK, "no")

        monkeypatch.setattr(fcntl, "flock", fail)
        with pytest.raises(StoreError) as caught:
            await store.acquire("a")
        assert caught.value.reason == "no_locks"
        monkeypatch.undo()
        assert holder.do("append a still_mine") == "1"
        await store.close()
    finally:
        holder.kill()
        holder.end()
