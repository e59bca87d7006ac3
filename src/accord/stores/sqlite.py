"""The store in a SQLite file: a writing and a reading thread beside the loop, and commits shared by callers.

One thread writes, another reads; `stores.rounds` collects the queued events for the first. The second one also moves
the write-ahead log to the file: no commit waits for the disk meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from accord.errors import StoreError
from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.event import Event
from accord.stores.database import Database
from accord.stores.interface import SessionPage, SessionRecord
from accord.stores.owner import StoreOwner, open_owner
from accord.stores.polling import poll_events
from accord.stores.rounds import QueuedEvents, RoundWriter, as_awaitable

__all__ = ["SqliteStore"]

T = TypeVar("T")

# So many bytes of events are committed between two checkpoints. On the writing thread each is a pause of 20 ms, in all
# a seventh of the time of a long stream.
CHECKPOINT_BYTES = 4 * 1024 * 1024


class SqliteStore(RoundWriter):
    """A `Store` in one file, which several processes may share.

    The file is made at the first call that needs it, readable by its owner alone. `busy_seconds` bounds how long a call
    waits while another process writes.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = 5.0) -> None:
        super().__init__()
        self.path: Path = Path(path).absolute()
        """The path of the database."""
        self._busy_seconds = busy_seconds
        # Each database belongs to the thread of its name.
        self._writing: Database | None = None
        self._owner: StoreOwner | None = None
        self._claimed: Counter[str] = Counter()
        self._reader = ThreadPoolExecutor(1, "accord-store-reader")
        self._reading: Database | None = None
        self._checkpoint: Future[None] | None = None
        self._unmoved_bytes = 0
        """Events since the last checkpoint began."""

    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        """Keep a new session with an empty log; with `owned` it is acquired too."""
        await self._write(lambda database: self._make(record, functools.partial(database.create, record), owned=owned))

    async def acquire(self, session_id: str) -> bool:
        """Make this process the owner of the session; whether it was open nowhere in this process."""
        future = self._submit(lambda database: self._take(database, session_id))
        try:
            return await asyncio.shield(as_awaitable(future))
        except asyncio.CancelledError:
            # The caller was cancelled, so no other code would release it.
            with contextlib.suppress(StoreError):
                self._submit(lambda database: self._give_back(database, session_id, future))
            raise

    async def release(self, session_id: str) -> None:
        """Undo one `acquire`, after the queued events are committed."""
        await asyncio.shield(as_awaitable(self._submit(lambda database: self._let_go(database, session_id))))

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

    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events behind position `after`, in order, including those queued before this call."""
        return await self._read(lambda database: database.read(session_id, after, limit))

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        """The next events behind position `after`, as many as fit into a page; decoded on the reading thread."""
        return await self._read(lambda database: database.read_page(session_id, after))

    async def list_sessions(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        unprompted: bool = True,
        principal: str | None = None,
    ) -> SessionPage:
        """One page of the sessions, the last updated first, of exactly that `cwd` and `principal` where given."""
        return await self._read(
            lambda database: database.list_sessions(cwd, cursor, limit, unprompted=unprompted, principal=principal)
        )

    def watch(self, session_id: str, after: int = 0) -> AsyncIterator[list[tuple[int, Event]]]:
        """The events behind position `after`, and every later one, with their positions; looks every 50 ms."""
        return poll_events(self, session_id, after)

    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        """Create a session with a copy of the log, including queued events, and of the state."""
        await self._write(
            lambda database: self._make(record, functools.partial(database.fork, session_id, record), owned=owned)
        )

    async def publish(self, draft_id: str, session_id: str) -> None:
        """Give a draft its own id, in one transaction."""
        await self._write(lambda database: database.publish(draft_id, session_id, self._owner))

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
        await asyncio.shield(asyncio.gather(*map(as_awaitable, endings)))
        # Both have done their last work: this waits for no more than the end of two idle threads.
        self._writer.shutdown()
        self._reader.shutdown()
        with self._lock:
            self._ledger.raise_any_loss()

    # --- on the loop

    async def _write(self, job: Callable[[Database], T]) -> T:
        return await as_awaitable(self._submit(job))

    def _submit(self, job: Callable[[Database], T]) -> Future[T]:
        return self._submit_writing(functools.partial(self._run_writing, job))

    async def _read(self, job: Callable[[Database], T]) -> T:
        await self._settle()
        with self._lock:
            self._refuse_when_closed()
            future = self._reader.submit(self._run_reading, job)
        return await as_awaitable(future)

    # --- on the writing thread

    def _run_writing(self, job: Callable[[Database], T]) -> T:
        return job(self._open_writing())

    def _append_batch(self, batch: list[QueuedEvents]) -> dict[str, StoreError]:
        errors = self._open_writing().append(batch, self._owner)
        self._unmoved_bytes += sum(len(queued.lines) for queued in batch)
        if self._unmoved_bytes >= CHECKPOINT_BYTES:
            self._start_checkpoint()
        return errors

    def _start_checkpoint(self) -> None:
        if self._checkpoint is None or self._checkpoint.done():
            self._unmoved_bytes = 0
            with self._lock:
                if not self._closed:
                    self._checkpoint = self._reader.submit(self._run_reading, Database.checkpoint)

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
