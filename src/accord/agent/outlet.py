"""One session's way out: what happens is kept, then told to the client, in the order in which it happened.

What leaves together was committed together before it left; so the client never knows more than a restart would. While
the answer that opens the session is on its way, everything waits behind it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from accord.connection import Connection
from accord.errors import TransportError
from accord.protocol.model import Unknown
from accord.session.dialect import Dialect, UpdateEncoder
from accord.session.event import Event, MessageChunk, StateChanged
from accord.stores.interface import Store

__all__ = ["Outlet"]

log = logging.getLogger("accord.agent")

# How much may wait before whoever tells the next event has to wait too; as much again may be on its way out.
MAX_WAITING_BYTES = 256 * 1024
# How many events are said in one go, where nobody has to wait.
TOGETHER = 48
# What an event weighs beside its texts.
EVENT_BYTES = 256


@dataclass(slots=True)
class _Apart:
    """An event that is not kept, or not said."""

    event: Event
    keep: bool
    show: bool


_Told: TypeAlias = Event | _Apart
"""An event; nearly all are kept and said, and those stand for themselves."""


class Outlet:
    """`tell` returns when the event has its place in the order; `settle` when everything so far is kept and said.

    If a commit fails, nothing of what it should have kept is said, except states, which are no part of the
    conversation; `on_failure` hears of it, and so does everybody who settles.
    """

    def __init__(
        self,
        session_id: str,
        dialect: Dialect,
        voice: UpdateEncoder,
        connection: Connection,
        store: Store | None,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self.voice = voice
        self._session_id = session_id
        self._method = dialect.update
        self._say_update = dialect.encode_update
        self._notify = connection.notify
        self._try_notify = connection.try_notify
        self._store = store
        self._on_failure = on_failure
        self._waiting: list[_Told] = []
        self._waiting_bytes = 0
        self._unsaid: list[_Told] = []
        """What was kept before the session was opened, and has to wait for that."""
        self._opening = True
        self._holds = 0
        self._flusher: asyncio.Task[None] | None = None
        self._settled: asyncio.Future[None] | None = None
        """Done when what waits now is kept and said."""
        self._leaving: asyncio.Future[None] | None = None
        """The same for what is on its way out."""
        self._room: asyncio.Event | None = None

    async def tell(self, event: Event, *, keep: bool = True, show: bool = True) -> None:
        """Put an event behind all that were told before; waits while the client or the store cannot follow."""
        self._waiting.append(event if keep and show else _Apart(event, keep, show))
        if self._flusher is None:
            self._start()
        self._waiting_bytes += EVENT_BYTES + _size(event)
        if self._waiting_bytes >= MAX_WAITING_BYTES:
            await self._full().wait()

    def put(self, chunk: MessageChunk, size: int) -> asyncio.Event | None:
        """`tell` for a piece of plain text, of which there are many; who puts it waits for what is returned, if any."""
        self._waiting.append(chunk)
        if self._flusher is None:
            self._start()
        self._waiting_bytes += EVENT_BYTES + size
        return None if self._waiting_bytes < MAX_WAITING_BYTES else self._full()

    def _full(self) -> asyncio.Event:
        if self._room is None:
            self._room = asyncio.Event()
        return self._room

    def tell_soon(self, event: Event, *, keep: bool = True, show: bool = True) -> None:
        """The same for callers that cannot wait; they tell few events."""
        self._waiting.append(event if keep and show else _Apart(event, keep, show))
        self._start()

    async def settle(self) -> None:
        """Return when all that was told before is kept and said; before the session is opened, when it is kept.

        Raises:
            StoreError: It could not be kept.
            ConnectionLost: It is kept, but nobody is there any more to hear it.
        """
        settled = self.settling()
        if settled is not None:
            await asyncio.shield(settled)

    def settling(self) -> asyncio.Future[None] | None:
        """What `settle` waits for, if there is anything, to be waited for later: not to be cancelled."""
        if self._waiting:
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            return self._settled
        if self._flusher is None:
            return None
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_future()
        return self._leaving

    async def replay(self, events: list[Event], voice: UpdateEncoder) -> None:
        """Say what happened before, now, past everything that waits; from here on the session has that voice."""
        self.voice = voice
        for start in range(0, len(events), TOGETHER):
            updates = [update for event in events[start : start + TOGETHER] for update in voice.encode(event)]
            failure = await self._notify_all(updates)
            if failure is not None:
                raise failure

    def hold(self) -> None:
        """Keep back what is told from now on, until `release`; what is on its way out goes on."""
        self._holds += 1

    async def pause(self) -> None:
        """`hold`, and wait until nothing is on its way out: then the store has what was said, and no more."""
        self.hold()
        if self._flusher is not None:
            await asyncio.wait([self._flusher])

    def release(self) -> None:
        """Let it go."""
        self._holds -= 1
        if not self._holds:
            self._opening = False
        self._start()

    async def close(self) -> None:
        """Say what waits, if anybody is there, and stop."""
        self._holds = 0
        self._opening = False
        self._start()
        if self._flusher is not None:
            await asyncio.wait([self._flusher])

    # --- inside

    def _start(self) -> None:
        if self._flusher is None and self._may_flush():
            self._flusher = asyncio.get_running_loop().create_task(self._flush())

    def _may_flush(self) -> bool:
        if self._holds:
            # Nothing may leave yet, but a new session has nobody whom keeping could confuse.
            return self._opening and bool(self._waiting)
        return bool(self._waiting or self._unsaid)

    async def _flush(self) -> None:
        try:
            while self._may_flush():
                batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
                self._leaving, self._settled = self._settled, None
                if self._room is not None:
                    self._room.set()
                    self._room = None
                failure = await self._flush_batch(batch)
                leaving, self._leaving = self._leaving, None
                if failure is not None and not isinstance(failure, TransportError):
                    self._on_failure(failure)
                _settle(leaving, failure)
        finally:
            self._flusher = None

    async def _flush_batch(self, batch: list[_Told]) -> Exception | None:
        failure = await self._keep(batch)
        if failure is not None:
            batch = [told for told in batch if isinstance(_event(told), StateChanged)]
        self._unsaid += batch
        if self._opening and self._holds:
            return failure
        unsaid, self._unsaid = self._unsaid, []
        unheard = await self._say_all(unsaid)
        return failure or unheard

    async def _keep(self, batch: list[_Told]) -> Exception | None:
        if self._store is None:
            return None
        events = [_event(told) for told in batch if not isinstance(told, _Apart) or told.keep]
        if not events:
            return None
        try:
            ticket = self._store.queue(self._session_id, events)
            await self._store.commit(self._session_id, ticket)
        except Exception as error:  # noqa: BLE001 - whatever a store does, what it did not keep is not said
            return error
        return None

    async def _say_all(self, batch: list[_Told]) -> Exception | None:
        failure: Exception | None = None
        for start in range(0, len(batch), TOGETHER):
            updates: list[Any] = []
            say = self.voice.encode
            for told in batch[start : start + TOGETHER]:
                try:
                    if not isinstance(told, _Apart):
                        updates += say(told)
                    elif told.show:
                        updates += say(told.event)
                    else:
                        say(told.event)
                except Exception as error:
                    log.exception("an event could not be told")
                    failure = error
            try:
                failure = await self._notify_all(updates) or failure
            except TransportError as error:
                # Nobody is there any more; what was kept stays kept.
                return error
        return failure

    async def _notify_all(self, updates: list[Any]) -> Exception | None:
        say_update, session_id = self._say_update, self._session_id
        many = [say_update(session_id, update) for update in updates]
        if not many or self._try_notify(self._method, many):
            return None
        failure: Exception | None = None
        for number, params in enumerate(many):
            # Mostly it was only the loop that was due a turn, and it had one when the first was sent.
            if number == 1 and self._try_notify(self._method, many[number:]):
                break
            try:
                await self._notify(self._method, params)
            except TransportError:
                raise
            except Exception as error:
                # What no edition can write down, for example in somebody's `meta`: the others still leave.
                log.exception("an event could not be said")
                failure = error
        return failure


def _event(told: _Told) -> Event:
    return told.event if isinstance(told, _Apart) else told


def _settle(settled: asyncio.Future[None] | None, failure: Exception | None) -> None:
    if settled is None or settled.done():
        return
    if failure is None:
        settled.set_result(None)
    else:
        settled.set_exception(failure)
        settled.exception()  # who waits gets it, and nobody else has to


def _size(event: Event) -> int:
    """How many bytes of text are in an event, roughly; not by recursion, because JSON of others may be deep."""
    size = 0
    values: list[Any] = [event]
    while values:
        value = values.pop()
        if isinstance(value, str | bytes):
            size += len(value)
        elif isinstance(value, dict):
            values += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            values += value
        elif isinstance(value, Unknown):
            values.append(value.payload)
        elif isinstance(value, msgspec.Struct):
            values += [getattr(value, name) for name in value.__struct_fields__]
    return size
