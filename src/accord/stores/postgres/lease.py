"""The lease of this process: one incarnation for all its stores on a database, and the sessions claimed with it.

One thread renews the lease at a third of its time, on the connection that also holds the advisory lock, and another
ends it by the local clock when no renewal came through: before another process may have it by the clock of the
database. Then every claim is lost, and the next one is made with a new incarnation.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from accord.errors import StoreError
from accord.stores.errors import not_owned
from accord.stores.postgres.nodes import Fence, NodeRecord, NodeTable

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PersistentConnection, PostgresConnection

__all__ = ["NodeLease", "close_lease", "open_lease"]

log = logging.getLogger("accord.stores")

T = TypeVar("T")


class _Claim:
    """How often a session was acquired in this process, and with which epoch; None: it was lost.

    One that was given up is this process's until it is released, and nothing more is written with it.
    """

    __slots__ = ("count", "epoch", "is_given_up")

    def __init__(self, epoch: int) -> None:
        self.count = 1
        self.epoch: int | None = epoch
        self.is_given_up = False


class NodeLease:
    """This process as one database knows it; the same object for every store of one node name.

    `changes` is held while a session is claimed or released: the stores of a process have a writing thread each.
    """

    def __init__(
        self,
        connect: Callable[[Callable[[PostgresConnection], None]], PersistentConnection],
        nodes: NodeTable,
        record: NodeRecord,
        lease_seconds: float,
    ) -> None:
        self.changes = threading.RLock()
        self.listeners: list[Callable[[frozenset[str]], None]] = []
        self.users = 0
        self.incarnation = ""
        self.failed_renewals = 0
        self._previous = ""
        self._nodes = nodes
        self._record = record
        self._seconds = lease_seconds
        self._number = secrets.randbits(62)
        self._claims: dict[str, _Claim] = {}
        # Guards the claims, the incarnation and its end; never held while a statement runs.
        self._state = threading.Condition()
        self._until = 0.0
        self._renew_at = 0.0
        self._is_closed = False
        # The connection is used by the renewing thread, and by others between its waits.
        self._connecting = threading.RLock()
        self._connection = connect(self._hold_lock)
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._threads: list[threading.Thread] = []

    # --- on the writing threads

    def ensure(self) -> str:
        """The incarnation of this process; takes a new one where there is none, or the last one was lost.

        Raises:
            StoreError: `name_taken`, or the database failed.
        """
        with self.changes:
            self._check_time()
            if self.incarnation:
                return self.incarnation
            incarnation = secrets.token_hex(12)
            record = msgspec.structs.replace(self._record, incarnation=incarnation)
            with self._connecting:
                # The lock first: no process may see the node without it and take it for dead.
                self._connection.close()
                started = time.monotonic()
                self._run(
                    lambda connection: self._nodes.join(connection, record, self._number, self._seconds, self._previous)
                )
            with self._state:
                self.incarnation = self._previous = incarnation
                self._set_end(started)
            self._start()
            self._wake()
            return incarnation

    @property
    def left_seconds(self) -> float:
        """The rest of the lease by the clock of this process; 0 without one."""
        with self._state:
            return max(self._until - time.monotonic(), 0.0) if self.incarnation else 0.0

    def claim(self, session_id: str, epoch: int, incarnation: str) -> bool:
        """Count one more claim; whether it is the first of this process.

        Raises:
            StoreError: `not_owned`: the lease was lost meanwhile, or an earlier claim was and is not released yet.
        """
        with self._state:
            claim = self._claims.get(session_id)
            if incarnation != self.incarnation or (claim is not None and claim.epoch != epoch):
                raise not_owned(session_id)
            if claim is None:
                self._claims[session_id] = _Claim(epoch)
                return True
            claim.count += 1
            return False

    def let_go(self, session_id: str) -> Fence | None:
        """Undo one claim; the fence of the session where it was the last one and the session is still ours."""
        with self._state:
            claim = self._claims.get(session_id)
            if claim is None:
                return None
            claim.count -= 1
            if claim.count:
                return None
            del self._claims[session_id]
            return None if claim.epoch is None else Fence(self.incarnation, claim.epoch)

    def fence(self, session_id: str) -> Fence:
        """The right of this process to write to a session; one without an epoch where it has no claim.

        Raises:
            StoreError: `not_owned`: it had one, and lost it.
        """
        self._check_time()
        with self._state:
            claim = self._claims.get(session_id)
            if claim is None:
                return Fence(self.incarnation)
            if claim.epoch is None or claim.is_given_up:
                raise not_owned(session_id)
            return Fence(self.incarnation, claim.epoch)

    def lose_one(self, session_id: str) -> None:
        """Note that the database has refused the claim of this process on a session."""
        with self._state:
            claim = self._claims.get(session_id)
            if claim is None or claim.epoch is None:
                return
            claim.epoch = None
        self._report(frozenset([session_id]))

    def give_up(self, session_id: str) -> None:
        """Write nothing more with the claim on a session: the next one gets another epoch."""
        with self._state:
            claim = self._claims.get(session_id)
            if claim is not None:
                claim.is_given_up = True

    def raise_epoch(self, session_id: str, fence: Fence) -> None:
        """Go on with the epoch that an append has left."""
        with self._state:
            claim = self._claims.get(session_id)
            if claim is not None and claim.epoch is not None and fence.incarnation == self.incarnation:
                claim.epoch = fence.epoch

    def lose(self) -> None:
        """Lose the lease: the database says that it is over."""
        self._lose(self.incarnation)

    def set_draining(self) -> None:
        incarnation = self.ensure()
        self._record = msgspec.structs.replace(self._record, draining=True)
        with self._connecting:
            self._run(lambda connection: self._nodes.set_draining(connection, incarnation))

    def release_all(self) -> list[str]:
        """Release every session; later writes to them are refused."""
        with self.changes:
            with self._state:
                held = [name for name, claim in self._claims.items() if claim.epoch is not None]
                incarnation = self.incarnation
                for name in held:
                    self._claims[name].epoch = None
            if incarnation:
                with self._connecting:
                    self._run(lambda connection: self._nodes.release_all(connection, incarnation))
            return held

    def close(self) -> None:
        """End the lease and the threads. Where the database is away, the lease ends by itself."""
        with self._state:
            self._is_closed = True
            incarnation, self.incarnation = self.incarnation, ""
            self._state.notify_all()
        self._wake()
        with self._connecting:
            if incarnation:
                with contextlib.suppress(StoreError):
                    self._run(lambda connection: self._nodes.end(connection, incarnation), patience_seconds=0.5)
            self._connection.close()
        for thread in self._threads:
            thread.join()
        self._wake_reader.close()
        self._wake_writer.close()

    # --- the end of a lease

    def _set_end(self, started: float) -> None:
        """Begin to count at the time before the statement was sent: the database counts from a later one."""
        self._until = started + self._seconds
        self._renew_at = started + self._seconds / 3
        self._state.notify_all()

    def _check_time(self) -> None:
        """Lose the lease where its time is over, also when the thread that ends it has not run yet."""
        with self._state:
            is_over = bool(self.incarnation) and time.monotonic() >= self._until
            incarnation = self.incarnation
        if is_over:
            self._lose(incarnation)

    def _lose(self, incarnation: str) -> None:
        with self._state:
            if self.incarnation != incarnation or not incarnation:
                return
            lost = frozenset(name for name, claim in self._claims.items() if claim.epoch is not None)
            for name in lost:
                self._claims[name].epoch = None
            self.incarnation = ""
            self._state.notify_all()
        self._wake()
        log.warning("the lease of this process is over, sessions that were lost with it: %d", len(lost))
        self._report(lost)

    def _report(self, lost: frozenset[str]) -> None:
        for listener in list(self.listeners):
            listener(lost)

    # --- the two threads

    def _start(self) -> None:
        if not self._threads:
            for work, name in ((self._renew_for_ever, "accord-store-lease"), (self._end_in_time, "accord-store-end")):
                self._threads.append(threading.Thread(target=work, name=name, daemon=True))
                self._threads[-1].start()

    def _end_in_time(self) -> None:
        """Wait for the end of each lease: a renewal that hangs does not hold this thread."""
        while True:
            with self._state:
                if self._is_closed:
                    return
                incarnation, left = self.incarnation, self._until - time.monotonic()
                if not incarnation:
                    self._state.wait()
                    continue
                if left > 0:
                    self._state.wait(left)
                    continue
            self._lose(incarnation)

    def _renew_for_ever(self) -> None:
        while True:
            with self._state:
                if self._is_closed:
                    return
                incarnation, left = self.incarnation, self._renew_at - time.monotonic()
            self._sleep(left if incarnation else self._seconds)
            if incarnation:
                self._renew(incarnation)

    def _sleep(self, seconds: float) -> None:
        """Wait for the next renewal; less where the connection was cut, to have the lock again before it is missed."""
        connection = self._connection.connection
        with contextlib.suppress(OSError, ValueError):
            if connection is not None and not connection.is_broken:
                connection.wait_readable(self._wake_reader.fileno(), seconds)
                return
        self._wake_reader.settimeout(max(seconds, 0.0) or 0.001)
        with contextlib.suppress(OSError):
            self._wake_reader.recv(4096)

    def _renew(self, incarnation: str) -> None:
        started = time.monotonic()
        left = self._until - started
        try:
            with self._connecting:
                if incarnation != self.incarnation:
                    return
                lasts = self._run(
                    lambda connection: self._nodes.renew(connection, incarnation, self._seconds),
                    patience_seconds=max(min(left, self._seconds / 3), 0.05),
                )
        except StoreError as error:
            log.warning("a lease could not be renewed: %s", error)
            self.failed_renewals += 1
            with self._state:
                self._renew_at = time.monotonic() + self._seconds / 20
            return
        if not lasts:
            self._lose(incarnation)
            return
        with self._state:
            if incarnation == self.incarnation:
                self._set_end(started)

    # --- the connection

    def _run(self, job: Callable[[PostgresConnection], T], patience_seconds: float | None = None) -> T:
        return self._connection.run(lambda connection, _: job(connection), patience_seconds=patience_seconds)

    def _hold_lock(self, connection: PostgresConnection) -> None:
        """On every new connection: the advisory lock by which others see that this process lives.

        It is another one each time, with a higher number: the server may still hold that of a connection that it does
        not know to be lost.
        """
        self._number += 1
        connection.rows("select pg_advisory_lock(%s)", [self._number])
        if self.incarnation:
            self._nodes.set_lock(connection, self.incarnation, self._number)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_writer.send(b"x")

    def forget_after_fork(self) -> None:
        """In a forked child: the connection and the claims are the parent's."""
        connection = self._connection.connection
        if connection is not None:
            connection.forget_after_fork()


class _Registry:
    """The leases of this process, by database and node name."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.leases: dict[tuple[str, str, str], NodeLease] = {}

    def end_all(self) -> None:
        """At the end of the program: end the leases that it did not close, instead of keeping them to their end."""
        with self.lock:
            leases, self.leases = list(self.leases.values()), {}
        for lease in leases:
            lease.close()

    def forget(self) -> None:
        """In a forked child."""
        leases, self.leases = list(self.leases.values()), {}
        self.lock = threading.Lock()
        for lease in leases:
            lease.forget_after_fork()


_registry = _Registry()
atexit.register(_registry.end_all)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_registry.forget)


def open_lease(
    key: tuple[str, str, str],
    connect: Callable[[Callable[[PostgresConnection], None]], PersistentConnection],
    nodes: NodeTable,
    record: NodeRecord,
    lease_seconds: float,
) -> NodeLease:
    """The lease of this process for a database and a node name; every call needs a `close_lease`."""
    with _registry.lock:
        lease = _registry.leases.get(key)
        if lease is None:
            lease = _registry.leases[key] = NodeLease(connect, nodes, record, lease_seconds)
        lease.users += 1
        return lease


def close_lease(key: tuple[str, str, str], lease: NodeLease) -> None:
    """Give up one use; the last one ends the lease."""
    with _registry.lock:
        lease.users -= 1
        if lease.users or _registry.leases.get(key) is not lease:
            return
        del _registry.leases[key]
    lease.close()
