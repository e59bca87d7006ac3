"""The agent's end of a remote connection: a `Transport` whose other side is the connection, not a socket."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Protocol, TypeVar

from accord.errors import ConnectionLost
from accord.transport.interface import Take
from accord.transport.write_buffer import SLICE_BYTES, SendQueue

__all__ = ["AgentTransport", "RemotePeer"]

T = TypeVar("T")

_QUEUE_BYTES = 1024 * 1024


class RemotePeer(Protocol):
    """The connection that a transport serves."""

    def has_room(self, size_bytes: int) -> bool: ...

    def is_over(self) -> bool: ...

    def deliver(self, text: bytes | bytearray) -> None: ...

    def deliver_all(self, texts: Sequence[bytes | bytearray]) -> None: ...

    def end(self, reason: str) -> None: ...


class AgentTransport:
    """Carries texts between the agent and the connection, in both directions.

    `peer` is the connection; another one may take the agent over.
    """

    __slots__ = (
        "_closed",
        "_context",
        "_incoming",
        "_incoming_bytes",
        "_on_next",
        "_queue",
        "_receiver",
        "_room",
        "_take",
        "_unyielded_bytes",
        "peer",
    )

    def __init__(self, peer: RemotePeer) -> None:
        self.peer = peer
        self._incoming: list[bytes] = []
        self._incoming_bytes = 0
        self._on_next: Callable[[], object] | None = None
        self._receiver: asyncio.Future[bool] | None = None
        self._take: Take | None = None
        """Gets each text in the instant in which it is offered."""
        self._context: Context | None = None
        """Of the task that receives."""
        self._room: list[Callable[[], None]] = []
        """Called when the agent has read the texts that it was given."""
        self._queue: SendQueue | None = None
        """Made when the agent has to wait: a server has thousands of connections on which it never does."""
        self._unyielded_bytes = 0
        self._closed = False

    def _has_room(self, size_bytes: int) -> bool:
        return self.peer.has_room(size_bytes)

    def _put(self, text: bytes | bytearray) -> None:
        self.peer.deliver(text)

    def _is_over(self) -> bool:
        return self.peer.is_over()

    @property
    def _waits(self) -> bool:
        return self._queue is not None and bool(self._queue.waiting)

    def _sends(self) -> SendQueue:
        if self._queue is None:
            self._queue = SendQueue(self._has_room, self._put, self._is_over)
        return self._queue

    # --- the agent's side: see `Transport`

    @property
    def hung_up(self) -> bool:
        """Whether the client is gone for good."""
        return self._closed

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`."""
        if self._closed:
            raise ConnectionLost(clean=True)
        if self._waits or not self._has_room(len(text)):
            if not await self._sends().wait(text):
                raise ConnectionLost(clean=True)
            self._unyielded_bytes = 0
        else:
            self._put(text)
            self._unyielded_bytes += len(text)
        if self._is_over() and not await self._sends().drain():
            raise ConnectionLost(clean=True)
        if self._unyielded_bytes >= SLICE_BYTES:
            self._unyielded_bytes = 0
            await asyncio.sleep(0)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """See `Transport.try_send`."""
        size_bytes = sum(map(len, texts))
        if self._closed or self._waits or not self._has_room(size_bytes):
            return False
        if self._unyielded_bytes + size_bytes >= SLICE_BYTES:
            self._unyielded_bytes = SLICE_BYTES  # so `send`, which has to take the next one, gives the loop a turn
            return False
        self._unyielded_bytes += size_bytes
        self.peer.deliver_all(texts)
        return True

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`."""
        while not self._incoming:
            if self._closed:
                return []
            await self._wait()
        return self._taken()

    async def _receive_into(self, take: Take) -> bool:
        """See `accord.transport.interface.receive_into`."""
        if self._context is None:
            self._context = copy_context()
        while True:
            if self._incoming:
                if not take(self._taken()):
                    return True
            elif self._closed:
                return False
            else:
                self._take = take
                try:
                    if await self._wait():
                        return True
                finally:
                    self._take = None

    async def _wait(self) -> bool:
        """Wait for texts or the end; True if `_take` wants no more."""
        self._receiver = asyncio.get_running_loop().create_future()
        try:
            return await self._receiver
        finally:
            self._receiver = None

    def _taken(self) -> list[bytes]:
        texts, self._incoming, self._incoming_bytes = self._incoming, [], 0
        self._end_waits()
        return texts

    async def close(self) -> None:
        """The agent ends the connection."""
        self.peer.end("the agent closed it")

    # --- the client's side

    def offer(self, text: bytes) -> None:
        """Give the agent one text."""
        if self._take is not None and self._receiver is not None and not self._receiver.done():
            self._offer_at_once(text, self._take, self._receiver)
            return
        self._incoming.append(text)
        self._incoming_bytes += len(text)
        self._wake()
        if self._on_next is not None:
            begin, self._on_next = self._on_next, None
            begin()

    def _offer_at_once(self, text: bytes, take: Take, receiver: asyncio.Future[bool]) -> None:
        assert self._context is not None  # noqa: S101 - `_receive_into` has set it
        try:
            wants_more = self._context.run(take, [text])
        except Exception as error:  # noqa: BLE001 - raised in the receiver
            receiver.set_exception(error)
        else:
            if not wants_more:
                receiver.set_result(True)

    def begin_with_next(self, begin: Callable[[], object]) -> None:
        """Call this when the next text was offered, unless the client hangs up before."""
        self._on_next = begin

    @property
    def is_full(self) -> bool:
        """Whether the agent has to read before it gets more."""
        return self._incoming_bytes > _QUEUE_BYTES and not self._closed

    def when_room(self, callback: Callable[[], None]) -> None:
        """Call this once when the agent has read the texts that it was given, or reads no more."""
        if callback not in self._room:
            self._room.append(callback)

    async def room(self) -> None:
        """Wait until the agent is not full."""
        while self.is_full:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._room.append(functools.partial(_wake, waiter, None))
            await waiter

    def advance(self) -> None:
        """Note that a link has taken texts of the agent: the loop had a turn, and there is room again."""
        self._unyielded_bytes = 0
        if self._queue is not None:
            self._queue.advance()

    def hang_up(self) -> None:
        """The client is gone for good."""
        self._closed = True
        self._on_next = None
        if self._queue is not None:
            self._queue.close()
        self._wake()
        self._end_waits()

    def _end_waits(self) -> None:
        if self._room:
            callbacks, self._room = self._room, []
            for callback in callbacks:
                callback()

    def _wake(self) -> None:
        if self._receiver is not None:
            _wake(self._receiver, False)  # noqa: FBT003 - more is wanted


def _wake(waiter: asyncio.Future[T], result: T) -> None:
    if not waiter.done():
        waiter.set_result(result)
