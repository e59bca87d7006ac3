"""Knows the tables in which SQLite keeps sessions, and every statement that is said to them.

It blocks, and belongs to one thread; who waits for whom is the business of `stores.sqlite`. What is appended in one
go to one session is one row, a line per event: a row per event would take about twice as long (decision 0005).
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from accord.errors import StoreError
from accord.protocol.model import UNSET, Maybe, Omittable
from accord.session.event import Event
from accord.stores.cursor import decode_cursor, encode_cursor
from accord.stores.folder import make_private
from accord.stores.interface import Page, SessionRecord
from accord.stores.refusal import damaged, of_sqlite, of_system, session_exists, sqlite_reason, unknown_session
from accord.stores.text import decode_event

__all__ = ["Batch", "Database"]

# "ACRD": the file says whose it is, so that another program's database is never taken for a damaged one of ours.
APPLICATION_ID = 0x41435244
SCHEMA_VERSION = 1

# A group of events that is larger becomes several rows: whoever reads a few events should not load them all.
_MAX_ROW_BYTES = 256 * 1024

# How long to wait between two tries to open a file that another process is just setting up.
_RETRY_SECONDS = 0.01

_SCHEMA = (
    """CREATE TABLE sessions (
        number INTEGER PRIMARY KEY,
        id NOT NULL UNIQUE,
        cwd NOT NULL,
        roots TEXT NOT NULL,
        title,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        events INTEGER NOT NULL
    )""",
    "CREATE INDEX sessions_by_time ON sessions (updated_at, id)",
    "CREATE INDEX sessions_by_cwd ON sessions (cwd, updated_at, id)",
    # `texts` are the events `last - count + 1` to `last`, one per line.
    """CREATE TABLE events (
        session INTEGER NOT NULL,
        last INTEGER NOT NULL,
        count INTEGER NOT NULL,
        texts BLOB NOT NULL,
        UNIQUE (session, last)
    )""",
    # Apart from the record, which is rewritten with every append.
    "CREATE TABLE states (session INTEGER PRIMARY KEY, state BLOB NOT NULL)",
)

_COLUMNS = "id, cwd, roots, title, created_at, updated_at, events"


class Batch(Protocol):
    """Events of one session that are to be kept; `position` becomes that of the last event of the log."""

    session_id: str
    texts: list[bytes]
    position: int


class Database:
    """One connection to the file; made by `open`, for the thread that made it."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path

    @classmethod
    def open(cls, path: Path, busy_seconds: float) -> Database:
        """Open the file, or make it; waits up to `busy_seconds` for other programs, here and in every call.

        Raises:
            StoreError: There is no way to, or the file is not ours to use.
        """
        try:
            make_private(path)
        except OSError as error:
            raise of_system(error, str(path)) from error
        deadline = time.monotonic() + busy_seconds
        while True:
            try:
                return cls._open_once(path, busy_seconds)
            except sqlite3.Error as error:
                # SQLite does not wait by itself while another process switches a new file to its write-ahead log.
                if sqlite_reason(error) != "busy" or time.monotonic() >= deadline:
                    raise of_sqlite(error, str(path)) from error
                time.sleep(_RETRY_SECONDS)

    @classmethod
    def _open_once(cls, path: Path, busy_seconds: float) -> Database:
        # Autocommit: transactions begin where this module says so.
        connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
        try:
            # In one look: what another process writes meanwhile must not be seen by half.
            connection.execute("BEGIN")
            _recognise(connection, str(path))
            connection.execute("COMMIT")
            # Promised against the death of the process: what was written to the log is in the system's hands.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            # What a user deletes should be gone from the file, not only from the tables.
            connection.execute("PRAGMA secure_delete = ON")
            _set_up(connection, str(path))
        except BaseException:
            connection.close()
            raise
        return cls(connection, str(path))

    def close(self) -> None:
        """Close the connection; the last one leaves a single file."""
        self._connection.close()

    def create(self, record: SessionRecord) -> None:
        """Keep a new session."""
        with self._transaction():
            self._insert(record, events=0)

    def get(self, session_id: str) -> SessionRecord | None:
        """The session's record."""
        with self._transaction("DEFERRED"):
            sql = f"SELECT {_COLUMNS} FROM sessions WHERE id = ?"  # noqa: S608
            row = self._connection.execute(sql, (_said(session_id),)).fetchone()
        return None if row is None else _record(row)

    def patch(self, session_id: str, title: Maybe[str], updated_at: Omittable[float], state: Maybe[bytes]) -> None:
        """Change what is not UNSET."""
        with self._transaction():
            number, _ = self._find(session_id)
            execute = self._connection.execute
            if title is not UNSET:
                execute("UPDATE sessions SET title = ? WHERE number = ?", (title and _said(title), number))
            if updated_at is not UNSET:
                execute("UPDATE sessions SET updated_at = ? WHERE number = ?", (float(updated_at), number))
            if state is None:
                execute("DELETE FROM states WHERE session = ?", (number,))
            elif state is not UNSET:
                execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (number, state))

    def state(self, session_id: str) -> bytes | None:
        """The author's own state."""
        with self._transaction("DEFERRED"):
            number, _ = self._find(session_id)
            row = self._connection.execute("SELECT state FROM states WHERE session = ?", (number,)).fetchone()
        return None if row is None else bytes(row[0])

    def append(self, batches: Sequence[Batch]) -> set[str]:
        """Keep all batches in one transaction, or none.

        Returns the sessions that are not there: they alone keep nothing.
        """
        by_session: dict[str, list[Batch]] = {}
        for batch in batches:
            by_session.setdefault(batch.session_id, []).append(batch)
        unknown = set()
        with self._transaction():
            for session_id, group in by_session.items():
                if not self._append_group(session_id, group):
                    unknown.add(session_id)
        return unknown

    def _append_group(self, session_id: str, group: list[Batch]) -> bool:
        sql = "SELECT number, events FROM sessions WHERE id = ?"
        row = self._connection.execute(sql, (_said(session_id),)).fetchone()
        if row is None:
            return False
        number, position = row
        texts: list[bytes] = []
        for batch in group:
            texts += batch.texts
            batch.position = position + len(texts)
        for row_texts in _rows(texts):
            position += len(row_texts)
            values = (number, position, len(row_texts), b"\n".join(row_texts))
            self._connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", values)
        self._connection.execute("UPDATE sessions SET events = ? WHERE number = ?", (position, number))
        return True

    def read(self, session_id: str, after: int, limit: int | None) -> list[Event]:
        """The events behind a position, in order."""
        after = max(after, 0)
        with self._transaction("DEFERRED"):
            number, length = self._find(session_id)
            through = length if limit is None else min(length, after + max(limit, 0))
            sql = "SELECT last, count, texts FROM events WHERE session = ? AND last > ? ORDER BY last"
            with contextlib.closing(self._connection.execute(sql, (number, after))) as found:
                # Rows are fetched one by one: of a long log, no more than what is wanted.
                rows = list(takewhile(lambda row: row[0] - row[1] < through, found))
        events: list[Event] = []
        for last, count, texts in rows:
            lines = bytes(texts).split(b"\n")
            start = last - count
            if len(lines) != count or start > after + len(events):
                raise damaged(self._path)
            events += self._decode(session_id, lines[max(after - start, 0) : through - start])
        if len(events) != max(through - after, 0):
            raise damaged(self._path)
        return events

    def _decode(self, session_id: str, lines: list[bytes]) -> list[Event]:
        try:
            return [decode_event(line) for line in lines]
        except StoreError as error:
            sentence = f"{self._path}: {error}"
            raise StoreError(sentence, reason=error.reason, path=self._path, session_id=session_id) from error

    def list_sessions(self, cwd: str | None, cursor: str | None, limit: int) -> Page:
        """One page, the last updated first."""
        limit = max(limit, 1)
        conditions: list[str] = []
        values: list[Any] = []
        if cwd is not None:
            conditions.append("cwd = ?")
            values.append(_said(cwd))
        if cursor is not None:
            updated_at, session_id = decode_cursor(cursor)
            conditions.append("(updated_at, id) < (?, ?)")
            values += [updated_at, _said(session_id)]
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        sql = f"SELECT {_COLUMNS} FROM sessions {where} ORDER BY updated_at DESC, id DESC LIMIT ?"  # noqa: S608
        with self._transaction("DEFERRED"):
            rows = self._connection.execute(sql, (*values, limit + 1)).fetchall()
        records = [_record(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(records, encode_cursor(records[-1].updated_at, records[-1].id) if more else None)

    def fork(self, session_id: str, record: SessionRecord) -> None:
        """Copy a session's log and state under a new record."""
        with self._transaction():
            number, events = self._find(session_id)
            copy = self._insert(record, events)
            execute = self._connection.execute
            execute("INSERT INTO events SELECT ?, last, count, texts FROM events WHERE session = ?", (copy, number))
            execute("INSERT INTO states SELECT ?, state FROM states WHERE session = ?", (copy, number))

    def delete(self, session_id: str) -> None:
        """Forget a session, if it is there."""
        with self._transaction():
            row = self._connection.execute("SELECT number FROM sessions WHERE id = ?", (_said(session_id),)).fetchone()
            if row is not None:
                for sql in (
                    "DELETE FROM events WHERE session = ?",
                    "DELETE FROM states WHERE session = ?",
                    "DELETE FROM sessions WHERE number = ?",
                ):
                    self._connection.execute(sql, row)

    def _find(self, session_id: str) -> tuple[int, int]:
        sql = "SELECT number, events FROM sessions WHERE id = ?"
        row = self._connection.execute(sql, (_said(session_id),)).fetchone()
        if row is None:
            raise unknown_session(session_id)
        return row[0], row[1]

    def _insert(self, record: SessionRecord, events: int) -> int:
        sql = f"INSERT INTO sessions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
        values = (
            _said(record.id),
            _said(record.cwd),
            json.dumps(record.roots),
            record.title and _said(record.title),
            float(record.created_at),
            float(record.updated_at),
            events,
        )
        try:
            number = self._connection.execute(sql, values).lastrowid
        except sqlite3.IntegrityError as error:
            raise session_exists(record.id) from error
        return int(number or 0)

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        """All or nothing; what SQLite raises inside becomes a `StoreError`."""
        try:
            # Writers take the lock at once: a transaction that reads first could not wait for it later.
            self._connection.execute(f"BEGIN {kind}")
            yield
            self._connection.execute("COMMIT")
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            self._roll_back()
            raise of_sqlite(error, self._path) from error
        except StoreError:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        # After some failures SQLite has done so itself.
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def _recognise(connection: sqlite3.Connection, path: str) -> None:
    """Refuse what is not ours, before anything is changed in it."""
    version = _pragma(connection, "user_version")
    application = _pragma(connection, "application_id")
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and not (empty and version == application == 0):
        sentence = f"{path}: this database belongs to another program; give the agent a file of its own"
        raise StoreError(sentence, reason="foreign", path=path)
    if version > SCHEMA_VERSION:
        sentence = (
            f"{path}: a later version of Accord has written this database (schema {version}, known up to "
            f"{SCHEMA_VERSION}); update Accord, or give the agent another file"
        )
        raise StoreError(sentence, reason="newer", path=path)


def _set_up(connection: sqlite3.Connection, path: str) -> None:
    if _pragma(connection, "user_version") == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have been quicker, also one of a later version.
    _recognise(connection, path)
    if _pragma(connection, "user_version") == 0:
        for sql in _SCHEMA:
            connection.execute(sql)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _rows(texts: list[bytes]) -> Iterator[list[bytes]]:
    row: list[bytes] = []
    size = 0
    for text in texts:
        row.append(text)
        size += len(text)
        if size >= _MAX_ROW_BYTES:
            yield row
            row, size = [], 0
    if row:
        yield row


def _said(text: str) -> str | bytes:
    """How SQLite is told a text: as bytes where UTF-8 has no words for it.

    That is half an emoji in a title, or a path that is no UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _heard(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def _record(row: Sequence[Any]) -> SessionRecord:
    session_id, cwd, roots, title, created_at, updated_at, events = row
    return SessionRecord(
        id=_heard(session_id),
        cwd=_heard(cwd),
        created_at=created_at,
        updated_at=updated_at,
        title=None if title is None else _heard(title),
        roots=tuple(json.loads(roots)),
        events=events,
    )
