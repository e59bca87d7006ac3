"""The file of an index: columns in blocks of rows, in an SQLite database beside the trace (`FILE.idx`).

SQLite has what an index beside a live writer needs: a change is whole or absent after a kill, and readers and writers
exclude each other. The columns are blobs of `BLOCK_ROWS` values each, so that one value is found by reading one blob,
and a filter reads the columns that it looks at and no others. All of it follows from the trace: an index that is
damaged, or of another version or trace, is made again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from accord.trace.index_columns import COLUMNS, IndexColumns, IndexState

__all__ = ["IndexFile", "KeptState", "index_path"]

INDEX_VERSION = 2
APPLICATION_ID = 0x41435458
"""`ACTX`: says that a database is an index of ours."""
BLOCK_ROWS = 32_768
_DIGEST_BYTES = 4096
_BUSY_SECONDS = 2.0


def index_path(trace: Path) -> Path:
    """The path of a trace's index."""
    return trace.with_name(f"{trace.name}.idx")


class KeptState(NamedTuple):
    """The extent of a kept index, and the state of the trace when it was kept."""

    rows: int
    end: int
    """The offset in the trace behind the last indexed line."""
    digest: str
    """The digest of the trace's first and last indexed bytes: another file has another one."""
    size: int
    """The size of the trace when the index was kept, and below the time of its last change, in nanoseconds."""
    changed: int


class IndexFile:
    """An index on disk. Every failure of SQLite or the disk means that there is none."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace
        self.path = index_path(trace)

    def read(self) -> tuple[KeptState, IndexColumns] | None:
        """The whole index; None where there is none, one of another version or another trace, or a damaged one."""
        try:
            with self._database() as database:
                # One state of the file, though another process may keep more just now.
                database.execute("begin")
                state = self.read_kept(database) if _is_ours(database) else None
                if state is None or not self._fits(state):
                    return None
                columns = IndexColumns(_read_words(database))
                sums: dict[int, int] = {}
                for name in COLUMNS:
                    column: array[Any] = getattr(columns, name)
                    for number, blob in database.execute(f'select number, "{name}" from block order by number'):  # noqa: S608
                        column.frombytes(blob)
                        sums[number] = zlib.crc32(blob, sums.get(number, 0))
                    if len(column) < state.rows:
                        return None
                    del column[state.rows :]
                if sums != dict(database.execute("select number, sum from block")):
                    return None
        except (sqlite3.Error, OSError, ValueError, TypeError, KeyError):
            return None
        return state, columns

    def read_place(self, row: int) -> tuple[int, int] | None:
        """The offset and the length of one row, read without anything else of the index; None where it has none."""
        number, place = divmod(row, BLOCK_ROWS)
        try:
            with self._database() as database:
                if not _is_ours(database):
                    return None
                state = self.read_kept(database)
                if state is None or row >= state.rows or not self._fits(state):
                    return None
                return _value(database, "offset", number, place), _value(database, "length", number, place)
        except (sqlite3.Error, OSError, IndexError):
            return None

    def write(self, columns: IndexColumns, before: KeptState | None, end: int) -> KeptState | None:
        """Keep the rows that `columns` has and the kept index has not; None where they could not be kept.

        Another process may have kept more in the meantime: then nothing is written.
        """
        try:
            status = self.trace.stat()
            state = KeptState(len(columns), end, self._digest(end), status.st_size, status.st_mtime_ns)
            with self._database(writable=True) as database:
                database.execute("begin immediate")
                if _has_other(database):
                    return None
                if before is None or self.read_kept(database) != before:
                    if before is not None:
                        return None
                    _create(database)
                first = 0 if before is None else before.rows // BLOCK_ROWS
                changed = {row // BLOCK_ROWS for row in columns.changed} if before is not None else set()
                last = (len(columns) + BLOCK_ROWS - 1) // BLOCK_ROWS
                for number in sorted(changed | set(range(first, last))):
                    _write_block(database, columns, number)
                _write_state(database, columns.state, state)
                database.commit()
        except (sqlite3.Error, OSError, ValueError):
            return None
        columns.changed.clear()
        return state

    def read_kept(self, database: sqlite3.Connection) -> KeptState | None:
        """The state in an open database; None where it has none."""
        try:
            row = database.execute("select value from state where key = 'kept'").fetchone()
            return KeptState(*json.loads(row[0]))
        except (sqlite3.Error, TypeError, ValueError):
            return None

    @contextmanager
    def _database(self, *, writable: bool = False) -> Iterator[sqlite3.Connection]:
        if writable and not self.path.exists():
            # Private like the trace; SQLite would make it with the umask alone. A link that appears is not followed.
            with suppress(FileExistsError):
                self.path.touch(mode=0o600, exist_ok=False)
        mode = "rw" if writable else "ro"
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as database:
            yield database

    def _fits(self, state: KeptState) -> bool:
        try:
            status = self.trace.stat()
            # A recorder only appends: a file that changed and has the same size was changed before its end.
            if status.st_size == state.size and status.st_mtime_ns != state.changed:
                return False
            return status.st_size >= state.end and self._digest(state.end) == state.digest
        except (OSError, TypeError, ValueError):
            return False

    def _digest(self, end: int) -> str:
        with self.trace.open("rb") as file:
            digest = hashlib.sha256(file.read(min(_DIGEST_BYTES, end)))
            file.seek(max(0, end - _DIGEST_BYTES))
            digest.update(file.read(min(_DIGEST_BYTES, end)))
        return digest.hexdigest()


def _value(database: sqlite3.Connection, name: str, number: int, place: int) -> int:
    """One value of a column; SQLite reads the page that has it, and not the blob."""
    values: array[int] = array(COLUMNS[name])
    size = values.itemsize
    with database.blobopen("block", name, number, readonly=True) as blob:
        blob.seek(place * size)
        values.frombytes(blob.read(size))
    return values[0]


def _is_ours(database: sqlite3.Connection) -> bool:
    found = (
        database.execute("pragma application_id").fetchone()[0],
        database.execute("pragma user_version").fetchone()[0],
    )
    if found != (APPLICATION_ID, INDEX_VERSION):
        return False
    order = database.execute("select value from state where key = 'order'").fetchone()
    return bool(order) and order[0] == sys.byteorder


def _has_other(database: sqlite3.Connection) -> bool:
    """Whether the database is another program's, which is not touched."""
    mark = database.execute("pragma application_id").fetchone()[0]
    if mark == APPLICATION_ID:
        return False
    return bool(database.execute("select count(*) from sqlite_master").fetchone()[0])


def _create(database: sqlite3.Connection) -> None:
    database.execute("drop table if exists block")
    database.execute("drop table if exists state")
    names = ", ".join(f'"{name}" blob not null' for name in COLUMNS)
    database.execute(f"create table block (number integer primary key, {names}, sum integer not null)")
    database.execute("create table state (key text primary key, value text not null)")
    database.execute(f"pragma application_id = {APPLICATION_ID}")
    database.execute(f"pragma user_version = {INDEX_VERSION}")
    database.execute("insert into state values ('order', ?)", (sys.byteorder,))


def _write_block(database: sqlite3.Connection, columns: IndexColumns, number: int) -> None:
    part = slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
    blobs = [column[part].tobytes() for column in columns.columns().values()]
    marks = ", ".join("?" * (len(blobs) + 2))
    values = (number, *blobs, _sum_of(blobs))
    database.execute(f"insert or replace into block values ({marks})", values)  # noqa: S608 - no value in it


def _sum_of(parts: Iterable[bytes]) -> int:
    """A checksum: SQLite has none for its values."""
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found


def _write_state(database: sqlite3.Connection, state: IndexState, kept: KeptState) -> None:
    open_ = [[connection, direction, id_, row] for (connection, direction, id_), row in state.open.items()]
    values = {"kept": list(kept), "words": state.words, "ends": state.ends, "open": open_}
    rows = [(key, json.dumps(value)) for key, value in values.items()]
    rows.append(("sum", str(_sum_of(text.encode() for _, text in rows))))
    database.executemany("insert or replace into state values (?, ?)", rows)


def _read_words(database: sqlite3.Connection) -> IndexState:
    found: dict[str, Any] = dict(database.execute("select key, value from state where key != 'order'").fetchall())
    if found["sum"] != str(_sum_of(found[key].encode() for key in ("kept", "words", "ends", "open"))):
        raise ValueError("the words are damaged")
    words, ends, open_ = (json.loads(found[key]) for key in ("words", "ends", "open"))
    return IndexState.of(words, [(source, target) for source, target in ends], open_)
