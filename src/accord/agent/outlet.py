"""One session's way out: what happens is kept, then told to the client, in the order in which it happened.

With a store, what leaves together was committed together before it left; so the client never knows more than a restart
would. Without one, an event is said at once. While the answer that opens the session is on its way, everything waits
behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from accord.connection import Connection
from accord.errors import AccordError, StoreError
from accord.session.dialect import Dialect, Voice
from accord.session.event import Event, StateChanged
from accord.stores.interface import Store

__all__ = ["Outlet"]

# How many events may wait before whoever tells the next one has to wait too.
MAX_WAITING = 1024


class _Told(NamedTuple):
    event: Event
    keep: bool
    show: bool


class Outlet:
    """`tell` returns when the event has its place in the order; `settle` when everything so far is kept and said.

    If a commit fails, nothing of what it should have kept is said, except states, which are no part of the
    conversation; `on_failure` hears of it, and so does everybody who settles.
    """

    def __init__(
        self,
        session_id: str,
        dialect: Dialect,
        voice: Voice,
        connection: Connection,
        store: Store | None,
        on_failure: Callable[[StoreError], None],
    ) -> None:
        self.voice = voice
        self._session_id = session_id
        self._method = dialect.update
        self._say_update = dialect.say_update
        self._connection = connection
        self._notify = connection.notify
        self._store = store
        self._on_failure = on_failure
        self._waiting: list[_Told] = []
        self._holds = 0
        self._flusher: asyncio.Task[None] | None = None
        self._settled: asyncio.Future[None] | None = None
        """Done when the batch that waits now is kept and said."""
        self._room: asyncio.Event | None = None

    async def tell(self, event: Event, *, keep: bool = True, show: bool = True) -> None:
        """Put an event behind all that were told before; waits while the client or the store cannot follow."""
        if self._store is None and self._flusher is None and not self._holds:
            await self._say(event, show=show)
            return
        self._waiting.append(_Told(event, keep, show))
        self._start()
        if len(self._waiting) >= MAX_WAITING:
            await self._wait_for_room()

    def tell_soon(self, event: Event, *, keep: bool = True, show: bool = True) -> None:
        """The same for callers that cannot wait; they tell few events."""
        self._waiting.append(_Told(event, keep, show))
        self._start()

    async def settle(self) -> None:
        """Return when all that was told before is kept and said.

        Raises:
            StoreError: It could not be kept.
        """
        if self._waiting:
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._settled)
        elif self._flusher is not None:
            # Its failure is told to those who told what was in it.
            await asyncio.wait([self._flusher])

    async def replay(self, events: list[Event], voice: Voice) -> None:
        """Say what happened before, now, past everything that waits; from here on the session has that voice."""
        self.voice = voice
        for event in events:
            await self._say(event, show=True)

    def hold(self) -> None:
        """Keep back what is told from now on, until `release`."""
        self._holds += 1

    def release(self) -> None:
        """Let it go."""
        self._holds -= 1
        if self._waiting:
            self._start()

    async def close(self) -> None:
        """Say what waits, if anybody is there, and stop."""
        self._holds = 0
        if self._waiting:
            self._start()
        if self._flusher is not None:
            await asyncio.wait([self._flusher])

    # --- inside

    def _start(self) -> None:
        if self._flusher is None and not self._holds:
            self._flusher = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._waiting and not self._holds:
                batch, self._waiting = self._waiting, []
                settled, self._settled = self._settled, None
                await self._flush_batch(batch, settled)
                if self._room is not None:
                    self._room.set()
                    self._room = None
        finally:
            self._flusher = None

    async def _flush_batch(self, batch: list[_Told], settled: asyncio.Future[None] | None) -> None:
        failure: AccordError | None = None
        try:
            await self._keep(batch)
        except StoreError as error:
            failure = error
            batch = [told for told in batch if isinstance(told.event, StateChanged)]
        try:
            for told in batch:
                await self._say(told.event, show=told.show)
        except AccordError as error:
            # Nobody is there any more; what was kept stays kept.
            failure = failure or error
        if isinstance(failure, StoreError):
            self._on_failure(failure)
        _settle(settled, failure)

    async def _keep(self, batch: list[_Told]) -> None:
        if self._store is None:
            return
        events = [told.event for told in batch if told.keep]
        if events:
            ticket = self._store.queue(self._session_id, events)
            await self._store.commit(self._session_id, ticket)

    async def _say(self, event: Event, *, show: bool) -> None:
        updates = self.voice.say(event)
        if show:
            for update in updates:
                await self._notify(self._method, self._say_update(self._session_id, update))

    async def _wait_for_room(self) -> None:
        if self._room is None:
            self._room = asyncio.Event()
        await self._room.wait()


def _settle(settled: asyncio.Future[None] | None, failure: AccordError | None) -> None:
    if settled is None or settled.done():
        return
    if failure is None:
        settled.set_result(None)
    else:
        settled.set_exception(failure)
        settled.exception()  # who waits gets it, and nobody else has to
