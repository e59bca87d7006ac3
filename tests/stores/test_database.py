"""The file: what it looks like, and what is said when it is not what it should be."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.errors import StoreError
from accord.stores.database import Database
from accord.stores.errors import of_sqlite, of_system
from accord.stores.schema import APPLICATION_ID, SCHEMA_VERSION
from accord.stores.text import encode_events
from tests.stores.meanwhile import meanwhile
from tests.stores.sessions import record, words
from tests.tables import rows


class Group:
    def __init__(self, count: int, session_id: str = "a") -> None:
        self.session_id = session_id
        self.lines = encode_events(words(count))
        self.count = count
        self.position = 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def made(path: Path, count: int = 0) -> Database:
    database = Database.open(path, 1.0)
    database.create(record())
    database.append([Group(count)])
    return database


def say(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for sql in statements:
            connection.execute(sql)


def refusal(path: Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Database.open(path, 0.0)
    assert caught.value.path == str(path)
    return caught.value


# --- as it should be


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes; the profile folder is private")
def test_all_its_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    database = made(path, 3)
    files = list(path.parent.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    database.close()


def test_it_has_a_write_ahead_log_that_is_synchronised_at_checkpoints(path: Path) -> None:
    database = made(path)
    pragmas = ("journal_mode", "synchronous", "user_version", "application_id")
    values = [database._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert values == ["wal", 1, SCHEMA_VERSION, APPLICATION_ID]
    database.close()


def test_what_was_deleted_is_gone_from_the_file(path: Path) -> None:
    database = made(path)
    group = Group(0)
    group.lines, group.count = b"\n".join([b'"a secret that nobody should find again"'] * 300), 300
    database.append([group])
    database.close()
    assert b"a secret" in path.read_bytes()
    database = Database.open(path, 1.0)
    database.delete("a")
    database.close()
    assert b"a secret" not in path.read_bytes()


def test_the_lists_use_an_index(path: Path) -> None:
    database = made(path)
    plans = []
    for where in ("", "WHERE cwd = 'x'", "WHERE cwd = 'x' AND (updated_at, id) < (1, 'x')"):
        sql = f"EXPLAIN QUERY PLAN SELECT title FROM sessions {where} ORDER BY updated_at DESC, id DESC LIMIT 5"  # noqa: S608
        plans.append(str(database._connection.execute(sql).fetchall()))
    assert all("INDEX sessions_by_" in plan and "TEMP B-TREE" not in plan for plan in plans)
    database.close()


# --- not ours


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE theirs (x)", "PRAGMA user_version = 7", "PRAGMA application_id = 9"]
)
def test_a_database_of_another_program_is_refused_and_left_alone(path: Path, statement: str) -> None:
    say(path, statement)
    before = path.read_bytes()
    assert refusal(path).reason == "foreign"
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_later_schema_is_refused(path: Path) -> None:
    made(path).close()
    say(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    assert refusal(path).reason == "newer"


def test_a_process_of_a_later_version_may_be_quicker(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quicker(self: Any, sql: str, *values: Any) -> Any:
        if sql == "BEGIN IMMEDIATE":
            monkeypatch.undo()
            made(path).close()
            say(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        return sqlite3.Connection.execute(self, sql, *values)

    connect_as(monkeypatch, quicker)
    assert refusal(path).reason == "newer"


def test_a_process_of_this_version_may_be_quicker(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quicker(self: Any, sql: str, *values: Any) -> Any:
        if sql == "BEGIN IMMEDIATE":
            monkeypatch.undo()
            made(path, 5).close()
        return sqlite3.Connection.execute(self, sql, *values)

    connect_as(monkeypatch, quicker)
    database = Database.open(path, 1.0)
    assert len(database.read("a", 0, None)) == 5
    database.close()


def connect_as(monkeypatch: pytest.MonkeyPatch, execute: Any) -> None:
    """Connections say what they are told through `execute`."""
    connect = sqlite3.connect
    kind = type("Watched", (sqlite3.Connection,), {"execute": execute})
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, factory=kind, **options))


# --- damaged


def test_what_is_no_database_is_damaged(path: Path) -> None:
    path.write_bytes(b"these are not the bytes you are looking for" * 100)
    error = refusal(path)
    assert error.reason == "damaged"
    assert str(path) in str(error)


def test_a_database_whose_pages_were_overwritten_is_damaged(path: Path) -> None:
    made(path, 2000).close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    database = Database.open(path, 0.0)
    for call in (lambda: database.read("a", 0, None), lambda: database.create(record("b"))):
        with pytest.raises(StoreError) as caught:
            call()
        assert (caught.value.reason, caught.value.path) == ("damaged", str(path))
    database.close()


def test_a_database_that_was_cut_short_is_damaged(path: Path) -> None:
    made(path, 2000).close()
    path.write_bytes(path.read_bytes()[:8192])
    assert refusal(path).reason == "damaged"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE last = 10",
        "DELETE FROM events WHERE last = 20",
        "DELETE FROM events WHERE last = 30",
        "UPDATE events SET count = 9 WHERE last = 20",
        "UPDATE events SET texts = x'7b7d' WHERE last = 20",
        "UPDATE sessions SET events = 31",
    ],
)
def test_a_log_with_a_hole_is_damaged_and_not_shorter(path: Path, statement: str) -> None:
    database = made(path, 10)
    database.append([Group(10)])
    database.append([Group(10)])
    assert database.read("a", 0, None) == words(10) * 3
    say(path, statement)
    with pytest.raises(StoreError) as caught:
        database.read("a", 0, None)
    assert caught.value.reason == "damaged"
    database.close()


def test_an_event_that_nobody_understands_is_unreadable(path: Path) -> None:
    database = made(path, 1)
    say(path, "UPDATE events SET texts = x'7b7d'")
    with pytest.raises(StoreError) as caught:
        database.read("a", 0, None)
    assert (caught.value.reason, caught.value.path, caught.value.session_id) == ("unreadable", str(path), "a")
    database.close()


# --- not now


def test_a_file_that_is_locked_for_too_long_is_busy(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert refusal(path).reason == "busy"
        other.execute("ROLLBACK")
    made(path).close()


def test_a_file_that_another_process_sets_up_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def execute(self: Any, sql: str, *values: Any) -> Any:
        if sql.startswith("PRAGMA journal_mode"):
            tries.append(sql)
            if len(tries) < 3:
                busy = sqlite3.OperationalError("database is locked")
                busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise busy
        return sqlite3.Connection.execute(self, sql, *values)

    connect_as(monkeypatch, execute)
    made(path).close()
    assert len(tries) == 3


def test_a_transaction_that_fails_leaves_none_open(path: Path) -> None:
    database = made(path)
    with pytest.raises(StoreError) as caught:
        database.create(record())
    assert caught.value.reason == "session_exists"
    assert not database._connection.in_transaction
    with pytest.raises(StoreError) as caught:
        database.list_sessions(None, None, 2**70)
    assert caught.value.reason == "failed"
    assert not database._connection.in_transaction
    database.create(record("b"))
    database.close()


# --- words


@rows(
    ("code", "reason"),
    [
        (sqlite3.SQLITE_FULL, "full"),
        (sqlite3.SQLITE_READONLY, "read_only"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "read_only"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "busy"),
        (sqlite3.SQLITE_LOCKED, "busy"),
        (sqlite3.SQLITE_CORRUPT_INDEX, "damaged"),
        (sqlite3.SQLITE_NOTADB, "damaged"),
        (sqlite3.SQLITE_IOERR_WRITE, "failed"),
        (sqlite3.SQLITE_ERROR, "failed"),
    ],
)
def test_every_code_of_sqlite_has_a_reason(code: int, reason: str) -> None:
    error = sqlite3.OperationalError("in its words")
    error.sqlite_errorcode = code
    reported = of_sqlite(error, "/file")
    assert (reported.reason, reported.path) == (reason, "/file")


def test_what_has_no_code_has_failed() -> None:
    assert of_sqlite(OverflowError("too large"), "/file").reason == "failed"


@rows(
    ("number", "reason"),
    [
        (errno.ENOSPC, "full"),
        (errno.EACCES, "read_only"),
        (errno.EROFS, "read_only"),
        (errno.ENOTDIR, "failed"),
        (None, "failed"),
    ],
)
def test_every_error_of_the_system_has_a_reason(number: int | None, reason: str) -> None:
    reported = of_system(OSError(number, "in its words"), "/file")
    assert (reported.reason, reported.path) == (reason, "/file")


def test_a_file_that_another_makes_during_the_first_look_is_not_taken_for_a_strangers(path: Path) -> None:
    with meanwhile("SELECT count(*) FROM sqlite_master", lambda: Database.open(path, 5.0).close()):
        Database.open(path, 5.0).close()
    Database.open(path, 5.0).close()
