"""Rounds: the queued events of one transaction, and the writing thread that all callers of a store share.

Queued events are collected in a round; the first caller to wait for it passes it to the writing thread, and all callers
before that thread starts on it share one transaction. The stores that write through a thread derive from `RoundWriter`
and bring the transaction itself.
"""

from __future__ import annotations

import asyncio
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

    @property
    def texts(self) -> list[bytes]:
        """The text of each event."""
        return self.lines.split(b"\n") if self.count else []


class _Round:
    """The events of one transaction; `future` is set when it was passed to the writing thread."""

    __slots__ = ("ends", "future", "queued", "size_bytes")

    def __init__(self) -> None:
        self.queued: list[QueuedEvents] = []
        self.size_bytes = 0
        self.future: Future[None] | None = None
        # One future for each loop, for any number of waiters: waking them one by one takes a thread as long as the
        # disk.
        self.ends: dict[asyncio.AbstractEventLoop, asyncio.Future[None]] = {}

    def end(self, future: Future[None]) -> asyncio.Future[None]:
        """The end of the round, as a future of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self.ends:
            self.ends[loop] = as_awaitable(future)
        return self.ends[loop]


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
        # The future is shared: a cancelled waiter must not cancel it for the others.
        await asyncio.shield(end)

    async def _commit(self, session_id: str, ticket: int) -> None:
        await self._settle(ticket)
        with self._lock:
            self._ledger.raise_loss(session_id, ticket)

    async def _flush(self) -> None:
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
