"""Events on their way through a publisher: queued, being committed, being sent; and their size."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from accord.protocol.model import Unknown
from accord.session.event import Event

__all__ = ["ApartEvent", "EventBatch", "QueuedEvent", "event_of", "kept_events", "size_of"]


@dataclass(slots=True)
class ApartEvent:
    """An event that is not committed, or not sent."""

    event: Event
    keep: bool
    show: bool


QueuedEvent: TypeAlias = Event | ApartEvent
"""An event. Nearly all are both committed and sent; those are queued bare, without a wrapper to allocate."""


class EventBatch:
    """Events that are being committed or sent; `settled` is done when they are, and made for those who wait for it."""

    __slots__ = ("events", "settled")

    def __init__(self, events: list[QueuedEvent], settled: asyncio.Future[None] | None) -> None:
        self.events = events
        self.settled = settled

    def settle(self, failure: Exception | None) -> None:
        """Wake the waiters."""
        settled = self.settled
        if settled is None or settled.done():
            return
        if failure is None:
            settled.set_result(None)
        else:
            settled.set_exception(failure)
            settled.exception()  # marked as retrieved: no warning if there is no waiter


def event_of(queued: QueuedEvent) -> Event:
    return queued.event if isinstance(queued, ApartEvent) else queued


def kept_events(batch: list[QueuedEvent]) -> Sequence[Event]:
    """The events of a batch that are committed."""
    if ApartEvent not in set(map(type, batch)):
        return batch  # type: ignore[return-value]
    return [event_of(queued) for queued in batch if not isinstance(queued, ApartEvent) or queued.keep]


def size_of(event: Event) -> int:
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
