"""All SQL statements for the tables of `stores.schema`.

It blocks, and belongs to one thread; threads and waiting belong to `stores.sqlite`. The events of one append to one
session are one row, a line per event: a row per event would take about twice as long (decision 0005).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from accord.errors import StoreError
from accord.protocol.model import UNSET, Maybe, Omittable
from accord.session.event import Event
from accord.stores.database_files import DatabaseFiles
from accord.stores.errors import (
    damaged,
    in_use,
    not_owned,
    of_sqlite,
    of_system,
    session_exists,
    sqlite_reason,
    unknown_session,
)
from accord.stores.folder import make_private
from accord.stores.interface import (
    IS_DRAFT,
    PAGE_BYTES,
    PAGE_EVENTS,
    SessionPage,
    SessionRecord,
    clamped_time,
    is_draft,
)
from accord.stores.owner import StoreOwner, claiming, is_held, is_live, owners_folder
from accord.stores.schema import (
    COLUMNS,
    OWNERS_SINCE,
    PRINCIPAL_SINCE,
    PROMPTED_SINCE,
    as_record,
    as_stored,
    as_text,
    recognise,
    rows_of,
    schema_version,
    set_up,
)
from accord.stores.text import decode_cursor, decode_events, decode_page, has_prompt

__all__ = ["Batch", "Database"]

# With so many pages of 4 KiB in the write-ahead log a commit moves them to the file itself: in processes that write too
# little for `checkpoint`, and where the log grows faster than it is moved.
_LOG_PAGES = 4000
# How long to wait between two tries to open a file that another process is just setting up.
_RETRY_SECONDS = 0.01


class Batch(Protocol):
    """Events of one session to append; `position` becomes that of the last event of the log."""

    session_id: str
    lines: bytes
    """The events, a line for each."""
    count: int
    position: int


class _Row(NamedTuple):
    """The columns that every statement about a session needs."""

    number: int
    events: int
    owner: str | None
    prompted: int


class Database:
    """One connection to the file; made by `open`, for the thread that made it."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        # As bytes of a file name are decoded: by default one text of other bytes ends a whole list.
        connection.text_factory = functools.partial(str, encoding="utf-8", errors="surrogateescape")
        # A file that cannot be written cannot be migrated either, and its sessions have no owners.
        self._owner_column = "owner" if schema_version(connection) >= OWNERS_SINCE else "NULL"
        self._prompted_column = "prompted" if schema_version(connection) >= PROMPTED_SINCE else "1"
        self._principal_column = "principal" if schema_version(connection) >= PRINCIPAL_SINCE else "''"
        self._path = path
        self._owners = owners_folder(Path(path))
        self._files = DatabaseFiles(path)

    @classmethod
    def open(cls, path: Path, busy_seconds: float) -> Database:
        """Open the file, or make it; waits up to `busy_seconds` for other programs, here and in every call.

        Raises:
            StoreError: It cannot be opened, or is not a file of ours.
        """
        try:
            make_private(path)
        except OSError as error:
            raise of_system(error, str(path)) from error
        return cls._open_patiently(path, busy_seconds, cls._open_once)

    @classmethod
    def open_to_read(cls, path: Path, busy_seconds: float) -> Database:
        """Open the file for reading alone, also one that cannot be written.

        Raises:
            StoreError: It cannot even be read.
        """
        try:
            return cls.open(path, busy_seconds)
        except StoreError as error:
            if error.reason not in {"read_only", "failed"} or not os.access(path, os.R_OK):
                raise
            return cls._open_patiently(path, busy_seconds, cls._open_unwritable)

    @classmethod
    def _open_patiently(cls, path: Path, busy_seconds: float, open_once: Callable[[Path, float], Database]) -> Database:
        deadline = time.monotonic() + busy_seconds
        while True:
            try:
                return open_once(path, busy_seconds)
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
            # In one transaction: a change of another process must not be seen in part.
            connection.execute("BEGIN")
            recognise(connection, str(path))
            connection.execute("COMMIT")
            # The promise is about the death of the process, not of the system: data in the log is in the system's
            # cache.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            # Deleted data is also overwritten in the file.
            connection.execute("PRAGMA secure_delete = ON")
            set_up(connection, str(path))
        except BaseException:
            connection.close()
            raise
        return cls(connection, str(path))

    @classmethod
    def _open_unwritable(cls, path: Path, busy_seconds: float) -> Database:
        # A write-ahead log is read through shared memory, which cannot be made here. Without a log there is none to
        # read: every writer has one.
        written = Path(f"{path}-wal").exists()
        address = f"{path.as_uri()}?mode=ro{'' if written else '&immutable=1'}"
        connection = sqlite3.connect(address, uri=True, timeout=busy_seconds, isolation_level=None)
        try:
            recognise(connection, str(path))
            return cls(connection, str(path))
        except BaseException:
            connection.close()
            raise

    def checkpoint(self) -> None:
        """Move committed data from the write-ahead log to the file; no writer waits for it.

        Data that cannot be moved now, because a reader needs it or the disk is full, stays in the log.
        """
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        """Close the connection; the last one leaves a single file."""
        self._connection.close()

    def create(self, record: SessionRecord, owner: StoreOwner | None = None) -> None:
        """Keep a new session, which belongs to `owner` from its first moment on."""
        with claiming(record.id, owner), self._transaction():
            self._insert(record, events=0, owner=owner)

    def acquire(self, session_id: str, owner: StoreOwner) -> bool:
        """Make `owner` the one that may write; whether the session was open nowhere in this process."""
        with owner.lock:
            with self._transaction():
                row = self._find(session_id)
                if row.owner != owner.name:
                    if row.owner is not None and is_live(self._owners, row.owner):
                        raise in_use(session_id)
                    self._set_owner(row.number, owner.name)
            owner.claims[session_id] += 1
            return owner.claims[session_id] == 1

    def release(self, session_id: str, owner: StoreOwner) -> None:
        """Undo one `acquire`; after the last one the session is free. Without one this does nothing."""
        with owner.lock:
            if owner.claims[session_id] > 1:
                owner.claims[session_id] -= 1
            elif owner.claims.pop(session_id, 0):
                with self._transaction():
                    values = (as_stored(session_id), owner.name)
                    self._connection.execute("UPDATE sessions SET owner = NULL WHERE id = ? AND owner = ?", values)

    def _set_owner(self, number: int, name: str | None) -> None:
        self._connection.execute("UPDATE sessions SET owner = ? WHERE number = ?", (name, number))

    def get(self, session_id: str) -> SessionRecord | None:
        with self._transaction("DEFERRED"):
            sql = f"SELECT {COLUMNS}, {self._principal_column} FROM sessions WHERE id = ? AND NOT {IS_DRAFT}"  # noqa: S608
            row = self._connection.execute(sql, (as_stored(session_id),)).fetchone()
        return None if row is None else as_record(row)

    def patch(
        self,
        session_id: str,
        title: Maybe[str],
        updated_at: Omittable[float],
        state: Maybe[bytes],
        owner: StoreOwner | None = None,
    ) -> None:
        """Change the fields that are not UNSET."""
        with self._transaction():
            row = self._find(session_id)
            self._fence(session_id, row, owner)
            number = row.number
            execute = self._connection.execute
            if title is not UNSET:
                execute("UPDATE sessions SET title = ? WHERE number = ?", (title and as_stored(title), number))
            if updated_at is not UNSET:
                execute("UPDATE sessions SET updated_at = ? WHERE number = ?", (clamped_time(updated_at), number))
            if state is None:
                execute("DELETE FROM states WHERE session = ?", (number,))
            elif state is not UNSET:
                execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (number, state))

    def state(self, session_id: str) -> bytes | None:
        with self._transaction("DEFERRED"):
            number = self._find(session_id).number
            row = self._connection.execute("SELECT state FROM states WHERE session = ?", (number,)).fetchone()
        return None if row is None else bytes(row[0])

    def append(self, batches: Sequence[Batch], owner: StoreOwner | None = None) -> dict[str, StoreError]:
        """Keep all batches in one transaction, or none.

        Returns the errors by session: it does not exist, or another process owns it. The other sessions keep their
        events.
        """
        by_session: dict[str, list[Batch]] = {}
        for batch in batches:
            by_session.setdefault(batch.session_id, []).append(batch)
        errors: dict[str, StoreError] = {}
        with self._transaction():
            for session_id, group in by_session.items():
                try:
                    row = self._find(session_id)
                    self._fence(session_id, row, owner)
                except StoreError as error:
                    errors[session_id] = error
                else:
                    self._append_group(row, group)
        return errors

    def _fence(self, session_id: str, row: _Row, owner: StoreOwner | None) -> None:
        """Refuse to write to a session that belongs to another process, or that this one has lost."""
        if owner is not None and row.owner == owner.name:
            return
        if row.owner is not None:
            if is_live(self._owners, row.owner):
                raise in_use(session_id)
            self._set_owner(row.number, None)
        if owner is not None and owner.claims[session_id]:
            raise not_owned(session_id)

    def _append_group(self, row: _Row, group: list[Batch]) -> None:
        end = position = row.events
        for batch in group:
            end += batch.count
            batch.position = end
        lines = b"\n".join([batch.lines for batch in group if batch.count])
        prompted = row.prompted or has_prompt(lines)
        for count, row_lines in rows_of(lines, end - position):
            position += count
            values = (row.number, position, count, row_lines)
            self._connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", values)
        counted = (position, int(prompted), row.number)
        self._connection.execute("UPDATE sessions SET events = ?, prompted = ? WHERE number = ?", counted)

    def read(self, session_id: str, after: int, limit: int | None) -> list[Event]:
        """The events behind a position, in order."""
        after = max(after, 0)
        with self._transaction("DEFERRED"):
            number, length, *_ = self._find(session_id)
            through = length if limit is None else min(length, after + max(limit, 0))
            lines = list(self._lines(number, after, through))
        if len(lines) != max(through - after, 0):
            raise damaged(self._path)
        return decode_events(lines, self._path, session_id)

    def read_page(self, session_id: str, after: int) -> list[Event]:
        """The next events behind a position, up to the limits of a page."""
        after = max(after, 0)
        page: list[bytes] = []
        size = 0
        with self._transaction("DEFERRED"):
            number, length, *_ = self._find(session_id)
            through = min(length, after + PAGE_EVENTS)
            for line in self._lines(number, after, through):
                size += len(line)
                if page and size > PAGE_BYTES:
                    break
                page.append(line)
        if not page and after < length:
            raise damaged(self._path)
        return decode_events(page, self._path, session_id)

    def _lines(self, number: int, after: int, through: int) -> Iterator[bytes]:
        """The texts of the events `after + 1` to `through`; rows are fetched one by one, and none too many."""
        sql = "SELECT last, count, texts FROM events WHERE session = ? AND last > ? ORDER BY last"
        with contextlib.closing(self._connection.execute(sql, (number, after))) as found:
            reached = after
            for last, count, texts in takewhile(lambda row: row[0] - row[1] < through, found):
                lines = bytes(texts).split(b"\n")
                start = last - count
                if len(lines) != count or start > reached:
                    raise damaged(self._path)
                yield from lines[reached - start : through - start]
                reached = last

    def list_sessions(
        self, cwd: str | None, cursor: str | None, limit: int, *, unprompted: bool = True, principal: str | None = None
    ) -> SessionPage:
        """One page, the last updated first; without `unprompted` those that were prompted or that a process owns."""
        limit = max(limit, 1)
        conditions = [f"NOT {IS_DRAFT}"]
        values: list[Any] = []
        if cwd is not None:
            conditions.append("cwd = ?")
            values.append(as_stored(cwd))
        if principal is not None:
            conditions.append(f"{self._principal_column} = ?")
            values.append(as_stored(principal))
        if cursor is not None:
            updated_at, session_id = decode_cursor(cursor)
            conditions.append("(updated_at, id) < (?, ?)")
            values += [updated_at, as_stored(session_id)]
        if not unprompted:
            conditions.append(f"({self._prompted_column} OR {self._owner_column} IS NOT NULL)")
        names = f"{COLUMNS}, {self._principal_column}, {self._owner_column}, {self._prompted_column}"
        where = " AND ".join(conditions)
        sql = f"SELECT {names} FROM sessions WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?"  # noqa: S608
        # How many rows are left out is known only after they and their owners were looked at, and a negative limit is
        # none for SQLite. The caller's is in it, so that one that SQLite cannot hold fails as everywhere.
        values.append(-limit)
        with self._transaction("DEFERRED"), contextlib.closing(self._connection.execute(sql, values)) as found:
            wanted = (row[:-2] for row in found if unprompted or row[-1] or is_held(self._owners, row[-2]))
            return decode_page(wanted, limit, as_text)

    def fork(self, session_id: str, record: SessionRecord, owner: StoreOwner | None = None) -> None:
        """Copy a session's log and state under a new record, which belongs to `owner`; the source may be another's."""
        with claiming(record.id, owner), self._transaction():
            number, events, _, prompted = self._find(session_id)
            copy = self._insert(record, events, owner, prompted)
            execute = self._connection.execute
            execute("INSERT INTO events SELECT ?, last, count, texts FROM events WHERE session = ?", (copy, number))
            execute("INSERT INTO states SELECT ?, state FROM states WHERE session = ?", (copy, number))

    def publish(self, draft_id: str, session_id: str, owner: StoreOwner | None) -> None:
        """Give a draft its own id, and no owner."""
        with self._transaction():
            row = self._find(draft_id)
            self._fence(draft_id, row, owner)
            if self._look_up(session_id) is not None:
                raise session_exists(session_id)
            values = (as_stored(session_id), row.number)
            self._connection.execute("UPDATE sessions SET id = ?, owner = NULL WHERE number = ?", values)

    def delete(self, session_id: str, owner: StoreOwner | None = None) -> None:
        """Forget a session, if it is there."""
        with self._transaction():
            row = self._look_up(session_id)
            if row is None:
                return
            ours = owner is not None and row.owner == owner.name
            if row.owner is not None and not ours and is_live(self._owners, row.owner):
                raise in_use(session_id)
            self._erase(row.number)

    def prune_unprompted(self, before: float) -> list[str]:
        """Delete the older sessions that were never prompted, and all drafts, as long as no process owns them."""
        chosen = "SELECT number, id, owner FROM sessions WHERE"
        sql = f"{chosen} NOT prompted AND updated_at < ? AND NOT {IS_DRAFT} UNION ALL {chosen} {IS_DRAFT}"
        # Nearly always there are none, and a reader waits for no writer.
        with self._transaction("DEFERRED"):
            found = self._connection.execute(f"{sql} LIMIT 1", (before,)).fetchone()
        if found is None:
            return []
        with self._transaction():
            rows = self._connection.execute(sql, (before,)).fetchall()
            gone: list[str] = []
            for number, id_, owner in rows:
                if not is_held(self._owners, owner):
                    self._erase(number)
                    # An id that another program has written is nobody's.
                    with contextlib.suppress(ValueError):
                        gone.append(as_text(id_))
        return [session_id for session_id in gone if not is_draft(session_id)]

    def _erase(self, number: int) -> None:
        for sql in (
            "DELETE FROM events WHERE session = ?",
            "DELETE FROM states WHERE session = ?",
            "DELETE FROM sessions WHERE number = ?",
        ):
            self._connection.execute(sql, (number,))

    def _find(self, session_id: str) -> _Row:
        row = self._look_up(session_id)
        if row is None:
            raise unknown_session(session_id)
        return row

    def _look_up(self, session_id: str) -> _Row | None:
        sql = f"SELECT number, events, {self._owner_column}, {self._prompted_column} FROM sessions WHERE id = ?"  # noqa: S608
        row = self._connection.execute(sql, (as_stored(session_id),)).fetchone()
        return None if row is None else _Row(*row)

    def _insert(self, record: SessionRecord, events: int, owner: StoreOwner | None, prompted: int = 0) -> int:
        sql = f"INSERT INTO sessions ({COLUMNS}, principal, owner, prompted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
        values = (
            as_stored(record.id),
            as_stored(record.cwd),
            json.dumps(record.roots),
            record.title and as_stored(record.title),
            float(record.created_at),
            float(record.updated_at),
            events,
            as_stored(record.principal),
            None if owner is None else owner.name,
            prompted,
        )
        try:
            number = self._connection.execute(sql, values).lastrowid
        except sqlite3.IntegrityError as error:
            raise session_exists(record.id) from error
        return int(number or 0)

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        """A transaction; exceptions of SQLite inside become a `StoreError`. One in a file that is gone fails too."""
        try:
            # Writers take the lock at once: a transaction that reads first could not wait for it later.
            self._connection.execute(f"BEGIN {kind}")
            yield
            self._files.check()
            self._connection.execute("COMMIT")
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            self._roll_back()
            raise of_sqlite(error, self._path) from error
        except StoreError:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        # After some failures SQLite has rolled back itself.
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
