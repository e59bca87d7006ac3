"""The client's records of sessions, with agent and directory, for `-c`, `-s NAME` and the list of sessions.

The agents keep the conversations themselves. One small SQLite file; every change is one transaction, so that a crash
loses nothing that was noted, and two processes can write at once. It blocks, and belongs to one thread.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from accord.config.paths import ConfigPaths
from accord.errors import StoreError
from accord.stores.errors import of_sqlite, of_system, sqlite_reason
from accord.stores.folder import make_private
from accord.stores.interface import clamped_time
from accord.stores.owner import StoreOwner, is_held, open_owner, owners_folder
from accord.time_scale import scaled

__all__ = ["ClientSessionRecord", "Records"]

# "ACRR": the file says whose it is, and that it is no store of conversations.
APPLICATION_ID = 0x41435252
SCHEMA_VERSION = 3
BUSY_SECONDS = scaled(10.0)
_RETRY_SECONDS = 0.01

_SCHEMA = (
    """CREATE TABLE records (
        agent NOT NULL,
        session_id NOT NULL,
        cwd NOT NULL,
        name,
        title,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        key,
        prompt,
        prompted INTEGER NOT NULL DEFAULT 1,
        owner,
        PRIMARY KEY (agent, session_id)
    )""",
    "CREATE INDEX records_by_name ON records (agent, cwd, name)",
    "CREATE INDEX records_by_cwd ON records (cwd, updated_at)",
)
# The migrations from each version to the next.
_UPGRADES = {
    1: ("ALTER TABLE records ADD COLUMN key",),
    2: (
        "ALTER TABLE records ADD COLUMN prompt",
        # Sessions recorded before may have been prompted.
        "ALTER TABLE records ADD COLUMN prompted INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE records ADD COLUMN owner",
    ),
}
_COLUMNS = "agent, session_id, cwd, name, title, created_at, updated_at, key, prompt, prompted, owner"
# The values of columns that a file of an older version does not have.
_MISSING = {"key": (2, "NULL"), "prompt": (3, "NULL"), "prompted": (3, "1"), "owner": (3, "NULL")}
UNPROMPTED_SECONDS = 7 * 24 * 3600.0
"""How long the record of a session without a prompt is kept."""


@dataclass(frozen=True, slots=True)
class ClientSessionRecord:
    """One session: `agent` is the name by which it was started, `name` the user's name for the session.

    `key` is a random key of ours, made when the session was: agents choose session ids and reuse them. None for a
    session that was recorded before there were keys, or that another client made. `prompt` is the begin of the first
    prompt, where it was recorded. `prompted` is False for a session that was opened and never prompted; `is_open` says
    whether a process has recorded that it has it open.
    """

    agent: str
    session_id: str
    cwd: str
    name: str | None
    title: str | None
    created_at: float
    updated_at: float
    key: str | None = None
    prompt: str | None = field(default=None, compare=False)
    prompted: bool = field(default=True, compare=False)
    is_open: bool = field(default=False, compare=False)


class Records:
    """The user's records; `path` is the file that keeps them, in the platform's state folder unless it is given.

    With `read_only` nothing is written, so that a file system that takes no writes, or another process that writes,
    stops no other process: no file is made where there is none, and one of an older version stays as it is.

    Raises:
        StoreError: The file cannot be used; the message has the reason and advice. ConfigError: No `path` is given, and
        there is no home directory.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        busy_seconds: float = BUSY_SECONDS,
        read_only: bool = False,
    ) -> None:
        place = ConfigPaths.here().records_file if path is None else Path(path)
        self._path = str(place)
        self.left_out: list[str] = []
        """The ids of the rows that the last look found, and that Accord has not written."""
        self._connection = _open(place, busy_seconds, _open_to_read if read_only else _open_once)
        # As bytes of a file name are decoded: by default one text of other bytes ends a whole list.
        self._connection.text_factory = functools.partial(str, encoding="utf-8", errors="surrogateescape")
        self._owner: StoreOwner | None = None
        self._owners = owners_folder(place)
        version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        self._columns = ", ".join(
            f"{_MISSING[name][1]} AS {name}" if version < _MISSING.get(name, (0, ""))[0] else name
            for name in _COLUMNS.split(", ")
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the sessions that this process recorded as open are closed."""
        if self._owner is not None:
            self._owner.close()
            self._owner = None
        self._connection.close()

    def note(  # noqa: PLR0913 - each is a column
        self,
        agent: str,
        session_id: str,
        cwd: str | os.PathLike[str],
        *,
        name: str | None = None,
        title: str | None = None,
        at: float | None = None,
        key: str | None = None,
        prompt: str | None = None,
        opened: bool = False,
    ) -> None:
        """Record that a session was used now. None keeps a field; a name moves to this session from another.

        With `opened` it was opened and not prompted yet: without a prompt it is listed only while this object is not
        closed, and its record is dropped after a week. `prompt` is the first one; a later one changes nothing.

        Give `key` for a session that was made just now: a new session of an id that was used before gets the new key.
        A record never becomes older: of two processes the later one counts.
        """
        moment = clamped_time(time.time() if at is None else at)
        owner = self._own() if opened else None
        place = _column_text(_place(cwd))
        with self._transaction():
            if name is not None:
                self._connection.execute(
                    "UPDATE records SET name = NULL WHERE agent = ? AND cwd = ? AND name = ? AND session_id != ?",
                    (_column_text(agent), place, _column_text(name), _column_text(session_id)),
                )
            self._connection.execute(
                f"INSERT INTO records ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - our own
                "ON CONFLICT (agent, session_id) DO UPDATE SET cwd = excluded.cwd, "
                "name = coalesce(excluded.name, name), title = coalesce(excluded.title, title), "
                "updated_at = max(excluded.updated_at, updated_at), key = coalesce(excluded.key, key), "
                # Another key is another session, of an id that the agent used before.
                "prompt = CASE WHEN excluded.key != key THEN excluded.prompt "
                "ELSE coalesce(prompt, excluded.prompt) END, "
                "prompted = CASE WHEN excluded.key != key THEN excluded.prompted "
                "ELSE max(prompted, excluded.prompted) END, "
                "owner = coalesce(excluded.owner, owner)",
                (
                    *(_column_text(agent), _column_text(session_id), place),
                    *(name and _column_text(name), title and _column_text(title), moment, moment, key),
                    *(prompt and _column_text(prompt), int(not opened), owner),
                ),
            )
            if opened:
                self._prune(moment - UNPROMPTED_SECONDS)

    def _own(self) -> str | None:
        """The name of this process's owner file; None where the file system has no locks."""
        if self._owner is None:
            try:
                self._owner = open_owner(Path(self._path))
            except StoreError:
                return None
        return self._owner.name

    def _prune(self, before: float) -> None:
        sql = "SELECT rowid, owner FROM records WHERE NOT prompted AND updated_at < ?"
        for row, owner in self._connection.execute(sql, (before,)).fetchall():
            if not is_held(self._owners, owner):
                self._connection.execute("DELETE FROM records WHERE rowid = ?", (row,))

    def last(self, cwd: str | os.PathLike[str], agent: str | None = None) -> ClientSessionRecord | None:
        """The session that was used last in a directory, with one agent or with any; one that was prompted, if any."""
        found = self._select(cwd=_place(cwd), agent=agent)
        return next((each for each in found if each.prompted), None) or next(iter(found), None)

    def named(self, name: str, cwd: str | os.PathLike[str], agent: str | None = None) -> ClientSessionRecord | None:
        """The session of a name in a directory."""
        return next(iter(self._select(cwd=_place(cwd), agent=agent, name=name)), None)

    def find(self, session_id: str, agent: str | None = None) -> list[ClientSessionRecord]:
        """The sessions of that id; where none has exactly that id, those whose id begins with it."""
        exact = self._select(agent=agent, session_id=session_id)
        return exact or [each for each in self._select(agent=agent) if each.session_id.startswith(session_id)]

    def all(self, cwd: str | os.PathLike[str] | None = None, agent: str | None = None) -> list[ClientSessionRecord]:
        """All of them, or those of a directory or an agent; the last used first."""
        return self._select(cwd=None if cwd is None else _place(cwd), agent=agent)

    def forget(self, agent: str, session_id: str) -> bool:
        """Drop a record; returns whether there was one."""
        sql = "DELETE FROM records WHERE agent = ? AND session_id = ?"
        with self._transaction():
            return self._connection.execute(sql, (_column_text(agent), _column_text(session_id))).rowcount > 0

    def _select(self, **wanted: str | None) -> list[ClientSessionRecord]:
        given = {column: _column_text(value) for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given) or "TRUE"
        order = "ORDER BY updated_at DESC, rowid DESC"
        sql = f"SELECT {self._columns} FROM records WHERE {where} {order}"  # noqa: S608 - our own words
        with self._transaction("DEFERRED"):
            rows = self._connection.execute(sql, tuple(given.values())).fetchall()
        found: list[ClientSessionRecord] = []
        self.left_out = []
        for row in rows:
            try:
                found.append(_record(row, is_open=row[-1] is not None and is_held(self._owners, row[-1])))
            except ValueError:
                self.left_out.append(str(row[1]))
        return found

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        try:
            self._connection.execute(f"BEGIN {kind}")
            yield
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise of_sqlite(error, self._path) from error


def _open(place: Path, busy_seconds: float, opening: Callable[[Path, float], sqlite3.Connection]) -> sqlite3.Connection:
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            return opening(place, busy_seconds)
        except OSError as error:
            raise of_system(error, str(place)) from error
        except sqlite3.Error as error:
            if _code(error) == sqlite3.SQLITE_CANTOPEN and not os.access(place.parent, os.W_OK):
                # SQLite says no more than that it could not open a file beside the database.
                raise of_system(PermissionError(errno.EACCES, "its folder takes no files"), str(place)) from error
            # SQLite does not wait by itself while another process switches a new file to its write-ahead log.
            if sqlite_reason(error) != "busy" or time.monotonic() >= deadline:
                raise of_sqlite(error, str(place)) from error
            time.sleep(_RETRY_SECONDS)


def _is_there(place: Path) -> bool:
    """Whether the file exists; SQLite would wait for ever for data of a FIFO or a device.

    Raises:
        StoreError: The path is no regular file. OSError: It cannot be accessed.
    """
    try:
        mode = place.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(mode):
        sentence = f"{place}: this is no regular file; move it away, and records begin anew"
        raise StoreError(sentence, reason="foreign", path=str(place))
    return True


def _open_to_read(place: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection that cannot write: to the file, or to nothing where there is no file yet."""
    if not _is_there(place):
        return _nothing()
    address = place.absolute().as_uri()
    try:
        connection = _looked_at(f"{address}?mode=ro", place, busy_seconds)
    except sqlite3.OperationalError as error:
        # The log of a database is shared by a file beside it, also among readers. Where that cannot be made, and no
        # log is waiting, the database alone is all there is.
        log = place.with_name(f"{place.name}-wal")
        if _code(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY} or _has_content(log):
            raise
        connection = _looked_at(f"{address}?immutable=1", place, busy_seconds)
    return connection or _nothing()


def _looked_at(address: str, place: Path, busy_seconds: float) -> sqlite3.Connection | None:
    """A connection to a file that is ours; None where another process is only just making it."""
    connection = sqlite3.connect(address, uri=True, timeout=busy_seconds, isolation_level=None)
    try:
        connection.execute("BEGIN")
        version = _version(connection, place)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    if version == 0:
        connection.close()
        return None
    return connection


def _nothing() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for sql in (*_SCHEMA, f"PRAGMA user_version = {SCHEMA_VERSION}", "PRAGMA query_only = TRUE"):
        connection.execute(sql)
    return connection


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _open_once(place: Path, busy_seconds: float) -> sqlite3.Connection:
    if not _is_there(place):
        make_private(place)
    connection = sqlite3.connect(place, timeout=busy_seconds, isolation_level=None)
    try:
        # In one transaction: a change of another process must not be seen in part.
        connection.execute("BEGIN")
        version = _version(connection, place)
        connection.execute("COMMIT")
        if version == 0:
            connection.execute("PRAGMA journal_mode = WAL")
        if version < SCHEMA_VERSION:
            _upgrade(connection, place)
    except BaseException:
        connection.close()
        raise
    return connection


def _upgrade(connection: sqlite3.Connection, place: Path) -> None:
    """Migrate an empty or older file to our version, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have done this since: only inside the transaction is the version fixed.
    version = _version(connection, place)
    if version == 0:
        statements: Sequence[str] = (*_SCHEMA, f"PRAGMA application_id = {APPLICATION_ID}")
    else:
        statements = [sql for old in range(version, SCHEMA_VERSION) for sql in _UPGRADES[old]]
    for sql in (*statements, f"PRAGMA user_version = {SCHEMA_VERSION}"):
        connection.execute(sql)
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, place: Path) -> int:
    """The version of our tables in the file, 0 for a new one.

    Raises:
        StoreError: The file is another program's, or that of a later Accord.
    """
    application, version, tables = (
        int(connection.execute(sql).fetchone()[0])
        for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    if application != APPLICATION_ID and (application or version or tables):
        sentence = f"{place}: this database belongs to another program; move it away, and records begin anew"
        raise StoreError(sentence, reason="foreign", path=str(place))
    if version > SCHEMA_VERSION:
        sentence = f"{place}: a later version of Accord has written these records; update Accord"
        raise StoreError(sentence, reason="newer", path=str(place))
    return version


def _place(cwd: str | os.PathLike[str]) -> str:
    # The real path: a directory can be entered by several paths.
    return os.path.realpath(cwd)


def _column_text(text: str) -> str | bytes:
    """A text for SQLite: as bytes where UTF-8 cannot encode it (a lone surrogate, a path in other bytes)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _column_value(value: Any) -> Any:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _record(row: Sequence[Any], *, is_open: bool) -> ClientSessionRecord:
    """The record of a row.

    Raises:
        ValueError: The row was not written by Accord.
    """
    agent, session_id, cwd, name, title, created_at, updated_at, key, prompt, prompted, _ = map(_column_value, row)
    needed, optional, moments = (agent, session_id, cwd), (name, title, key, prompt), (created_at, updated_at)
    if not (
        all(isinstance(each, str) for each in needed)
        and all(each is None or isinstance(each, str) for each in optional)
        and all(isinstance(each, float) for each in moments)
    ):
        raise ValueError("this row was not written by Accord")
    return ClientSessionRecord(
        *(agent, session_id, cwd, name, title, *map(clamped_time, moments), key, prompt, bool(prompted), is_open)
    )
