"""A transport to another task of the same loop, with the order and the back-pressure of a real link."""

from __future__ import annotations

from asyncio import Future, get_running_loop, sleep
from collections import deque
from typing import TYPE_CHECKING

from accord.errors import ConnectionLost
from accord.transport.interface import Transport
from accord.transport.write_buffer import SLICE_BYTES, SendQueue

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MemoryTransport", "memory_pair"]


def memory_pair(max_bytes: int = 1024 * 1024) -> tuple[Transport, Transport]:
    """Two ends of one link.

    Each direction holds up to `max_bytes` that were not received; a larger text is accepted where there is no other,
    and its sender waits until it is received.
    """
    there, back = _Direction(max_bytes), _Direction(max_bytes)
    return MemoryTransport(there, back), MemoryTransport(back, there)


class _Direction:
    """One direction of the link."""

    __slots__ = ("closed", "held_bytes", "max_bytes", "queue", "receiver", "texts")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self.texts: deque[bytes] = deque()
        self.receiver: Future[None] | None = None
        self.queue = SendQueue(self.fits, self.put, self.is_over)
        self.closed = False

    def fits(self, size_bytes: int) -> bool:
        return not self.texts or self.held_bytes + size_bytes <= self.max_bytes

    def is_over(self) -> bool:
        return self.held_bytes > self.max_bytes

    def put(self, text: bytes | bytearray) -> None:
        self.texts.append(bytes(text))
        self.held_bytes += len(text)
        self.wake()

    def take(self) -> list[bytes]:
        """As much as one read of a pipe would give, in whole texts."""
        texts: list[bytes] = []
        size_bytes = 0
        while self.texts and size_bytes < SLICE_BYTES:
            texts.append(self.texts.popleft())
            size_bytes += len(texts[-1])
        self.held_bytes -= size_bytes
        self.queue.advance()
        return texts

    def wake(self) -> None:
        if self.receiver is not None and not self.receiver.done():
            self.receiver.set_result(None)

    def close(self) -> None:
        self.closed = True
        self.queue.close()
        self.wake()


class MemoryTransport:
    """One end of a `memory_pair`. Texts that were sent before an end was closed still reach the other."""

    __slots__ = ("_closed", "_incoming", "_outgoing", "_unyielded_bytes")

    def __init__(self, outgoing: _Direction, incoming: _Direction) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._unyielded_bytes = 0
        self._closed = False

    @property
    def hung_up(self) -> bool:
        """Whether either end was closed."""
        return self._incoming.closed

    async def send(self, text: bytes | bytearray) -> None:
        """Send one text; waits while the other end has more than the limit to receive.

        Raises:
            ConnectionLost: Either end was closed.
        """
        direction = self._outgoing
        if direction.closed:
            raise ConnectionLost(clean=True)
        if direction.queue.waiting or not direction.fits(len(text)):
            if not await direction.queue.wait(text):
                raise ConnectionLost(clean=True)
            self._unyielded_bytes = 0
        else:
            direction.put(text)
            self._unyielded_bytes += len(text)
        if direction.is_over() and not await direction.queue.drain():
            raise ConnectionLost(clean=True)
        if self._unyielded_bytes >= SLICE_BYTES:
            self._unyielded_bytes = 0
            await sleep(0)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """See `Transport.try_send`."""
        direction, size_bytes = self._outgoing, sum(map(len, texts))
        if direction.closed or direction.queue.waiting or direction.held_bytes + size_bytes > direction.max_bytes:
            return False
        if self._unyielded_bytes + size_bytes >= SLICE_BYTES:
            self._unyielded_bytes = SLICE_BYTES  # so `send`, which has to take the next one, gives the loop a turn
            return False
        self._unyielded_bytes += size_bytes
        for text in texts:
            direction.put(text)
        return True

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`; the list is empty once either end was closed and everything was received."""
        direction = self._incoming
        if direction.receiver is not None:
            raise RuntimeError("another task is receiving from this transport")
        while not direction.texts:
            if direction.closed:
                return []
            direction.receiver = get_running_loop().create_future()
            try:
                await direction.receiver
            finally:
                direction.receiver = None
        return direction.take()

    async def close(self) -> None:
        """Close both directions. What the other end has not received yet stays there for it."""
        if self._closed:
            return
        self._closed = True
        self._incoming.texts.clear()
        self._incoming.close()
        self._outgoing.close()
