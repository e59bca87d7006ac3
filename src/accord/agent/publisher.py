"""The event publisher of one session: commits events to the store, then sends them to the client, in order.

Events that are sent together were committed together before: the client never has an event that a restart would lose.
Until the response that opens the session is sent, all events wait behind it. After a commit that failed nothing is
committed or sent until `resume`: neither the log nor a client gets events behind a hole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Any, NamedTuple

import msgspec

from accord.agent.queued_events import ApartEvent, EventBatch, QueuedEvent, event_of, kept_events, size_of
from accord.agent.request_errors import work_error
from accord.connection import Connection
from accord.errors import TransportError
from accord.session.dialect import Dialect, UpdateEncoder
from accord.session.event import Event, MessageChunk, StateChanged
from accord.stores.interface import Store

__all__ = ["BatchRest", "EventPublisher"]

log = logging.getLogger("accord.agent")

# Back-pressure: above this, `publish` waits. As much again may be in the batch that is being sent, and in the one that
# is being committed meanwhile.
MAX_WAITING_BYTES = 256 * 1024
# So much has to wait for a commit beside the sending of the batch before: it costs a task.
AHEAD_BYTES = 64 * 1024
# How many events are encoded and handed to the connection at once.
TOGETHER = 48
# The size of an event beside its texts.
EVENT_BYTES = 256
# How long an encoder of an edition without increments may hold something back: a server that has printed one line more.
HELD_SECONDS = 1.0


class BatchRest(NamedTuple):
    """The part of a batch that a client did not take at once."""

    view: EventPublisher | None
    """The publisher that has encoded it; None if no part of it is encoded."""
    refused: list[Any]
    """The params of updates, which are encoded."""
    batch: list[QueuedEvent]
    """The events behind them."""


class EventPublisher:
    """`publish` returns when the event is queued; `flush` when every event so far is committed and sent.

    If a commit fails, its events and all later ones are neither kept nor sent, except states, which are no part of the
    conversation; `on_failure` gets the exception once, and every `flush` that waits for them raises it.
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
        self._last: EventBatch | None = None
        """The last batch that is being committed or sent."""
        self._drained: asyncio.Event | None = None
        self.failure: Exception | None = None
        """Why nothing is committed: a commit failed, or another process may own the log."""
        self._reported: Exception | None = None
        self._held_timer: asyncio.TimerHandle | None = None
        self._held_is_due = False
        """Whether what the encoder holds back is to be sent with the next batch, or as one."""

    async def publish(self, event: Event, *, keep: bool = True, show: bool = True) -> None:
        """Queue an event behind all earlier ones; waits while the client or the store cannot follow."""
        self._waiting.append(event if keep and show else ApartEvent(event, keep, show))
        if self._flusher is None:
            self._start()
        self._waiting_bytes += EVENT_BYTES + size_of(event)
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
        if (
            type(event) is StateChanged
            and not self.encoder.shows_states
            and not self._holds_back
            and self._learn(event)
        ):
            return
        self._waiting.append(event if keep and show else ApartEvent(event, keep, show))
        self._start()

    def publish_at_once(self, event: Event, *, show: bool) -> bool:
        """`publish` in this very step; False, and nothing is published, where a store or other events come first.

        This and `_flush_at_once` are most of what makes a small turn take 0.6 of the CPU that it takes with tasks.
        """
        if self._store is not None or not self._is_idle:
            return False
        if not show:
            return self._learn(event)
        self._waiting.append(event)
        self._flush_at_once()
        return True

    def _learn(self, event: Event) -> bool:
        """Let the encoder know of an event that is neither kept nor sent; False where it has to be queued."""
        if self._store is not None or not self._is_idle:
            return False
        try:
            self._teach(event)
        except Exception:  # noqa: BLE001 - queued, it fails again, and is reported
            return False
        return True

    def _teach(self, event: Event) -> None:
        self.encoder.encode(event)

    @property
    def _is_idle(self) -> bool:
        """Whether no event waits or is being sent, so that the next one may pass the queue by."""
        return not (self._waiting or self._unsent or self._holds or self._held_is_due) and self._flusher is None

    async def flush(self) -> None:
        """Return when every earlier event is committed and sent; before the session is opened, when it is committed.

        Raises:
            StoreError: A commit failed.
            ConnectionLost: The events are committed, but the client is gone.
        """
        if self._scheduled is not None:
            failure = self._flush_at_once()
            if failure is not None:
                raise failure
        settled = self.flush_future()
        if settled is not None:
            await asyncio.shield(settled)

    def flush_future(self) -> asyncio.Future[None] | None:
        """The future that `flush` waits for, or None if nothing is queued; shield it, other callers share it."""
        if self._waiting:
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            return self._settled
        if self._last is None:
            return None
        if self._last.settled is None:
            self._last.settled = asyncio.get_running_loop().create_future()
        return self._last.settled

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
            self._flush_at_once()
        if self._flusher is not None:
            await asyncio.wait([self._flusher])
        if self._held_timer is not None:
            self._held_timer.cancel()

    def cut_off(self, error: Exception) -> None:
        """Commit nothing from now on: another process may own the log. Every `flush` raises the error."""
        self.failure = self._reported = error

    def resume(self) -> None:
        """Commit and send again: the log was ended where it broke off."""
        self.failure = None

    # --- inside

    def _start(self) -> None:
        if self._flusher is None and self._scheduled is None and self._may_flush():
            loop = asyncio.get_running_loop()
            if self._store is None:
                self._scheduled = loop.call_soon(self._flush_at_once)
            else:
                self._flusher = loop.create_task(self._flush())

    def _flush_at_once(self) -> Exception | None:
        """Without a store: send in this step as much as the client takes; a task sends the rest. Returns a failure.

        No coroutine is made for it: `_flush` makes five.
        """
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        if self._flusher is not None or not self._may_flush():
            return None
        batch = self._take_waiting()
        self._unsent += batch.events
        failure: Exception | None = None
        if not self._holds:
            unsent, self._unsent = self._unsent, []
            failure, rest = self._try_batch(unsent)
            if rest is not None:
                sending = self._flush_from(batch, rest, failure)
                self._flusher = asyncio.get_running_loop().create_task(sending)
                return None
        self._end_batch(batch, failure)
        self._watch_held()
        return failure

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

    async def _flush_from(self, batch: EventBatch, rest: BatchRest, failure: Exception | None) -> None:
        """Go on with a batch that a client did not take at once."""
        try:
            self._end_batch(batch, await self._send_rest(rest) or failure)
        finally:
            await self._flush()

    async def _flush(self) -> None:
        """Commit and send until nothing waits. While one batch is being sent, the next one is being committed.

        On a busy machine with two cores a long stream took 3.9 us per event so, and 6.5 one after the other.
        """
        ahead: tuple[EventBatch, asyncio.Task[Exception | None]] | None = None
        try:
            while ahead is not None or self._may_flush():
                if ahead is None:
                    batch = self._take_waiting()
                    failure = await self._keep(batch.events)
                else:
                    batch, keeping = ahead
                    failure = await keeping
                ahead = None if failure is not None else await self._keep_ahead()
                self._end_batch(batch, await self._send_kept(batch.events, failure))
        finally:
            self._flusher = None
            self._watch_held()

    async def _keep_ahead(self) -> tuple[EventBatch, asyncio.Task[Exception | None]] | None:
        """Begin to commit the waiting events, if they are many."""
        if self._store is None or self._holds or self._waiting_bytes < AHEAD_BYTES:
            return None
        batch = self._take_waiting()
        keeping = asyncio.get_running_loop().create_task(self._keep(batch.events))
        # In this step the store gets them.
        await asyncio.sleep(0)
        return batch, keeping

    def _take_waiting(self) -> EventBatch:
        batch = self._last = EventBatch(self._waiting, self._settled)
        self._waiting, self._waiting_bytes, self._settled = [], 0, None
        if self._drained is not None:
            self._drained.set()
            self._drained = None
        return batch

    def _end_batch(self, batch: EventBatch, failure: Exception | None) -> None:
        if self._last is batch:
            self._last = None
        if failure is not None and not isinstance(failure, TransportError) and failure is not self._reported:
            self._reported = failure
            self._on_failure(failure)
        batch.settle(failure)

    async def _send_kept(self, batch: list[QueuedEvent], failure: Exception | None) -> Exception | None:
        """Send a batch that is committed, or the states of one that could not be."""
        if failure is not None:
            batch = [_unkept(event, failure) for event in map(event_of, batch) if isinstance(event, StateChanged)]
        self._unsent += batch
        if self._opening and self._holds:
            return failure
        unsent, self._unsent = self._unsent, []
        send_failure = await self._send_batch(unsent)
        return failure or send_failure

    async def _keep(self, batch: list[QueuedEvent]) -> Exception | None:
        if self._store is None:
            return None
        events = kept_events(batch)
        if not events:
            return None
        if self.failure is None:
            try:
                ticket = self._store.queue(self._session_id, events)
                await self._store.commit(self._session_id, ticket)
            except Exception as error:  # noqa: BLE001 - whatever a store raised, its events are not sent
                self._fail(error)
        return self.failure

    def _fail(self, error: Exception) -> None:
        if self.failure is None:  # the session may be lost by now, which says more
            self.failure = error

    def _try_batch(self, batch: list[QueuedEvent]) -> tuple[Exception | None, BatchRest | None]:
        """Send a batch without waiting; the failure of its events so far, and the part for which one has to wait."""
        failure: Exception | None = None
        for start in range(0, len(batch), TOGETHER):
            updates: list[Any] = []
            failure = self._encode(batch[start : start + TOGETHER], updates) or failure
            refused = self._try_notify_all(updates)
            if refused:
                return failure, BatchRest(self, refused, batch[start + TOGETHER :])
        # Rare: `_send_batch` has it.
        return failure, BatchRest(self, [], []) if self._held_is_due else None

    async def _send_rest(self, rest: BatchRest) -> Exception | None:
        try:
            failure = await self._notify_each(rest.refused)
        except TransportError as error:
            return error
        return await self._send_batch(rest.batch) or failure

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
        if ApartEvent in set(map(type, batch)):
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
            if isinstance(queued, ApartEvent) and isinstance(queued.event, StateChanged) and not queued.show:
                continue  # it is sent by itself, behind the answer to the prompt that it was kept with
            encoded = self.encoder.encode(event_of(queued))
            if not isinstance(queued, ApartEvent) or queued.show:
                updates += encoded

    async def _notify_all(self, updates: list[Any]) -> Exception | None:
        refused = self._try_notify_all(updates)
        return await self._notify_each(refused) if refused else None

    def _try_notify_all(self, updates: list[Any]) -> list[Any]:
        """Send updates without waiting: all, or none of them. Returns the params of those that were not sent."""
        encode_update, session_id = self._encode_update, self._session_id
        many = [encode_update(session_id, update) for update in updates]
        return [] if not many or self._try_notify(self._method, many) else many

    async def _notify_each(self, many: list[Any]) -> Exception | None:
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


def _unkept(state: StateChanged, failure: Exception) -> StateChanged:
    """A state for the client where it could not be kept: the end of a turn that the log does not have is an error."""
    if state.stop_reason in {None, "error"}:
        return state
    return msgspec.structs.replace(state, stop_reason="error", error=work_error(failure))
