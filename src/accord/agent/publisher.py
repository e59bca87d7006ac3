"""The event publisher of one session: commits events to the store, then sends them to the client, in order.

Events that are sent together were committed together before: the client never has an event that a restart would lose.
Until the response that opens the session is sent, all events wait behind it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass
from operator import length_hint
from typing import Any, TypeAlias

import msgspec

from accord.connection import Connection
from accord.errors import TransportError
from accord.protocol.model import Unknown
from accord.session.dialect import Dialect, UpdateEncoder
from accord.session.event import Event, MessageChunk, StateChanged
from accord.stores.interface import Store

__all__ = ["EventPublisher", "QueuedEvent"]

log = logging.getLogger("accord.agent")

# Back-pressure: above this, `publish` waits. As much again may be in the batch that is being sent.
MAX_WAITING_BYTES = 256 * 1024
# How many events are encoded and handed to the connection at once.
TOGETHER = 48
# The size of an event beside its texts.
EVENT_BYTES = 256
# How long an encoder of an edition without increments may hold something back: a server that has printed one line more.
HELD_SECONDS = 1.0


@dataclass(slots=True)
class _Apart:
    """An event that is not committed, or not sent."""

    event: Event
    keep: bool
    show: bool


QueuedEvent: TypeAlias = Event | _Apart
"""An event. Nearly all are both committed and sent; those are queued bare, without a wrapper to allocate."""


class EventPublisher:
    """`publish` returns when the event is queued; `flush` when every event so far is committed and sent.

    If a commit fails, its events are not sent, except states, which are no part of the conversation; `on_failure` gets
    the exception, and every `flush` that waits for the batch raises it.
    """

    def __init__(
        self,
        session_id: str,
        dialect: Dialect,
        encoder: UpdateEncoder,
        connection: Connection,
        store: Store | None,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self.encoder = encoder
        self.connection = connection
        """Where the events are sent."""
        self._session_id = session_id
        self._method = dialect.update
        self._encode_update = dialect.encode_update
        self._notify = connection.notify
        self._try_notify = connection.try_notify
        self._store = store
        self._on_failure = on_failure
        self._waiting: list[QueuedEvent] = []
        self._waiting_bytes = 0
        self._unsent: list[QueuedEvent] = []
        """Committed before the session was opened; sent when it is."""
        self._opening = True
        self._holds = 0
        self._flusher: asyncio.Task[None] | None = None
        self._scheduled: asyncio.Handle | None = None
        """Without a store nothing has to be waited for, as a rule: then no task is made."""
        self._settled: asyncio.Future[None] | None = None
        """Done when the events that are queued now are committed and sent."""
        self._leaving: asyncio.Future[None] | None = None
        """The same for the batch that is being sent."""
        self._drained: asyncio.Event | None = None
        self._cut: Exception | None = None
        """Why nothing can be committed any more."""
        self._held_timer: asyncio.TimerHandle | None = None
        self._held_is_due = False
        """Whether what the encoder holds back is to be sent with the next batch, or as one."""

    async def publish(self, event: Event, *, keep: bool = True, show: bool = True) -> None:
        """Queue an event behind all earlier ones; waits while the client or the store cannot follow."""
        self._waiting.append(event if keep and show else _Apart(event, keep, show))
        if self._flusher is None:
            self._start()
        self._waiting_bytes += EVENT_BYTES + _size(event)
        if self._waiting_bytes >= MAX_WAITING_BYTES:
            await self._until_drained().wait()

    def publish_chunk(self, chunk: MessageChunk, size: int) -> asyncio.Event | None:
        """`publish` for a chunk of text, without a coroutine; the caller waits for the event it returns, if any."""
        self._waiting.append(chunk)
        if self._flusher is None:
            self._start()
        self._waiting_bytes += EVENT_BYTES + size
        return None if self._waiting_bytes < MAX_WAITING_BYTES else self._until_drained()

    def _until_drained(self) -> asyncio.Event:
        if self._drained is None:
            self._drained = asyncio.Event()
        return self._drained

    def publish_soon(self, event: Event, *, keep: bool = True, show: bool = True) -> None:
        """`publish` without back-pressure, for callers that cannot wait and publish few events."""
        self._waiting.append(event if keep and show else _Apart(event, keep, show))
        self._start()

    async def flush(self) -> None:
        """Return when every earlier event is committed and sent; before the session is opened, when it is committed.

        Raises:
            StoreError: A commit failed.
            ConnectionLost: The events are committed, but the client is gone.
        """
        settled = self.flush_future()
        if settled is None:
            return
        if self._scheduled is not None:
            self._flush_scheduled()
        if settled.done():
            settled.result()
        else:
            await asyncio.shield(settled)

    def flush_future(self) -> asyncio.Future[None] | None:
        """The future that `flush` waits for, or None if nothing is queued; shield it, other callers share it."""
        if self._waiting:
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            return self._settled
        if self._flusher is None:
            return None
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_future()
        return self._leaving

    async def replay(self, events: list[Event], encoder: UpdateEncoder) -> None:
        """Send earlier events at once, ahead of the queue; from here on the session uses this encoder."""
        self.encoder = encoder
        for start in range(0, len(events), TOGETHER):
            updates: list[Any] = []
            encoder.encode_into(updates, iter(events[start : start + TOGETHER]))
            failure = await self._notify_all(updates)
            if failure is not None:
                raise failure

    def hold(self) -> None:
        """Hold new events back until `release`; the batch that is being sent continues."""
        self._holds += 1

    async def pause(self) -> None:
        """`hold`, and wait for the batch that is being sent: then the store has exactly the events that were sent."""
        self.hold()
        if self._flusher is not None:
            await asyncio.wait([self._flusher])

    def release(self) -> None:
        """End one `hold`."""
        self._holds -= 1
        if not self._holds:
            self._opening = False
        self._start()
        self._watch_held()

    async def close(self) -> None:
        """Send the queued events if the client is still connected, and stop."""
        self._holds = 0
        self._opening = False
        self._start()
        if self._scheduled is not None:
            self._flush_scheduled()
        if self._flusher is not None:
            await asyncio.wait([self._flusher])
        if self._held_timer is not None:
            self._held_timer.cancel()

    def cut_off(self, error: Exception) -> None:
        """Commit nothing from now on: another process may own the log. Every `flush` raises the error."""
        self._cut = error

    # --- inside

    def _start(self) -> None:
        if self._flusher is None and self._scheduled is None and self._may_flush():
            loop = asyncio.get_running_loop()
            if self._store is None:
                self._scheduled = loop.call_soon(self._flush_scheduled)
            else:
                self._flusher = loop.create_task(self._flush())

    def _flush_scheduled(self) -> None:
        """Flush at once; where the client does not take everything, a task sends the rest."""
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        if self._flusher is None and self._may_flush():
            flushing = self._flush()
            try:
                waits_for = flushing.send(None)
            except StopIteration:
                return
            self._flusher = asyncio.get_running_loop().create_task(_rest_of(_Begun(flushing, waits_for)))

    def _may_flush(self) -> bool:
        if self._holds:
            # Nothing may be sent yet, but the events of a new session can be committed.
            return self._opening and bool(self._waiting)
        return bool(self._waiting or self._unsent or self._held_is_due)

    @property
    def _holds_back(self) -> bool:
        return self.encoder.holds_back

    def _watch_held(self) -> None:
        if self._held_timer is None and self._holds_back and not self._holds:
            self._held_timer = asyncio.get_running_loop().call_later(HELD_SECONDS, self._send_held)

    def _send_held(self) -> None:
        self._held_timer = None
        self._held_is_due = True
        self._start()

    async def _flush(self) -> None:
        try:
            while self._may_flush():
                batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
                self._leaving, self._settled = self._settled, None
                if self._drained is not None:
                    self._drained.set()
                    self._drained = None
                failure = await self._flush_batch(batch)
                leaving, self._leaving = self._leaving, None
                if failure is not None and not isinstance(failure, TransportError):
                    self._on_failure(failure)
                _settle(leaving, failure)
        finally:
            self._flusher = None
            self._watch_held()

    async def _flush_batch(self, batch: list[QueuedEvent]) -> Exception | None:
        failure = await self._keep(batch)
        if failure is not None:
            batch = [queued for queued in batch if isinstance(_event(queued), StateChanged)]
        self._unsent += batch
        if self._opening and self._holds:
            return failure
        unsent, self._unsent = self._unsent, []
        send_failure = await self._send_batch(unsent)
        return failure or send_failure

    async def _keep(self, batch: list[QueuedEvent]) -> Exception | None:
        if self._store is None:
            return None
        events = [_event(queued) for queued in batch if not isinstance(queued, _Apart) or queued.keep]
        if not events:
            return None
        if self._cut is not None:
            return self._cut
        try:
            ticket = self._store.queue(self._session_id, events)
            await self._store.commit(self._session_id, ticket)
        except Exception as error:  # noqa: BLE001 - events that a store did not commit are not sent, whatever it raised
            return error
        return None

    async def _send_batch(self, batch: list[QueuedEvent]) -> Exception | None:
        failure: Exception | None = None
        try:
            for start in range(0, len(batch), TOGETHER):
                part = batch[start : start + TOGETHER]
                updates: list[Any] = []
                failure = self._encode(part, updates) or failure
                failure = await self._notify_all(updates) or failure
            if self._held_is_due:
                self._held_is_due = False
                failure = await self._notify_all(self.encoder.flush()) or failure
        except TransportError as error:
            # The client is gone; the events stay committed.
            return error
        return failure

    def _encode(self, batch: list[QueuedEvent], updates: list[Any]) -> Exception | None:
        """Append the updates of a batch; each failure is that of one event."""
        encode_into: Callable[[list[Any], Iterator[Any]], None] = self.encoder.encode_into
        if _Apart in set(map(type, batch)):
            encode_into = self._encode_shown
        failure: Exception | None = None
        left = iter(batch)
        while length_hint(left):
            try:
                encode_into(updates, left)
            except Exception as error:
                log.exception("an event could not be encoded")
                failure = error
        return failure

    def _encode_shown(self, updates: list[Any], batch: Iterator[QueuedEvent]) -> None:
        """`encode_into` where some events are not sent: the encoder has to know of them."""
        for queued in batch:
            encoded = self.encoder.encode(_event(queued))
            if not isinstance(queued, _Apart) or queued.show:
                updates += encoded

    async def _notify_all(self, updates: list[Any]) -> Exception | None:
        encode_update, session_id = self._encode_update, self._session_id
        many = [encode_update(session_id, update) for update in updates]
        if not many or self._try_notify(self._method, many):
            return None
        failure: Exception | None = None
        for number, params in enumerate(many):
            # Mostly the transport only wanted to yield to the event loop, which `notify` of the first one did.
            if number == 1 and self._try_notify(self._method, many[number:]):
                break
            try:
                await self._notify(self._method, params)
            except TransportError:
                raise
            except Exception as error:
                # A value that cannot be serialized, for example in the `meta` of an author: the others are still sent.
                log.exception("an event could not be sent")
                failure = error
        return failure


class _Begun:
    """A coroutine that was begun outside of a task, and waits: awaiting this goes on with it."""

    __slots__ = ("_coroutine", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, None], waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        waits_for = self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:  # noqa: BLE001 - a cancel among others: all are for the coroutine
                    waits_for = self._coroutine.throw(error)
                else:
                    waits_for = self._coroutine.send(sent)
        except StopIteration:
            return


async def _rest_of(begun: _Begun) -> None:
    await begun


def _event(queued: QueuedEvent) -> Event:
    return queued.event if isinstance(queued, _Apart) else queued


def _settle(settled: asyncio.Future[None] | None, failure: Exception | None) -> None:
    if settled is None or settled.done():
        return
    if failure is None:
        settled.set_result(None)
    else:
        settled.set_exception(failure)
        settled.exception()  # marked as retrieved: no warning if there is no waiter


def _size(event: Event) -> int:
    """The bytes of text in an event, roughly; not recursive, because received JSON may be deep."""
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
