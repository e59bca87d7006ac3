"""Knows how to move a text to another task of the same loop, in order and under pressure as on a real link."""

from __future__ import annotations

from asyncio import Future, get_running_loop, sleep
from collections import deque

from accord.errors import ConnectionLost
from accord.transport.burst import SLICE_BYTES
from accord.transport.interface import Transport
from accord.transport.turnstile import Turnstile

__all__ = ["MemoryTransport", "memory_pair"]


def memory_pair(max_bytes: int = 1024 * 1024) -> tuple[Transport, Transport]:
    """Two ends of one link.

    Each way holds up to `max_bytes` that nobody received; a larger text fits where there is no other.
    """
    there, back = _Lane(max_bytes), _Lane(max_bytes)
    return MemoryTransport(there, back), MemoryTransport(back, there)


class _Lane:
    """One way of the link."""

    __slots__ = ("closed", "held_bytes", "max_bytes", "receiver", "texts", "turnstile")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self.texts: deque[bytes] = deque()
        self.receiver: Future[None] | None = None
        self.turnstile = Turnstile(self.fits, self.put)
        self.closed = False

    def fits(self, size_bytes: int) -> bool:
        return not self.texts or self.held_bytes + size_bytes <= self.max_bytes

    def put(self, text: bytes | bytearray) -> None:
        self.texts.append(bytes(text))
        self.held_bytes += len(text)
        self.wake()

    def take(self) -> bytes:
        text = self.texts.popleft()
        self.held_bytes -= len(text)
        if self.turnstile:
            self.turnstile.advance()
        return text

    def wake(self) -> None:
        if self.receiver is not None and not self.receiver.done():
            self.receiver.set_result(None)

    def close(self) -> None:
        self.closed = True
        self.turnstile.shut()
        self.wake()


class MemoryTransport:
    """One end of a `memory_pair`. Texts that were sent before an end was closed still reach the other."""

    __slots__ = ("_closed", "_incoming", "_outgoing", "_unyielded_bytes")

    def __init__(self, outgoing: _Lane, incoming: _Lane) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._unyielded_bytes = 0
        self._closed = False

    async def send(self, text: bytes | bytearray) -> None:
        """Hand one text over; waits while the other end has too much that it did not receive.

        Raises:
            ConnectionLost: Either end was closed.
        """
        lane = self._outgoing
        if lane.closed:
            raise ConnectionLost(clean=True)
        text = bytes(text)
        if lane.turnstile or not lane.fits(len(text)):
            if not await lane.turnstile.wait(text):
                raise ConnectionLost(clean=True)
            self._unyielded_bytes = 0
            return
        lane.put(text)
        self._unyielded_bytes += len(text)
        if self._unyielded_bytes >= SLICE_BYTES:
            self._unyielded_bytes = 0
            await sleep(0)

    def queue(self, text: bytes | bytearray) -> Future[bool] | None:
        """See `QueueingTransport.queue`."""
        lane = self._outgoing
        if lane.closed:
            return None
        if lane.turnstile or not lane.fits(len(text)):
            return lane.turnstile.join(bytes(text))[1]
        lane.put(text)
        return None

    async def receive(self) -> bytes | None:
        """The next text; None once either end was closed and everything that may still be read was."""
        lane = self._incoming
        if lane.texts:
            return lane.take()
        if lane.receiver is not None:
            raise RuntimeError("somebody else is receiving from this transport")
        while not lane.texts:
            if lane.closed:
                return None
            lane.receiver = get_running_loop().create_future()
            try:
                await lane.receiver
            finally:
                lane.receiver = None
        return lane.take()

    async def close(self) -> None:
        """Close both ways. What the other end has not received yet stays there for it."""
        if self._closed:
            return
        self._closed = True
        self._incoming.texts.clear()
        self._incoming.close()
        self._outgoing.close()
