"""The SQLite schema of sessions: creation, recognition and migration of the tables, and the conversion of rows.

`user_version` of the file is the number of its schema. A change of the tables is a new number and a row in
`_MIGRATIONS`; databases of every older schema are fixtures of the tests.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from accord.errors import StoreError
from accord.stores.interface import SessionRecord
from accord.stores.text import decode_record

__all__ = [
    "APPLICATION_ID",
    "COLUMNS",
    "MAX_ROW_BYTES",
    "OWNERS_SINCE",
    "PRINCIPAL_SINCE",
    "PROMPTED_SINCE",
    "SCHEMA_VERSION",
    "as_record",
    "as_stored",
    "as_text",
    "recognise",
    "rows_of",
    "schema_version",
    "set_up",
]

# "ACRD": the file says whose it is, so that another program's database is never taken for a damaged one of ours.
APPLICATION_ID = 0x41435244
SCHEMA_VERSION = 4
OWNERS_SINCE = 2
PROMPTED_SINCE = 3
PRINCIPAL_SINCE = 4

_UNPROMPTED_INDEX = "CREATE INDEX sessions_unprompted ON sessions (updated_at) WHERE NOT prompted"

_SCHEMA = (
    """CREATE TABLE sessions (
        number INTEGER PRIMARY KEY,
        id NOT NULL UNIQUE,
        cwd NOT NULL,
        roots TEXT NOT NULL,
        title,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        events INTEGER NOT NULL,
        owner TEXT,
        prompted INTEGER NOT NULL DEFAULT 0,
        principal NOT NULL DEFAULT ''
    )""",
    "CREATE INDEX sessions_by_time ON sessions (updated_at, id)",
    "CREATE INDEX sessions_by_cwd ON sessions (cwd, updated_at, id)",
    _UNPROMPTED_INDEX,
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

# The migrations from each schema to the next. `owner` names the file of the process that has the session open;
# `prompted` says that the log has a message of the user. To look into every log would take long: one with anything in
# it counts.
_MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: ("ALTER TABLE sessions ADD COLUMN owner TEXT",),
    2: (
        "ALTER TABLE sessions ADD COLUMN prompted INTEGER NOT NULL DEFAULT 0",
        "UPDATE sessions SET prompted = events > 0",
        _UNPROMPTED_INDEX,
    ),
    3: ("ALTER TABLE sessions ADD COLUMN principal NOT NULL DEFAULT ''",),
}


def recognise(connection: sqlite3.Connection, path: str) -> None:
    """Refuse another program's database, before anything is changed in it."""
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


def set_up(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables of a new file, or bring those of an older schema up to this one, in one transaction."""
    if _pragma(connection, "user_version") == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have done this since, also one of a later version.
    recognise(connection, path)
    version = _pragma(connection, "user_version")
    if version == 0:
        for sql in _SCHEMA:
            connection.execute(sql)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for older in range(version or SCHEMA_VERSION, SCHEMA_VERSION):
        for sql in _MIGRATIONS[older]:
            connection.execute(sql)
    if version < SCHEMA_VERSION:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def schema_version(connection: sqlite3.Connection) -> int:
    """The schema of the file as it is."""
    return _pragma(connection, "user_version")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


# A group of events that is larger becomes several rows: a reader of a few events should not load them all.
MAX_ROW_BYTES = 256 * 1024

COLUMNS = "id, cwd, roots, title, created_at, updated_at, events"


def _event_rows(texts: list[bytes]) -> Iterator[list[bytes]]:
    """The events of one group, cut into rows."""
    row: list[bytes] = []
    size = 0
    for text in texts:
        row.append(text)
        size += len(text)
        if size >= MAX_ROW_BYTES:
            yield row
            row, size = [], 0
    if row:
        yield row


def rows_of(lines: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    """The rows of so many events that are joined, a line for each: the size and the text of each row."""
    if len(lines) >= MAX_ROW_BYTES:
        for row in _event_rows(lines.split(b"\n")):
            yield len(row), b"\n".join(row)
    elif count:
        yield count, lines


def as_stored(text: str) -> str | bytes:
    """A text as SQLite takes it: as bytes where UTF-8 cannot encode it.

    That is half an emoji in a title, or a path that is no UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def as_text(value: object) -> str:
    """The text that was stored.

    Raises:
        ValueError: It is not a text of ours.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")  # noqa: TRY004 - as for wrong bytes
    return value


def as_record(row: Sequence[Any]) -> SessionRecord:
    """The record that stands in the `COLUMNS` of a row and in its principal, which follows them.

    Raises:
        StoreError: `unreadable`.
    """
    return decode_record(row, as_text)
