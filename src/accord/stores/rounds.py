"""Rounds: the queued events of one transaction, and the writing thread that all callers of a store share.

Queued events are collected in a round; the first caller to wait for it passes it to the writing thread, and all callers
before that thread starts on it share one transaction. The stores that write through a thread derive from `RoundWriter`
and bring the transaction itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from accord.errors import StoreError
from accord.session.event import Event
from accord.stores.errors import LossLedger, closed
from accord.stores.text import encode_events

__all__ = ["QueuedEvents", "RoundWriter", "as_awaitable"]

T = TypeVar("T")

# A round of this size is written although no caller waits for it yet.
MAX_ROUND_BYTES = 1024 * 1024


class QueuedEvents:
    """Queued events of one session; `position` becomes that of the last event of the log."""

    __slots__ = ("count", "lines", "position", "session_id", "ticket")

    def __init__(self, ticket: int, session_id: str, lines: bytes, count: int) -> None:
        self.ticket = ticket
        self.session_id = session_id
        self.lines = lines
        """The events, a line for each."""
        self.count = count
        self.position = 0


class _Round:
    """The events of one transaction; `future` is set when it was passed to the writing thread."""

    __slots__ = ("future", "queued", "size_bytes", "waiters")

    def __init__(self) -> None:
        self.queued: list[QueuedEvents] = []
        self.size_bytes = 0
        self.future: Future[None] | None = None
        # The waiters of each loop, woken by one callback: waking them one by one takes a thread as long as the disk.
        self.waiters: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    def end(self, future: Future[None]) -> asyncio.Future[None]:
        """The end of the round, as a future of the running loop for one caller, who may be cancelled."""
        loop = asyncio.get_running_loop()
        waiting = loop.create_future()
        if loop not in self.waiters:
            self.waiters[loop] = []
            future.add_done_callback(functools.partial(_wake, loop, self.waiters[loop]))
        self.waiters[loop].append(waiting)
        return waiting


def _wake(loop: asyncio.AbstractEventLoop, waiters: list[asyncio.Future[None]], future: Future[None]) -> None:
    # A loop that was closed has no waiters any more.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_resume, waiters, future.exception())


def _resume(waiters: list[asyncio.Future[None]], error: BaseException | None) -> None:
    for waiting in waiters:
        if waiting.done():
            continue
        if error is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(error)


class RoundWriter:
    """The queue of a store: events wait here in rounds, and one thread commits them in the order of the calls."""

    def __init__(self) -> None:
        # Guards the state shared by callers and the writing thread: everything down to `_closed`.
        self._lock = threading.Lock()
        self._ledger = LossLedger()
        # Rounds that were not started, in order; the last one is open.
        self._rounds = [_Round()]
        self._settled = 0
        self._closed = False
        self._writer = ThreadPoolExecutor(1, "accord-store-writer")

    def _append_batch(self, batch: list[QueuedEvents]) -> dict[str, StoreError]:
        """Keep the batch in one transaction; returns the errors of sessions that could not keep theirs.

        Runs on the writing thread.

        Raises:
            StoreError: Nothing was kept.
        """
        raise NotImplementedError

    # --- on the loop

    def _queue(self, session_id: str, events: Sequence[Event]) -> QueuedEvents:
        lines = encode_events(events)
        with self._lock:
            self._refuse_when_closed()
            queued = QueuedEvents(self._ledger.issue(), session_id, lines, len(events))
            if not self._ledger.lose_also(session_id, queued.ticket):
                current = self._rounds[-1]
                current.queued.append(queued)
                current.size_bytes += len(lines)
                if current.size_bytes >= MAX_ROUND_BYTES:
                    self._start_round()
        return queued

    async def _settle(self, ticket: int | None = None) -> None:
        """Return when the writing thread has handled the queued events, up to the ticket where one is given."""
        with self._lock:
            self._refuse_when_closed()
            if ticket is not None and ticket <= self._settled:
                return
            end = self._rounds[-1].end(self._start_round())
        await end

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        """Append events behind all that were queued before; returns at once, with a ticket for `commit`."""
        return self._queue(session_id, events).ticket

    async def commit(self, session_id: str, ticket: int) -> None:
        """Return when everything that was queued for the session up to `ticket` is committed by the database."""
        await self._settle(ticket)
        with self._lock:
            self._ledger.raise_loss(session_id, ticket)

    async def append(self, session_id: str, events: Sequence[Event]) -> int:
        """Queue and commit; returns the position of the last event of the log."""
        queued = self._queue(session_id, events)
        await self.commit(session_id, queued.ticket)
        return queued.position

    async def flush(self) -> None:
        """Commit all that is queued; raises the first failure that was not reported yet."""
        await self._settle()
        with self._lock:
            self._ledger.raise_any_loss()

    def _start_round(self) -> Future[None]:
        """Ask the writing thread for the open round; it stays open until the thread gets there."""
        current = self._rounds[-1]
        if current.future is None:
            current.future = self._writer.submit(self._write_round, current)
        return current.future

    def _seal_round(self) -> None:
        """Close the open round: a call that follows must see only the events that were queued before it."""
        current = self._rounds[-1]
        if current.queued or current.future is not None:
            self._start_round()
            self._rounds.append(_Round())

    def _submit_writing(self, job: Callable[[], T]) -> Future[T]:
        """Do a job on the writing thread, behind all that was queued before."""
        with self._lock:
            self._refuse_when_closed()
            self._seal_round()
            return self._writer.submit(job)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise closed()

    # --- on the writing thread

    def _write_round(self, current: _Round) -> None:
        with self._lock:
            self._rounds.remove(current)
            if not self._rounds:
                self._rounds.append(_Round())
        batch = current.queued
        if not batch:
            return
        try:
            errors = self._append_batch(batch)
        except StoreError as error:
            errors = {queued.session_id: error for queued in batch}
        self._finish(batch, errors)

    def _finish(self, batch: list[QueuedEvents], errors: dict[str, StoreError]) -> None:
        """Settle a batch; the sessions in `errors` have lost it, and lose the events already queued behind it."""
        with self._lock:
            self._settled = batch[-1].ticket
            if not errors:
                return
            for queued in batch:
                self._lose(queued, errors)
            for later in self._rounds:
                later.queued = [queued for queued in later.queued if not self._lose(queued, errors)]

    def _lose(self, queued: QueuedEvents, errors: dict[str, StoreError]) -> bool:
        error = errors.get(queued.session_id)
        if error is not None:
            self._ledger.lose(queued.session_id, queued.ticket, error)
        return error is not None


def as_awaitable(future: Future[T]) -> asyncio.Future[T]:
    """The result of a thread's job, as a future of the running loop."""
    return asyncio.wrap_future(future)
