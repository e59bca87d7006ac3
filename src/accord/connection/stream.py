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
from accord.connection.shortcut import REFUSED, typed_message
from accord.protocol.method import NotificationMethod
from accord.wire.piece import Piece, is_utf8

__all__ = ["STREAMED", "CalledStream", "LanedStream", "Stream", "head_of"]

STREAMED = "session/update"
"""The method whose texts come in streams."""
_HEAD_BYTES = 128


class Stream(Protocol):
    """A notification whose texts all began with the same bytes so far."""

    def take(self, piece: Piece, /) -> bytes | None:
        """Take texts that belong to the stream while there is room, and the first one that does not: it is given."""
        ...


def head_of(text: bytes, method: NotificationMethod[Any]) -> bytes | None:
    """How this peer's updates begin, if the method stands before everything that varies."""
    name = b'"%s"' % method.name.encode()
    end = text.find(name) + len(name)
    head = text[:end]
    if len(name) <= end <= _HEAD_BYTES and b'"params"' not in head and b'"id"' not in head:
        return head
    return None


class CalledStream:
    """`handle` is called with each update the moment it is read, and says if there is room for more."""

    def __init__(self, head: bytes, method: NotificationMethod[Any], handle: Callable[[Any, int], bool]) -> None:
        self._head = head
        self._decode = typed_message(method).decode
        self._handle = handle

    def take(self, piece: Piece) -> bytes | None:
        """See `Stream.take`."""
        head, decode, handle = self._head, self._decode, self._handle
        for text in piece.left:
            if not text.startswith(head) or not (text.isascii() or is_utf8(text)):
                return text
            try:
                params = decode(text).params
            except REFUSED:
                return text
            if not handle(params, len(text)):
                break
        return None


class LanedStream:
    """For a handler that may suspend: what one session says in one piece goes into its lane as one thing."""

    def __init__(
        self, head: bytes, method: NotificationMethod[Any], handler: Handler, lanes: Lanes, backlog: Backlog
    ) -> None:
        self._head = head
        self._decode = typed_message(method).decode
        self._one_by_one = CalledStream(head, method, self._queue_one)
        self._one = handler.call
        self._many = lanes.one_by_one(handler.call)
        self._lanes = lanes
        self._backlog = backlog

    def take(self, piece: Piece) -> bytes | None:
        """See `Stream.take`."""
        cost = piece.size_bytes + OVERHEAD_BYTES * len(piece.texts)
        if self._backlog.bytes + cost <= self._backlog.max_bytes and piece.is_utf8:
            return self._take_all(piece)
        return self._one_by_one.take(piece)

    def _take_all(self, piece: Piece) -> bytes | None:
        """There is room for the whole piece: what is done for each text costs no more than its decoding."""
        texts, start = piece.texts, piece.taken
        if start == len(texts) or not texts[start].startswith(self._head):
            return next(piece.left, None)
        stranger: bytes | None = None
        messages: list[Any] = []
        try:
            messages.extend(map(self._decode, piece.left))
        except REFUSED:
            stranger = texts[start + len(messages)]
        for session, run in _runs([message.params for message in messages]):
            end = start + len(run)
            self._queue(session, run, sum(map(len, texts[start:end])) + OVERHEAD_BYTES * len(run))
            start = end
        return stranger

    def _queue_one(self, params: Any, size: int) -> bool:
        self._queue(params.session_id, [params], size + OVERHEAD_BYTES)
        return not self._backlog.full

    def _queue(self, session: str, run: list[Any], weight: int) -> None:
        self._backlog.bytes += weight
        self._lanes.add(session, (self._one, run[0], weight) if len(run) == 1 else (self._many, run, weight))


def _runs(updates: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """What each session says before another does."""
    if not updates:
        return
    start, session = 0, updates[0].session_id
    for index, update in enumerate(updates):
        if update.session_id != session:
            yield session, updates[start:index]
            start, session = index, update.session_id
    yield session, updates[start:]
