"""The threads of a store in PostgreSQL: their connections, the writing of rounds, and the sessions that it owns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from accord.errors import StoreError
from accord.stores.errors import in_use, not_owned, unknown_session
from accord.stores.interface import SessionRecord
from accord.stores.postgres.events import EventTable, SessionAppend
from accord.stores.postgres.failures import lease_too_short, missing_extra
from accord.stores.postgres.lease import NodeLease, close_lease, open_lease
from accord.stores.postgres.nodes import Fence, NodeRecord, NodeTable, OwnedBy, StaleClaim, StaleLease
from accord.stores.postgres.schema import check_name, set_up
from accord.stores.postgres.sessions import SessionTable
from accord.stores.postgres.statistics import StoreStatistics
from accord.stores.rounds import QueuedEvents, RoundWriter
from accord.version import VERSION

if TYPE_CHECKING:
    from accord.stores.postgres.connection import DatabaseAddress, PersistentConnection, PostgresConnection

__all__ = ["PostgresWriter"]

T = TypeVar("T")

_READERS = 2
# How long a call waits at most that may be made again, or that the end of the lease makes needless: a read, a release.
MAX_SHORT_PATIENCE_SECONDS = 5.0
# How many owners of one session may turn out to be dead, one after the other, while it is being claimed.
_MAX_DEAD_OWNERS = 3
# How many leases may end while one call is under way.
_LEASES_IN_A_CALL = 2


class PostgresWriter(RoundWriter):
    """The part of a store that runs on its threads; `PostgresStore` has the methods for callers."""

    def __init__(
        self,
        conninfo: str,
        direct: str | None,
        schema: str,
        node: NodeRecord,
        *,
        lease_seconds: float,
        patience_seconds: float,
    ) -> None:
        super().__init__()
        self._schema = check_name(schema)
        self._conninfo = conninfo
        self._direct = direct
        self._node = node
        self._lease_seconds = lease_seconds
        self._patience_seconds = patience_seconds
        self._short_patience = min(patience_seconds, MAX_SHORT_PATIENCE_SECONDS)
        self._nodes = NodeTable(self._schema)
        self._sessions = SessionTable(self._schema, self._nodes)
        self._events = EventTable(self._schema, self._sessions)
        self._reader = ThreadPoolExecutor(_READERS, "accord-store-reader")
        # Connections belong to the thread that opened them; all are closed with the store.
        self._local = threading.local()
        self._connections: list[PersistentConnection] = []
        self._is_set_up = False
        self._statistics = StoreStatistics()
        # On the writing thread.
        self._lease: NodeLease | None = None
        self._claimed: Counter[str] = Counter()
        self._lost_callbacks: list[tuple[asyncio.AbstractEventLoop, Callable[[frozenset[str]], None]]] = []
        # The stores of one process with one node name share a lease.
        self._lease_key = (direct or conninfo, self._schema, node.name)

    # --- on any thread

    def _address(self, conninfo: str | None = None) -> DatabaseAddress:
        try:
            from accord.stores.postgres.connection import DatabaseAddress  # noqa: PLC0415 - the extra `postgres`
        except ImportError:
            raise missing_extra() from None
        return DatabaseAddress(self._conninfo if conninfo is None else conninfo, self._patience_seconds)

    def _connect(self) -> PersistentConnection:
        """The connection of this thread."""
        found: PersistentConnection | None = getattr(self._local, "connection", None)
        if found is None:
            address = self._address()
            from accord.stores.postgres.connection import PersistentConnection  # noqa: PLC0415 - needs the driver

            found = self._local.connection = PersistentConnection(address, self._patience_seconds, self._prepare)
            with self._lock:
                self._connections.append(found)
        return found

    def _prepare(self, connection: PostgresConnection) -> None:
        if not self._is_set_up:
            set_up(connection, self._schema)
            self._is_set_up = True

    # --- on a reading thread

    def _run_reading(self, job: Callable[[PostgresConnection], T]) -> T:
        with self._statistics.counting():
            return self._connect().run(
                lambda connection, _: job(connection), patience_seconds=self._short_patience, repeats_slow=False
            )

    def _end_reading(self) -> None:
        self._reader.shutdown()
        for connection in self._connections:
            connection.close()

    # --- on the writing thread

    def _writing(self) -> PersistentConnection:
        return self._connect()

    def _append_batch(self, batch: list[QueuedEvents]) -> dict[str, StoreError]:
        appends: dict[str, SessionAppend] = {}
        errors: dict[str, StoreError] = {}
        for queued in batch:
            session_id = queued.session_id
            if session_id not in appends and session_id not in errors:
                try:
                    appends[session_id] = SessionAppend(session_id, self._fence(session_id))
                except StoreError as error:
                    errors[session_id] = error
            if session_id in appends:
                appends[session_id].queued.append(queued)
        if appends:
            with self._statistics.counting(commits=True):
                errors |= self._events.append(self._writing(), list(appends.values()), self._is_dead)
        self._statistics.errors.update(error.reason for error in errors.values())
        if self._lease is not None:
            for append in appends.values():
                self._note_result(self._lease, append, errors.get(append.session_id))
        return errors

    def _note_result(self, lease: NodeLease, append: SessionAppend, refusal: StoreError | None) -> None:
        if append.raised is not None:
            lease.raise_epoch(append.session_id, append.raised)
        elif refusal is not None and refusal.reason == "not_owned":
            lease.lose_one(append.session_id)
        elif append.is_unsure:
            lease.give_up(append.session_id)

    def _is_dead(self, connection: PostgresConnection, owned: OwnedBy) -> bool:
        return self._nodes.end_if_dead(connection, owned.incarnation)

    def _open_now(self) -> None:
        self._writing().run(lambda connection, _: connection.rows("select 1"))
        if self._node.name:
            self._leased().ensure()

    def _fence(self, session_id: str) -> Fence:
        return Fence() if self._lease is None else self._lease.fence(session_id)

    def _change(self, session_id: str, change: Callable[[PostgresConnection, Fence], None]) -> None:
        """Write to a session under its fence; the claim of a dead owner does not count."""
        fence = self._fence(session_id)
        self._despite_dead_owners(lambda connection: change(connection, fence))

    def _despite_dead_owners(self, job: Callable[[PostgresConnection], T]) -> T:
        """Do a job on a session, once more where the process of its present owner turns out to be dead."""
        for _ in range(_MAX_DEAD_OWNERS):
            try:
                return self._writing().run(lambda connection, _: job(connection))
            except StaleClaim as stale:
                if self._lease is not None:
                    self._lease.lose_one(stale.session_id)
                raise not_owned(stale.session_id) from None
            except OwnedBy as owned:
                present = owned
                if not self._writing().run(lambda connection, _: self._is_dead(connection, present)):  # noqa: B023
                    break
        raise in_use(present.session_id)

    # --- on the writing thread: sessions that are owned

    def _leased(self) -> NodeLease:
        if self._lease is None:
            name = self._node.name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
            record = NodeRecord("", name, self._node.address, VERSION)
            self._lease = open_lease(self._lease_key, self._connect_lease, self._nodes, record, self._lease_seconds)
            self._lease.listeners.append(self._lost)
        return self._lease

    def _connect_lease(self, hold_lock: Callable[[PostgresConnection], None]) -> PersistentConnection:
        address = self._address(self._direct)
        from accord.stores.postgres.connection import PersistentConnection  # noqa: PLC0415 - needs the driver

        def prepare(connection: PostgresConnection) -> None:
            address.require_own_process(connection)
            self._prepare(connection)
            hold_lock(connection)

        return PersistentConnection(address, self._patience_seconds, prepare)

    def _with_lease(self, job: Callable[[NodeLease, str], T]) -> T:
        """Do a job with a lease that lasts; with a new one where the database says that this one is over."""
        lease = self._leased()
        with lease.changes:
            for _ in range(_LEASES_IN_A_CALL):
                try:
                    return job(lease, lease.ensure())
                except StaleLease:
                    lease.lose()
        raise lease_too_short(self._lease_seconds)

    def _make(self, record: SessionRecord, source: str | None, *, owned: bool) -> None:
        made_by = uuid.uuid4()
        if not owned:
            self._writing().run(lambda connection, _: self._sessions.create(connection, record, made_by, None, source))
            return

        def make(lease: NodeLease, incarnation: str) -> None:
            self._writing().run(
                lambda connection, _: self._sessions.create(connection, record, made_by, incarnation, source)
            )
            try:
                lease.claim(record.id, 1, incarnation)
            except StoreError:
                self._writing().run(lambda connection, _: self._sessions.undo_create(connection, record.id, made_by))
                raise StaleLease from None

        self._with_lease(make)
        self._claimed[record.id] += 1

    def _take(self, session_id: str) -> bool:
        def take(lease: NodeLease, incarnation: str) -> bool:
            # A claim that was lost must be released first: its holder could write with the new one.
            held = lease.fence(session_id)
            claimed = self._despite_dead_owners(lambda connection: self._nodes.claim(connection, session_id, held))
            if claimed is None:
                raise unknown_session(session_id)
            try:
                return lease.claim(session_id, claimed, incarnation)
            except StoreError:
                fence = Fence(incarnation, claimed)
                self._writing().run(lambda connection, _: self._nodes.release(connection, session_id, fence))
                raise

        first = self._with_lease(take)
        self._claimed[session_id] += 1
        return first

    def _give_back(self, session_id: str, taking: Future[bool]) -> None:
        if not taking.cancelled() and taking.exception() is None:
            self._let_go(session_id)

    def _let_go(self, session_id: str) -> None:
        # Sessions that another store of this process has acquired are not released.
        if self._lease is None or not self._claimed[session_id]:
            return
        self._claimed[session_id] -= 1
        with self._lease.changes:
            fence = self._lease.let_go(session_id)
            if fence is not None:
                self._writing().run(
                    lambda connection, _: self._nodes.release(connection, session_id, fence),
                    patience_seconds=self._short_patience,
                )

    def _lost(self, sessions: frozenset[str]) -> None:
        """Called on the thread that noticed the loss."""
        own = frozenset(name for name in sessions if self._claimed[name])
        for loop, callback in self._lost_callbacks if own else ():
            # A loop that has ended gets no call.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(callback, own)

    def _end_writing(self) -> None:
        if self._lease is None:
            return
        # A session that cannot be released is free when the lease is over.
        with contextlib.suppress(StoreError):
            for session_id in list(self._claimed.elements()):
                self._let_go(session_id)
        self._lease.listeners.remove(self._lost)
        close_lease(self._lease_key, self._lease)
