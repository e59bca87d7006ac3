"""uvicorn's WebSocket protocol with less work for each message: many texts in one write, text frames read at once.

Everything else (the handshake, control frames, fragments, faults, the close) is left to uvicorn and `websockets`: they
get whole the frames that are not read here, so that their parser never stands inside of one. There are no extensions:
what is negotiated in the handshake is forgotten with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, MutableMapping
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import apply_mask
from websockets.protocol import Protocol, Side

from accord.serve.websocket import TEXTS

__all__ = ["SocketProtocol"]

log = logging.getLogger("accord.serve")

_QUEUE_BYTES = 256 * 1024
# An unfinished frame that is not larger is joined with what comes next.
_SMALL_BYTES = 64 * 1024
# RFC 6455, 5.2: a whole text, and a length that is in the next two or eight bytes.
_WHOLE_TEXT, _TWO_BYTES, _EIGHT_BYTES = 0x81, 126, 127
_MASKED, _LENGTH, _FINAL, _CONTROL = 0x80, 0x7F, 0x80, 0x08
_LEAST_BYTES, _MASK_BYTES = 2, 4


class SocketProtocol(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.queue: _EventQueue = _EventQueue()  # type: ignore[assignment]
        self.writable: _Gate = _Gate()  # type: ignore[assignment]
        self._unread = b""
        """The beginning of a frame."""
        self._passing_bytes = 0
        """How much of a large frame is still to come, for `websockets`."""
        self._is_fragmented = False
        """Whether the next data frame goes on with a message."""
        self._is_broken = False
        """Whether everything is for `websockets`, which knows how to refuse it."""
        self._queued_bytes = 0
        self._is_lost = False

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: dict[str, Any] = self.scope["extensions"]  # type: ignore[assignment]
            extensions[TEXTS] = {}

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        super().connection_lost(exc)

    def keepalive_timeout(self) -> None:
        log.info("a socket was closed: its client answers no ping")
        super().keepalive_timeout()

    # --- what is sent

    def start_keepalive(self) -> None:
        super().start_keepalive()
        # The handshake is over; what it needed would be a third of what an idle socket takes.
        del self.request, self.response
        self.scope["headers"] = []
        max_bytes = self.config.ws_max_size
        self.conn = Protocol(Side.SERVER, max_size=max_bytes, logger=self.logger)  # type: ignore[assignment]
        if self._unread:
            self.loop.call_soon(self.data_received, b"")

    async def send(self, message: MutableMapping[str, Any]) -> None:  # type: ignore[override]
        """See ASGI; and `TEXTS`."""
        texts = message.get(TEXTS)
        if texts is None:
            await super().send(message)  # type: ignore[arg-type]
            return
        if not self.writable.is_set():
            await self.writable.wait()
        if self._is_lost or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(frames_of(texts))

    # --- what is received

    def data_received(self, data: bytes) -> None:
        if not self.handshake_complete and self.handshake_initiated:
            # Frames before the upgrade was answered, by a client that may not have been let in yet: no more of them.
            self._unread += data
            self.read_paused = True
            self.transport.pause_reading()
            return
        if self._is_broken or not self.handshake_complete:
            super().data_received(data)
            return
        if self._unread:
            data, self._unread = self._unread + data, b""
        start, end = 0, len(data)
        while start < end and not self.transport.is_closing():
            if self._passing_bytes:
                size = min(self._passing_bytes, end - start)
                self._passing_bytes -= size
                super().data_received(data[start : start + size])
            else:
                size = self._take_frame(data, start, end)
                if not size:
                    break
            start += size

    def _take_frame(self, data: bytes, start: int, end: int) -> int:
        """Take one frame; how much it has, 0 if nothing more of the data can be taken."""
        size = _frame_bytes(data, start, end, self.config.ws_max_size)
        if size < 0:
            self._is_broken = True
            super().data_received(data[start:])
            return 0
        if size > end - start or not size:
            if size <= _SMALL_BYTES:
                self._unread = data[start:]
                return 0
            self._passing_bytes = size - (end - start)
            size = end - start
        elif data[start] == _WHOLE_TEXT and not self._is_fragmented and self._take_text(data, start, size):
            return size
        if not data[start] & _CONTROL:
            self._is_fragmented = not data[start] & _FINAL
        super().data_received(data[start : start + size])
        return size

    def _take_text(self, data: bytes, start: int, size: int) -> bool:
        place = start + _head_bytes(data[start + 1])
        mask, payload = data[place - _MASK_BYTES : place], data[place : start + size]
        try:
            text = (apply_mask(payload, mask) if any(mask) else payload).decode()
        except UnicodeDecodeError:
            return False  # uvicorn closes with 1007
        if not self.close_sent and not self._is_lost:
            self._queued_bytes += size
            self.queue.put_nowait({"type": "websocket.receive", "text": text})
            if self._queued_bytes > _QUEUE_BYTES and not self.read_paused:
                self.read_paused = True
                self.transport.pause_reading()
        return True

    async def receive(self) -> Any:
        """See ASGI. While much waits here, nothing more is read."""
        event = await self.queue.get()
        if self.queue.empty():
            self._queued_bytes = 0
            if self.read_paused:
                self.read_paused = False
                self.transport.resume_reading()
        return event


class _EventQueue:
    """`asyncio.Queue` for one reader, as far as uvicorn uses it; a tenth of its size."""

    __slots__ = ("_events", "_waiter")

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._waiter: asyncio.Future[None] | None = None

    def empty(self) -> bool:
        return not self._events

    def put_nowait(self, event: Any) -> None:
        self._events.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def get(self) -> Any:
        while not self._events:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._events.pop(0)


class _Gate:
    """`asyncio.Event` as far as uvicorn uses it; it begins open, and a waiter costs only where there is one."""

    __slots__ = ("_is_open", "_waiters")

    def __init__(self) -> None:
        self._is_open = True
        self._waiters: list[asyncio.Future[None]] | None = None

    def is_set(self) -> bool:
        return self._is_open

    def clear(self) -> None:
        self._is_open = False

    def set(self) -> None:
        self._is_open = True
        waiters, self._waiters = self._waiters, None
        for waiter in waiters or ():
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        while not self._is_open:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters = [*(self._waiters or ()), waiter]
            await waiter


def frames_of(texts: Iterable[bytes]) -> bytes:
    """The frames of a server for so many texts."""
    parts: list[bytes] = []
    for given in texts:
        # A text frame must be UTF-8; what a program behind the server writes may be anything.
        text = given if given.isascii() else given.decode(errors="replace").encode()
        size = len(text)
        if size < _TWO_BYTES:
            parts.append(b"\x81%c" % size)
        elif size < 1 << 16:
            parts.append(b"\x81\x7e" + size.to_bytes(2, "big"))
        else:
            parts.append(b"\x81\x7f" + size.to_bytes(8, "big"))
        parts.append(text)
    return b"".join(parts)


def _head_bytes(second: int) -> int:
    """The size of a head with its mask."""
    length = second & _LENGTH
    return _LEAST_BYTES + (2 if length == _TWO_BYTES else 8 if length == _EIGHT_BYTES else 0) + _MASK_BYTES


def _frame_bytes(data: bytes, start: int, end: int, max_bytes: int) -> int:
    """The size of the frame that begins there; 0 if its head is not whole, negative if it is one to refuse."""
    if end - start < _LEAST_BYTES:
        return 0
    second = data[start + 1]
    if not second & _MASKED:
        return -1
    length, head = second & _LENGTH, _head_bytes(second)
    if end - start < head:
        return 0
    if length >= _TWO_BYTES:
        length = int.from_bytes(data[start + 2 : start + head - _MASK_BYTES], "big")
    return -1 if length > max_bytes else head + length
