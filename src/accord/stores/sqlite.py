"""The store in a SQLite file: a writing and a reading thread beside the loop, and commits shared by callers.

One thread writes, another reads. Queued events are collected in a round; the first caller to wait for it passes it to
the writing thread, and all callers before that thread starts on it share one transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from accord.errors import StoreError
from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.event import Event
from accord.stores.database import Database
from accord.stores.errors import LossLedger, closed
from accord.stores.interface import SessionPage, SessionRecord
from accord.stores.owner import StoreOwner, open_owner
from accord.stores.text import encode_event

__all__ = ["SqliteStore"]

T = TypeVar("T")

# A round of this size is written although no caller waits for it yet.
_MAX_ROUND_BYTES = 1024 * 1024


class _Queued:
    """Queued events of one session."""

    __slots__ = ("position", "session_id", "texts", "ticket")

    def __init__(self, ticket: int, session_id: str, texts: list[bytes]) -> None:
        self.ticket = ticket
        self.session_id = session_id
        self.texts = texts
        self.position = 0


class _Round:
    """The events of one transaction; `future` is set when it was passed to the writing thread."""

    __slots__ = ("ends", "future", "queued", "size_bytes")

    def __init__(self) -> None:
        self.queued: list[_Queued] = []
        self.size_bytes = 0
        self.future: Future[None] | None = None
        # One future for each loop, for any number of waiters: waking them one by one takes a thread as long as the
        # disk.
        self.ends: dict[asyncio.AbstractEventLoop, asyncio.Future[None]] = {}

    def end(self, future: Future[None]) -> asyncio.Future[None]:
        """The end of the round, as a future of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self.ends:
            self.ends[loop] = _result(future)
        return self.ends[loop]


class SqliteStore:
    """A `Store` in one file, which several processes may share.

    The file is made at the first call that needs it, readable by its owner alone. `busy_seconds` bounds how long a call
    waits while another process writes.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = 5.0) -> None:
        self.path: Path = Path(path).absolute()
        """The path of the database."""
        self._busy_seconds = busy_seconds
        # Guards the state shared by callers and the writing thread: everything down to `_closed`.
        self._lock = threading.Lock()
        self._ledger = LossLedger()
        # Rounds that were not started, in order; the last one is open.
        self._rounds = [_Round()]
        self._settled = 0
        self._closed = False
        # Each database belongs to the thread beside it.
        self._writer = ThreadPoolExecutor(1, "accord-store-writer")
        self._writing: Database | None = None
        self._owner: StoreOwner | None = None
        self._claimed: Counter[str] = Counter()
        self._reader = ThreadPoolExecutor(1, "accord-store-reader")
        self._reading: Database | None = None

    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        """Keep a new session with an empty log; with `owned` it is acquired too."""
        await self._write(lambda database: self._make(record, functools.partial(database.create, record), owned=owned))

    async def acquire(self, session_id: str) -> bool:
        """Make this process the owner of the session; whether it was open nowhere in this process."""
        future = self._submit(lambda database: self._take(database, session_id))
        try:
            return await asyncio.shield(_result(future))
        except asyncio.CancelledError:
            # The caller was cancelled, so no other code would release it.
            with contextlib.suppress(StoreError):
                self._submit(lambda database: self._give_back(database, session_id, future))
            raise

    async def release(self, session_id: str) -> None:
        """Undo one `acquire`, after the queued events are committed."""
        await asyncio.shield(_result(self._submit(lambda database: self._let_go(database, session_id))))

    async def get(self, session_id: str) -> SessionRecord | None:
        """The session's record, or None where there is no such session."""
        return await self._read(lambda database: database.get(session_id))

    async def exists(self, session_id: str) -> bool:
        """Whether there is such a session."""
        return await self.get(session_id) is not None

    async def patch(
        self,
        session_id: str,
        *,
        title: Maybe[str] = UNSET,
        updated_at: float | UnsetType = UNSET,
        state: Maybe[bytes] = UNSET,
    ) -> None:
        """Change the given fields, all or none; `UNSET` keeps, None clears."""
        await self._write(lambda database: database.patch(session_id, title, updated_at, state, self._owner))

    async def state(self, session_id: str) -> bytes | None:
        """The author's own state, as it was last patched."""
        return await self._read(lambda database: database.state(session_id))

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        """Append events behind all that were queued before; returns at once, with a ticket for `commit`."""
        return self._queue(session_id, events).ticket

    async def commit(self, session_id: str, ticket: int) -> None:
        """Return when everything that was queued for the session up to `ticket` is in the file."""
        await self._settle(ticket)
        with self._lock:
            self._ledger.raise_loss(session_id, ticket)

    async def flush(self) -> None:
        """Commit all that is queued; raises the first failure that was not reported yet."""
        await self._settle()
        with self._lock:
            self._ledger.raise_any_loss()

    async def append(self, session_id: str, events: Sequence[Event]) -> int:
        """Queue and commit; returns the position of the last event of the log."""
        queued = self._queue(session_id, events)
        await self.commit(session_id, queued.ticket)
        return queued.position

    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events behind position `after`, in order, including those queued before this call."""
        return await self._read(lambda database: database.read(session_id, after, limit))

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        """The next events behind position `after`, as many as fit into a page; decoded on the reading thread."""
        return await self._read(lambda database: database.read_page(session_id, after))

    async def list_sessions(
        self, *, cwd: str | None = None, cursor: str | None = None, limit: int = 50, unprompted: bool = True
    ) -> SessionPage:
        """One page of the sessions, the last updated first, of exactly that `cwd` where one is given."""
        return await self._read(lambda database: database.list_sessions(cwd, cursor, limit, unprompted=unprompted))

    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        """Create a session with a copy of the log, including queued events, and of the state."""
        await self._write(
            lambda database: self._make(record, functools.partial(database.fork, session_id, record), owned=owned)
        )

    async def delete(self, session_id: str) -> None:
        """Delete the session, its log and its state."""
        await self._write(lambda database: database.delete(session_id, self._owner))

    async def prune_unprompted(self, before: float) -> list[str]:
        """Delete the sessions without a prompt and an owner whose `updated_at` is earlier."""
        return await self._write(lambda database: database.prune_unprompted(before))

    async def close(self) -> None:
        """Commit the queued events and close the file; may be called again."""
        with self._lock:
            if self._closed:
                return
            self._seal_round()
            self._closed = True
            reading = self._reader.submit(self._end_reading)
            endings = [self._writer.submit(self._end_writing, reading), reading]
        # Submitted work is still done, also when this call is cancelled.
        self._writer.shutdown(wait=False)
        self._reader.shutdown(wait=False)
        await asyncio.shield(asyncio.gather(*map(_result, endings)))
        # Both have done their last work: this waits for no more than the end of two idle threads.
        self._writer.shutdown()
        self._reader.shutdown()
        with self._lock:
            self._ledger.raise_any_loss()

    # --- on the loop

    def _queue(self, session_id: str, events: Sequence[Event]) -> _Queued:
        texts = [encode_event(event) for event in events]
        with self._lock:
            self._refuse_when_closed()
            queued = _Queued(self._ledger.issue(), session_id, texts)
            if not self._ledger.lose_also(session_id, queued.ticket):
                current = self._rounds[-1]
                current.queued.append(queued)
                current.size_bytes += sum(map(len, texts))
                if current.size_bytes >= _MAX_ROUND_BYTES:
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

    async def _write(self, job: Callable[[Database], T]) -> T:
        return await _result(self._submit(job))

    def _submit(self, job: Callable[[Database], T]) -> Future[T]:
        with self._lock:
            self._refuse_when_closed()
            self._seal_round()
            return self._writer.submit(self._run_writing, job)

    async def _read(self, job: Callable[[Database], T]) -> T:
        await self._settle()
        with self._lock:
            self._refuse_when_closed()
            future = self._reader.submit(self._run_reading, job)
        return await _result(future)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise closed()

    # --- on the writing thread

    def _run_writing(self, job: Callable[[Database], T]) -> T:
        return job(self._open_writing())

    def _write_round(self, current: _Round) -> None:
        with self._lock:
            self._rounds.remove(current)
            if not self._rounds:
                self._rounds.append(_Round())
        batch = current.queued
        if not batch:
            return
        try:
            errors = self._open_writing().append(batch, self._owner)
        except StoreError as error:
            errors = {queued.session_id: error for queued in batch}
        self._finish(batch, errors)

    def _finish(self, batch: list[_Queued], errors: dict[str, StoreError]) -> None:
        """Settle a batch; the sessions in `errors` have lost it, and lose the events already queued behind it."""
        with self._lock:
            self._settled = batch[-1].ticket
            if not errors:
                return
            for queued in batch:
                self._lose(queued, errors)
            for later in self._rounds:
                later.queued = [queued for queued in later.queued if not self._lose(queued, errors)]

    def _lose(self, queued: _Queued, errors: dict[str, StoreError]) -> bool:
        error = errors.get(queued.session_id)
        if error is not None:
            self._ledger.lose(queued.session_id, queued.ticket, error)
        return error is not None

    def _open_writing(self) -> Database:
        if self._writing is None:
            self._writing = Database.open(self.path, self._busy_seconds)
        return self._writing

    def _end_writing(self, reading: Future[None]) -> None:
        # One after the other: the last connection leaves a single file, and of two that close at once neither is it.
        wait([reading])
        if self._writing is None:
            return
        # A session that cannot be released is free as soon as the owner file is gone.
        with contextlib.suppress(StoreError):
            for session_id in list(self._claimed.elements()):
                self._let_go(self._writing, session_id)
        if self._owner is not None:
            self._owner.close()
        self._writing.close()

    # --- on the writing thread: sessions that are owned

    def _own(self) -> StoreOwner:
        if self._owner is None:
            self._owner = open_owner(self.path)
        return self._owner

    def _make(self, record: SessionRecord, make: Callable[[StoreOwner | None], None], *, owned: bool) -> None:
        make(self._own() if owned else None)
        self._claimed[record.id] += owned

    def _take(self, database: Database, session_id: str) -> bool:
        first = database.acquire(session_id, self._own())
        self._claimed[session_id] += 1
        return first

    def _give_back(self, database: Database, session_id: str, taking: Future[bool]) -> None:
        if not taking.cancelled() and taking.exception() is None:
            self._let_go(database, session_id)

    def _let_go(self, database: Database, session_id: str) -> None:
        # Sessions that another store of this process has acquired are not released.
        if self._owner is not None and self._claimed[session_id]:
            self._claimed[session_id] -= 1
            database.release(session_id, self._owner)

    # --- on the reading thread

    def _run_reading(self, job: Callable[[Database], T]) -> T:
        if self._reading is None:
            self._reading = Database.open_to_read(self.path, self._busy_seconds)
        return job(self._reading)

    def _end_reading(self) -> None:
        if self._reading is not None:
            self._reading.close()


def _result(future: Future[T]) -> asyncio.Future[T]:
    return asyncio.wrap_future(future)
