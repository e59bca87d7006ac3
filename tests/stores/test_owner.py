"""One session, one owner on a machine: real processes, which are killed, forked and closed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import signal
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
from tests.stores.test_processes import PATIENCE_SECONDS, Process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="flock and signals as POSIX has them")

HOLDER = "tests.stores.holder"


class Holder(Process):
    """A child that runs `holder.py`."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments, program=HOLDER)
        assert self.line() == "ready"

    def do(self, line: str) -> str:
        assert self.child.stdin is not None
        self.child.stdin.write(line.encode() + b"\n")
        answer = self.line()
        assert answer is not None, f"the holder died of {line!r}"
        return answer

    def die(self) -> None:
        """Killed by the system, with no time for anything."""
        self.child.kill()
        self.child.wait(PATIENCE_SECONDS)


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


def test_a_session_that_a_live_process_owns_is_refused(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert other.do("acquire a") == "in_use"
    for write in ("append a stolen", "patch a stolen", "delete a"):
        assert other.do(write) == "in_use", write
    assert one.do("append a mine") == "1"
    assert other.do("read a") == "['mine']"
    assert other.do("list") == "['a']"


def test_a_new_session_is_owned_before_another_process_can_see_it(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    assert one.do("create b owned") == "None"
    assert other.do("acquire b") == "in_use"
    assert one.do("fork a c") == "None"
    assert other.do("acquire c") == "in_use"


def test_a_session_of_another_process_can_be_copied(holders: tuple[Holder, Holder]) -> None:
    one, other = holders
    one.do("append a said")
    assert one.do("acquire a") == "True"
    assert other.do("fork a b") == "None"
    assert other.do("read b") == "['said']"
    assert one.do("acquire b") == "in_use"


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


def test_a_dead_owners_session_can_be_written_and_deleted(holders: tuple[Holder, Holder], path: Path) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do("create b owned") == "None"
    one.die()
    assert other.do("append a next") == "1"
    assert column(path) is None
    assert other.do("delete b") == "None"


@pytest.mark.parametrize("let_go", ["release a", "close"])
def test_a_session_that_was_let_go_is_free_while_its_owner_lives(holders: tuple[Holder, Holder], let_go: str) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do(let_go) == "None"
    assert other.do("acquire a") == "True"


def test_a_process_that_released_a_session_cannot_write_behind_its_next_owner(
    holders: tuple[Holder, Holder],
) -> None:
    one, other = holders
    assert [one.do(line) for line in ("acquire a", "append a first", "release a")] == ["True", "1", "None"]
    assert other.do("acquire a") == "True"
    assert one.do("append a late") == "in_use"
    assert other.do("read a") == "['first']"


def test_two_stores_of_one_process_are_one_owner(holders: tuple[Holder, Holder], path: Path) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    assert one.do("second acquire a") == "False"
    assert len(owners(path)) == 1
    assert one.do("second append a from_the_second") == "1"
    assert one.do("second release a") == "None"
    assert other.do("acquire a") == "in_use"
    assert one.do("second acquire a") == "False"
    # The first store goes, and the second still has it.
    assert one.do("close") == "None"
    assert other.do("acquire a") == "in_use"
    assert one.do("second close") == "None"
    assert other.do("acquire a") == "True"


@pytest.mark.parametrize("kind", ["child", "program"])
def test_a_child_does_not_keep_the_sessions_of_its_dead_parent(holders: tuple[Holder, Holder], kind: str) -> None:
    one, other = holders
    assert one.do("acquire a") == "True"
    child = int(one.do(kind))
    try:
        assert other.do("acquire a") == "in_use"
        one.die()
        assert other.do("acquire a") == "True"
    finally:
        os.kill(child, signal.SIGKILL)


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
