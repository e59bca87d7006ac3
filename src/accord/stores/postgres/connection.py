"""Connections to PostgreSQL: bounded in time, opened again when they are lost, and free of session state.

Every statement may go through a transaction pooler: nothing is set for a session, the time limit is the client's, and
a statement is prepared only where the server behind the connection is the one that it was made to. The connection of
leases and the one that listens need the server itself.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import generators
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from accord.errors import StoreError
from accord.stores.postgres.encoding import FrequentStatement
from accord.stores.postgres.failures import StatementFailure, failure_of, pooled, store_error, wrong_conninfo

__all__ = ["DatabaseAddress", "PersistentConnection", "PostgresConnection"]

T = TypeVar("T")
Row = tuple[Any, ...]

FIRST_PAUSE_SECONDS = 0.02
MAX_PAUSE_SECONDS = 1.0
# A statement gets so much of the time, or a third of it where that is more.
FULL_TRY_SECONDS = 5.0
# Another client of a pooler may take the server that the check looks for, so the check is repeated.
_POOLER_LOOKS = 3
_POOLER_SECONDS = 1.0
# Without these the system reports an unreachable network only after many minutes.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000}


class DatabaseAddress:
    """A connection string, and a description of it without its password.

    Raises:
        StoreError: `bad_address`: it cannot be parsed.
    """

    def __init__(self, conninfo: str, patience_seconds: float) -> None:
        try:
            values = conninfo_to_dict(conninfo)
        except psycopg.Error:
            values = None
        if values is None:
            # Raised here and not above: the driver's exception quotes the string, and would be its context.
            raise wrong_conninfo()
        self.password: str = str(values.get("password") or "")
        added: dict[str, Any] = {
            "application_name": "accord",
            "connect_timeout": max(2, math.ceil(patience_seconds)),
            **_KEEPALIVE,
        }
        if "," in str(values.get("host") or values.get("hostaddr") or ""):
            # Of several servers the primary is wanted; which that is may change.
            added["target_session_attrs"] = "read-write"
        # The texts among binary values are UTF-8.
        self._conninfo = make_conninfo(**{**added, **values, "client_encoding": "UTF8"})
        self._has_limit = "connect_timeout" in values
        place = str(values.get("host") or values.get("hostaddr") or "localhost")
        port = f":{values['port']}" if values.get("port") else ""
        self.where = f"{place}{port}/{values.get('dbname') or values.get('user') or ''}"

    def connect(self, seconds: float = math.inf) -> PostgresConnection:
        """Connect within a time, of two seconds at least, unless the connection string has one."""
        has_limit = self._has_limit or seconds == math.inf
        limit: dict[str, Any] = {} if has_limit else {"connect_timeout": math.ceil(seconds)}
        connected = _BoundedConnection.connect(self._conninfo, autocommit=True, prepare_threshold=None, **limit)
        return PostgresConnection(connected)

    def require_own_process(self, connection: PostgresConnection) -> None:
        """Refuse a connection whose server changes between transactions: no lock and no subscription would last.

        A pooler that gives each client a server of its own for as long as it is connected is fine.

        Raises:
            StoreError: `pooled`.
        """
        if connection.is_own_server:
            return
        for _ in range(_POOLER_LOOKS):
            before = connection.process
            other = self.connect()
            try:
                other.set_deadline(time.monotonic() + _POOLER_SECONDS)
                is_shared = other.process == before
            except (psycopg.Error, _Expired):
                is_shared = False  # it waits for a server of its own
            finally:
                other.close()
            if is_shared or connection.process != before:
                raise pooled(self.where)


class _Expired(Exception):
    """The time of a statement is over."""


class _BoundedConnection(psycopg.Connection[Row]):
    """A connection of psycopg whose every wait ends at `deadline`."""

    deadline: float = math.inf

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        return super().wait(_bounded(gen, self.deadline), *arguments, **options)


def _bounded(steps: Any, deadline: float) -> Generator[Any, Any, Any]:
    """The steps of a statement, up to the deadline: psycopg wakes them at least ten times a second."""
    try:
        state = next(steps)
        while True:
            ready = yield state
            if not ready and time.monotonic() >= deadline:
                raise _Expired
            state = steps.send(ready)
    except StopIteration as end:
        return end.value


class PostgresConnection:
    """One open connection; for one thread."""

    def __init__(self, connected: _BoundedConnection) -> None:
        self._connected = connected
        # None: not known yet whether statements can be prepared.
        self._prepared: set[bytes] | None = None
        self._can_prepare = False

    @property
    def is_broken(self) -> bool:
        return self._connected.closed

    @property
    def process(self) -> int:
        """The process id of the server behind the next statement; through a pooler it may be another one each time."""
        return int(self.rows("select pg_backend_pid()")[0][0])

    @property
    def announced_process(self) -> int:
        """The process id that was announced when the connection was made: that of no process where it is a pooler's."""
        return self._connected.info.backend_pid

    @property
    def is_own_server(self) -> bool:
        """Whether the server behind this connection has announced itself: a pooler may change it at any time."""
        return self.process == self.announced_process

    def set_deadline(self, deadline: float) -> None:
        """Every statement from now on raises when it is not done by then."""
        self._connected.deadline = deadline

    def rows(self, sql: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[Row]:
        """Run one statement and return its rows; outside of a transaction it is one by itself."""
        cursor = self._connected.execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description is not None else []

    def row(self, sql: str, values: Sequence[object] | Mapping[str, object] = ()) -> Row | None:
        """The first row of a statement, or None."""
        return next(iter(self.rows(sql, values)), None)

    def rows_frequent(self, statement: FrequentStatement, values: list[bytes | None]) -> list[list[bytes | None]]:
        """Run a statement with values in binary, outside of a transaction; the rows are in the format of texts.

        Past the cursors and adapters of psycopg, which take three times as long as the statement's own handling.
        """
        driver = self._connected.pgconn
        if self._is_prepared(statement):
            driver.send_query_prepared(statement.name, values, [Format.BINARY] * len(values))
        else:
            driver.send_query_params(statement.sql, values, None, [Format.BINARY] * len(values))
        result = self._result()
        columns = range(result.nfields)
        return [[result.get_value(row, column) for column in columns] for row in range(result.ntuples)]

    def _is_prepared(self, statement: FrequentStatement) -> bool:
        if self._prepared is None:
            self._prepared = set()
            self._can_prepare = self.is_own_server
        if self._can_prepare and statement.name not in self._prepared:
            self._connected.pgconn.send_prepare(statement.name, statement.sql)
            self._result()
            self._prepared.add(statement.name)
        return self._can_prepare

    def _result(self) -> PGresult:
        """Wait for the end of the statement that was sent, up to the deadline."""
        results = self._connected.wait(generators.execute(self._connected.pgconn))
        for result in results:
            if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
                raise error_from_result(result, "utf-8")
        last: PGresult = results[-1]
        return last

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Several statements as one; an exception inside undoes them."""
        with self._connected.transaction():
            yield

    def on_notification(self, receive: Callable[[str], None]) -> None:
        """Call `receive` with the payload of each notification, while statements run and in `receive_pending`."""
        self._connected.add_notify_handler(lambda notification: receive(notification.payload))
        self._receive = receive

    def receive_pending(self) -> None:
        """Take the notifications that have arrived; raises where the connection is gone."""
        driver = self._connected.pgconn
        driver.consume_input()
        while (notification := driver.notifies()) is not None:
            self._receive(notification.extra.decode())

    def wait_readable(self, wake: int, seconds: float) -> bool:
        """Sleep until the server has sent something, or closed; False after the time or a byte at `wake`."""
        try:
            own = self._connected.fileno()
            # Not `select.select`, which takes no descriptor above 1023.
            with selectors.DefaultSelector() as selector:
                for descriptor in (own, wake):
                    selector.register(descriptor, selectors.EVENT_READ)
                ready = {key.fd for key, _ in selector.select(max(seconds, 0.0))}
        except (psycopg.Error, OSError, ValueError):
            return True
        if wake in ready:
            os.read(wake, 4096)
        return own in ready

    def close(self) -> None:
        with contextlib.suppress(psycopg.Error, OSError):
            self._connected.close()

    def abandon(self) -> None:
        """Close it in the middle of a statement, which the server is asked to stop."""
        with contextlib.suppress(Exception):
            self._connected.cancel_safe(timeout=1.0)
        self.close()

    def forget_after_fork(self) -> None:
        """In a forked child: give up the socket, which is the parent's."""
        with contextlib.suppress(Exception):
            os.close(self._connected.fileno())


class PersistentConnection:
    """A connection that is opened at its first use and again after each loss; for one thread at a time.

    `prepare` runs on every new connection. A call waits up to `patience_seconds` for a server that is away or does not
    answer, and tries again on another connection meanwhile; in an outage that has lasted longer, every call tries once.
    """

    def __init__(
        self,
        address: DatabaseAddress,
        patience_seconds: float,
        prepare: Callable[[PostgresConnection], None] | None = None,
    ) -> None:
        self._address = address
        self.patience_seconds = patience_seconds
        self._prepare = prepare
        self._connection: PostgresConnection | None = None
        self._away_since: float | None = None

    @property
    def connection(self) -> PostgresConnection | None:
        """The connection as it is now; None before the first use and after a loss."""
        return self._connection

    def run(
        self,
        job: Callable[[PostgresConnection, bool], T],
        *,
        patience_seconds: float | None = None,
        repeats_slow: bool = True,
    ) -> T:
        """Do a job, again after a lost connection or a deadlock: then it is called with True.

        With `repeats_slow` one that gets no answer is given a part of the time, and tried again on another connection.

        A job that is called with True must expect that its statements took effect before: the connection may have
        been lost between the commit and its answer.

        Raises:
            StoreError: It failed, or the server was away for too long.
        """
        patience = self.patience_seconds if patience_seconds is None else patience_seconds
        now = time.monotonic()
        deadline = max(now, (now if self._away_since is None else self._away_since) + patience)
        # Also the only try of an outage gets time to answer.
        last = max(deadline, now + min(patience, 1.0))
        # A statement that hangs on one connection may pass on another one.
        each = max(patience / 3, min(patience / 2, FULL_TRY_SECONDS)) if repeats_slow else patience
        pause = FIRST_PAUSE_SECONDS
        again = False
        while True:
            try:
                result = job(self._opened(min(last, time.monotonic() + each)), again)
            except (psycopg.Error, OSError, _Expired) as error:
                failure = self._handle(error)
                if not failure.again or time.monotonic() + pause >= deadline:
                    raise self._error(failure, error) from None
                again = True
            else:
                self._away_since = None
                return result
            time.sleep(pause)
            pause = min(pause * 2, MAX_PAUSE_SECONDS)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _opened(self, expires: float) -> PostgresConnection:
        if self._connection is None:
            connection = self._address.connect(expires - time.monotonic())
            try:
                connection.set_deadline(expires)
                if self._prepare is not None:
                    self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        self._connection.set_deadline(expires)
        return self._connection

    def _handle(self, error: Exception) -> StatementFailure:
        connection = self._connection
        if isinstance(error, _Expired):
            failure = StatementFailure("slow", is_lost=True, again=True)
        else:
            is_broken = connection is None or connection.is_broken or isinstance(error, OSError)
            failure = failure_of(getattr(error, "sqlstate", None), str(error), is_broken=is_broken)
        if failure.is_lost:
            self._connection = None
            if connection is not None:
                connection.abandon() if isinstance(error, _Expired) else connection.close()
            if failure.again and self._away_since is None:
                self._away_since = time.monotonic()
        return failure

    def _error(self, failure: StatementFailure, error: Exception) -> StoreError:
        details = "" if isinstance(error, _Expired) else str(error)
        return store_error(failure.reason, self._address.where, details, self._address.password)
