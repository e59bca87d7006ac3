"""The listener of a store: one connection that is notified of every commit, and wakes the watchers of its session.

A notification says `number head` for each session of a commit. Once a second the listener also asks for the heads of
all watched sessions, in one statement: a notification that was lost, with its connection, is found then.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from accord.errors import StoreError
from accord.stores.errors import closed, unknown_session
from accord.stores.postgres.connection import DatabaseAddress, PersistentConnection
from accord.stores.postgres.encoding import escaped

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PostgresConnection

__all__ = ["CommitListener", "Subscription"]

POLL_SECONDS = 1.0


class Subscription:
    """One watcher: its session, and the state that it was woken with."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.head = 0
        self.is_gone = False
        self.is_closed = False
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    async def wait(self, position: int) -> None:
        """Return when the log has events behind `position`, or the session or the store is gone.

        Raises:
            StoreError: `closed`.
        """
        while self.head <= position and not self.is_gone and not self.is_closed:
            self._woken.clear()
            await self._woken.wait()
        if self.is_closed:
            raise closed()
        # Reset, so that a reader that finds nothing waits for the next notification.
        self.head = 0
        self.is_gone = False

    def wake(self, head: int, *, is_gone: bool = False, is_closed: bool = False) -> None:
        """On the listening thread."""

        def set_now() -> None:
            self.head = max(self.head, head)
            self.is_gone |= is_gone
            self.is_closed |= is_closed
            self._woken.set()

        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(set_now)


class CommitListener:
    """Listens on a thread of its own, from the first subscription to `close`."""

    def __init__(
        self,
        address: DatabaseAddress,
        schema: str,
        patience_seconds: float,
        prepare: Callable[[PostgresConnection], None],
    ) -> None:
        self._schema = schema
        self._prepare = prepare
        self._address = address
        self._connection = PersistentConnection(address, patience_seconds, self._listen)
        self._lock = threading.Lock()
        self._subscriptions: dict[int, set[Subscription]] = {}
        self._jobs: list[tuple[str, asyncio.AbstractEventLoop, asyncio.Future[int]]] = []
        self._is_closed = False
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="accord-store-listener", daemon=True)
        self._thread.start()

    async def subscribe(self, session_id: str) -> Subscription:
        """Listen for a session; from the return on, every commit wakes the subscription.

        Raises:
            StoreError: There is no such session, or the database cannot be asked.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        with self._lock:
            if self._is_closed:
                raise closed()
            self._jobs.append((session_id, loop, future))
        self._wake()
        subscription = Subscription(await future)
        with self._lock:
            self._subscriptions.setdefault(subscription.number, set()).add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        with self._lock:
            others = self._subscriptions.get(subscription.number, set())
            others.discard(subscription)
            if not others:
                self._subscriptions.pop(subscription.number, None)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        self._wake()
        self._thread.join()
        self._connection.close()
        self._wake_reader.close()
        self._wake_writer.close()
        for subscriptions in list(self._subscriptions.values()):
            for each in list(subscriptions):
                each.wake(0, is_closed=True)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_writer.send(b"x")

    # --- on the listening thread

    def _listen(self, connection: PostgresConnection) -> None:
        """On every new connection."""
        self._address.require_own_process(connection)
        self._prepare(connection)
        connection.on_notification(self._receive)
        connection.rows(f"listen {self._schema}")

    def _run(self) -> None:
        polled = time.monotonic()
        while not self._is_closed:
            left = polled + POLL_SECONDS - time.monotonic()
            connection = self._connection.connection
            try:
                if connection is None:
                    # A database that is away sends no notifications; the next statement opens the connection again.
                    if not self._jobs and self._subscriptions:
                        left = min(left, POLL_SECONDS / 10)
                    self._sleep(left)
                elif connection.wait_readable(self._wake_reader.fileno(), left):
                    self._connection.run(lambda open_, again: None if again else open_.receive_pending())
                self._answer_jobs()
                if time.monotonic() >= polled + POLL_SECONDS or self._connection.connection is None:
                    polled = time.monotonic()
                    self._poll()
            except StoreError:
                pass  # the database is away: the next poll tries again
        for _, loop, future in self._jobs:
            _settle(loop, future, closed())

    def _sleep(self, seconds: float) -> None:
        self._wake_reader.settimeout(max(seconds, 0.0) or 0.001)
        with contextlib.suppress(OSError):
            self._wake_reader.recv(4096)

    def _answer_jobs(self) -> None:
        with self._lock:
            jobs, self._jobs = self._jobs, []
        for session_id, loop, future in jobs:
            try:
                number = self._connection.run(lambda connection, _: self._number(connection, session_id))  # noqa: B023
            except StoreError as error:
                _settle(loop, future, error)
            else:
                _settle(loop, future, number)

    def _number(self, connection: PostgresConnection, session_id: str) -> int:
        row = connection.row(f"select number from {self._schema}.sessions where id = %s", [escaped(session_id)])
        if row is None:
            raise unknown_session(session_id)
        return int(row[0])

    def _poll(self) -> None:
        with self._lock:
            numbers = list(self._subscriptions)
        if not numbers:
            return
        sql = f"select number, head from {self._schema}.sessions where number = any(%s)"
        heads: dict[int, int] = dict(self._connection.run(lambda connection, _: connection.rows(sql, [numbers])))
        for number in numbers:
            self._notify(number, heads.get(number, 0), is_gone=number not in heads)

    def _receive(self, payload: str) -> None:
        words = payload.split()
        for number, head in zip(words[::2], words[1::2], strict=False):
            self._notify(int(number), int(head))

    def _notify(self, number: int, head: int, *, is_gone: bool = False) -> None:
        with self._lock:
            subscriptions = list(self._subscriptions.get(number, ()))
        for each in subscriptions:
            each.wake(head, is_gone=is_gone)


def _settle(loop: asyncio.AbstractEventLoop, future: asyncio.Future[int], result: int | StoreError) -> None:
    """Answer a caller of another thread, which may have gone."""

    def set_now() -> None:
        if future.done():
            return
        if isinstance(result, StoreError):
            future.set_exception(result)
        else:
            future.set_result(result)

    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(set_now)
