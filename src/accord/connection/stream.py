"""Streams of updates: texts that begin alike are decoded in one pass, and those of one session wait as one thing.

When one update was read, later ones that begin with the same bytes belong to its stream. No shortcut changes what a
text means: an envelope that is not exactly what it promised to be is left to the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from accord.connection.backlog import OVERHEAD_BYTES, Backlog
from accord.connection.handlers import Handler
from accord.connection.lane import Lanes
from accord.connection.shortcut import REFUSED, is_utf8, typed_message
from accord.protocol.method import NotificationMethod

__all__ = ["STREAMED", "CalledStream", "LanedStream", "Stream", "head_of"]

STREAMED = "session/update"
"""The method whose texts come in streams."""
_HEAD_BYTES = 128


class Stream(Protocol):
    """A notification whose texts all began with the same bytes so far."""

    def take(self, texts: Iterator[bytes], /) -> bytes | None:
        """Take texts that belong to the stream while there is room; gives the first one that does not belong."""
        ...


def head_of(text: bytes, method: NotificationMethod[Any]) -> bytes | None:
    """How this peer's updates begin, if the method stands before everything that varies."""
    name = b'"%s"' % method.name.encode()
    end = text.find(name) + len(name)
    head = text[:end]
    if len(name) <= end <= _HEAD_BYTES and b'"params"' not in head and b'"id"' not in head:
        return head
    return None


class LanedStream:
    """For a handler that may suspend: what one session says in one piece goes into its lane as one thing."""

    def __init__(
        self, head: bytes, method: NotificationMethod[Any], handler: Handler, lanes: Lanes, backlog: Backlog
    ) -> None:
        self._head = head
        self._decode = typed_message(method).decode
        self._one = handler.call
        self._many = lanes.one_by_one(handler.call)
        self._lanes = lanes
        self._backlog = backlog

    def take(self, texts: Iterator[bytes]) -> bytes | None:
        """See `Stream.take`."""
        head, decode = self._head, self._decode
        session: str | None = None
        run: list[Any] = []
        weight = 0
        left_bytes = self._backlog.max_bytes - self._backlog.bytes
        # All in one place: a call for each text would cost what this saves.
        for text in texts:
            if not text.startswith(head) or not (text.isascii() or is_utf8(text)):
                break
            try:
                params = decode(text).params
            except REFUSED:
                break
            if params.session_id != session:
                self._queue(session, run, weight)
                left_bytes -= weight
                session, run, weight = params.session_id, [], 0
            run.append(params)
            weight += len(text) + OVERHEAD_BYTES
            if weight > left_bytes:
                self._queue(session, run, weight)
                return None
        else:
            text = None
        self._queue(session, run, weight)
        return text

    def _queue(self, session: str | None, run: list[Any], weight: int) -> None:
        if run:
            self._backlog.bytes += weight
            item = (self._one, run[0], weight) if len(run) == 1 else (self._many, run, weight)
            self._lanes.add(session, item)


class CalledStream:
    """For anything else: `handle` is called with each update the moment it is read, and says if there is room."""

    def __init__(self, head: bytes, method: NotificationMethod[Any], handle: Callable[[Any, int], bool]) -> None:
        self._head = head
        self._decode = typed_message(method).decode
        self._handle = handle

    def take(self, texts: Iterator[bytes]) -> bytes | None:
        """See `Stream.take`."""
        head, decode, handle = self._head, self._decode, self._handle
        for text in texts:
            if not text.startswith(head) or not (text.isascii() or is_utf8(text)):
                return text
            try:
                params = decode(text).params
            except REFUSED:
                return text
            if not handle(params, len(text)):
                break
        return None
