"""The streams of messages to a client: numbered from 1, kept until acknowledged or forgotten, each read by one link.

It knows neither sockets nor the contents of messages. docs/remote-wire.md has the contract.
"""

from __future__ import annotations

import asyncio

from accord.transport.routing import Stream

__all__ = ["OutgoingStream", "OutgoingStreams", "StreamLink"]

READ_BYTES = 64 * 1024


class OutgoingStream:
    """The messages of one stream.

    A message is waiting until it is written to a link, and kept behind that until it is acknowledged, or forgotten. The
    cursor of a message is its number; `0` is the beginning.
    """

    __slots__ = ("_forgotten", "_kept", "_waiting", "kept_bytes", "link", "waiting_bytes")

    def __init__(self) -> None:
        self._forgotten = 0
        """The number of the last message that is not kept."""
        # Lists, although they are emptied from the front: a server has thousands of idle connections, and an empty
        # deque takes as much memory as ten empty lists.
        self._kept: list[bytes] = []
        self._waiting: list[bytes] = []
        self.kept_bytes = 0
        self.waiting_bytes = 0
        self.link: StreamLink | None = None
        """The link that reads it; a newer one replaces it."""

    @property
    def written(self) -> int:
        """The number of the last message that was written to a link."""
        return self._forgotten + len(self._kept)

    @property
    def last(self) -> int:
        """The number of the last message."""
        return self.written + len(self._waiting)

    def extend(self, texts: list[bytes], size_bytes: int) -> None:
        """Add texts, which have so many bytes."""
        self._waiting += texts
        self.waiting_bytes += size_bytes
        if self.link is not None:
            self.link.wake()

    def take(self) -> tuple[int, list[bytes]]:
        """The next messages, as much as one write should have, and the number of the first; they count as written."""
        first, size_bytes = self.written + 1, self.waiting_bytes
        if size_bytes <= READ_BYTES:
            texts, self._waiting = self._waiting, []
        else:
            size_bytes = count = 0
            for text in self._waiting:
                size_bytes += len(text)
                count += 1
                if size_bytes >= READ_BYTES:
                    break
            texts = self._waiting[:count]
            del self._waiting[:count]
        self._kept += texts
        self.kept_bytes += size_bytes
        self.waiting_bytes -= size_bytes
        return first, texts

    def rewind(self, cursor: int) -> bool:
        """Make everything behind the cursor wait again; False if it is unknown or something behind it was forgotten."""
        if not self._forgotten <= cursor <= self.last:
            return False
        self.acknowledge(cursor)
        self._waiting[:0] = self._kept
        self.waiting_bytes += self.kept_bytes
        self._kept, self.kept_bytes = [], 0
        # The reader has these, also those that do not count as written.
        known = cursor - self._forgotten
        self.waiting_bytes -= sum(map(len, self._waiting[:known]))
        del self._waiting[:known]
        self._forgotten += known
        return True

    def acknowledge(self, cursor: int) -> None:
        """The reader has everything up to the cursor."""
        self.forget(cursor - self._forgotten)

    def forget(self, count: int) -> int:
        """Forget so many of the oldest written messages, or all of them; their size."""
        known = min(max(count, 0), len(self._kept))
        size_bytes = sum(map(len, self._kept[:known]))
        del self._kept[:known]
        self.kept_bytes -= size_bytes
        self._forgotten += known
        return size_bytes

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)


class StreamLink:
    """One reader of a stream: a socket or an open GET. `wait` returns when the stream has messages to take."""

    __slots__ = ("_ended", "_waiter", "stream")

    def __init__(self, stream: OutgoingStream) -> None:
        self.stream = stream
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        if stream.link is not None:
            stream.link.end()
        stream.link = self

    @property
    def is_current(self) -> bool:
        """Whether it is read here, and not by a newer link."""
        return self.stream.link is self and not self._ended

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def end(self) -> None:
        """Nothing more is read here; a reader that waits returns."""
        self._ended = True
        if self.stream.link is self:
            self.stream.link = None
        self.wake()

    async def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until there is a message, or the link has ended; False after so much silence."""
        if self._is_due():
            return True
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = None if timeout_seconds is None else loop.call_later(timeout_seconds, self.wake)
        try:
            await self._waiter
        finally:
            if timer is not None:
                timer.cancel()
            self._waiter = None
        return self._is_due()

    def _is_due(self) -> bool:
        return self._ended or self.stream.has_waiting


class OutgoingStreams:
    """All streams of one connection, and their budget of bytes.

    `held_bytes` bounds the messages that are not written; once the client acknowledges, written ones count until they
    are acknowledged, and none is forgotten. For a client that never does, the last `replay_bytes` written are kept.
    """

    def __init__(self, held_bytes: int, replay_bytes: int) -> None:
        self._max_held_bytes = held_bytes
        self._replay_bytes = replay_bytes
        self._streams: dict[Stream, OutgoingStream] = {}
        self._held_bytes = 0
        self._replayable_bytes = 0
        """The bytes that were written for a client that acknowledges nothing."""
        self._written: list[tuple[OutgoingStream, int]] = []
        """Batches that were taken, oldest first: stream and number of messages; for a client that acknowledges none."""
        self.acknowledges = False

    def __len__(self) -> int:
        return len(self._streams)

    def __contains__(self, name: Stream) -> bool:
        return name in self._streams

    def get(self, name: Stream) -> OutgoingStream:
        """The stream of a session, or of the connection; made when it is first used."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = OutgoingStream()
        return stream

    def is_read(self, name: Stream) -> bool:
        """Whether a link reads the stream."""
        stream = self._streams.get(name)
        return stream is not None and stream.link is not None

    def drop_unused(self, name: Stream) -> None:
        """Forget a stream in which there never was a message."""
        stream = self._streams.get(name)
        if stream is not None and not stream.last and stream.link is None:
            del self._streams[name]

    def has_room(self, size_bytes: int) -> bool:
        return not self._held_bytes or self._held_bytes + size_bytes <= self._max_held_bytes

    @property
    def is_over(self) -> bool:
        return self._held_bytes > self._max_held_bytes

    @property
    def waiting_bytes(self) -> int:
        return sum(stream.waiting_bytes for stream in self._streams.values())

    def extend(self, name: Stream, texts: list[bytes]) -> None:
        """Add texts to a stream."""
        size_bytes = sum(map(len, texts))
        self.get(name).extend(texts, size_bytes)
        self._held_bytes += size_bytes

    def take(self, stream: OutgoingStream) -> tuple[int, list[bytes]]:
        """The next messages of a stream, for its link, and the number of the first."""
        kept_bytes = stream.kept_bytes
        first, texts = stream.take()
        if not self.acknowledges:
            size_bytes = stream.kept_bytes - kept_bytes
            self._held_bytes -= size_bytes
            self._replayable_bytes += size_bytes
            self._written.append((stream, len(texts)))
            while self._replayable_bytes > self._replay_bytes and self._written:
                oldest, count = self._written.pop(0)
                self._replayable_bytes -= oldest.forget(count)
        return first, texts

    def acknowledge(self, name: Stream, cursor: int) -> None:
        """The client has everything of a stream up to the cursor."""
        self.acknowledges = True
        self._written.clear()
        if name in self._streams:
            self._streams[name].acknowledge(cursor)
        self._count()

    def rewind(self, name: Stream, cursor: int) -> bool:
        """Begin a stream again behind the cursor; False if that cannot be done."""
        if name not in self._streams:
            return cursor == 0
        rewound = self._streams[name].rewind(cursor)
        self._count()
        return rewound

    def wake(self) -> None:
        """Let all links look again: the connection has ended."""
        for stream in self._streams.values():
            if stream.link is not None:
                stream.link.wake()

    def _kept_bytes(self) -> int:
        return sum(stream.kept_bytes for stream in self._streams.values())

    def _count(self) -> None:
        self._replayable_bytes = self._kept_bytes()
        self._held_bytes = self.waiting_bytes + (self._replayable_bytes if self.acknowledges else 0)
