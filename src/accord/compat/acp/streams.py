"""Transports over the official SDK's streams: a pair of asyncio streams, or an object that moves decoded messages."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any

from accord.errors import ConnectionLost, FrameError
from accord.time_scale import scaled
from accord.transport.interface import Transport
from accord.wire import DEFAULT_MAX_BYTES, frame_line, reader_for

__all__ = ["transport_of"]

_READ_BYTES = 64 * 1024
_ROOM_BYTES = 16 * 1024
_CLOSE_SECONDS = scaled(1.0)


def transport_of(writer: Any, reader: Any) -> Transport:
    """The transport over the streams that an SDK function takes: a writer and a reader, or one message transport.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(writer, asyncio.StreamWriter) and isinstance(reader, asyncio.StreamReader):
        return AsyncioStreams(reader, writer)
    if reader is None and all(callable(getattr(writer, name, None)) for name in ("send", "receive", "close")):
        return MessageStream(writer)
    raise TypeError("expected an asyncio.StreamWriter and an asyncio.StreamReader, or one message transport")


class _Link:
    """The common part of both: senders in their order, and a receiver that an own `close` wakes up."""

    def __init__(self) -> None:
        self._sending = asyncio.Lock()
        self._reading: asyncio.Task[Any] | None = None
        self._closed = asyncio.Event()
        self._is_over = False

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:  # noqa: ARG002 - every text goes through `send`
        """See `Transport.try_send`."""
        return False

    @property
    def hung_up(self) -> bool:
        """See `Transport.hung_up`."""
        return self._is_over

    async def _read(self, reading: Any) -> Any:
        """The result of the coroutine that `reading` makes; None after `close`. A cancelled caller lets it run on."""
        if self._closed.is_set():
            return None
        if self._reading is None:
            self._reading = asyncio.ensure_future(reading())
        task = self._reading
        closed = asyncio.ensure_future(self._closed.wait())
        try:
            await asyncio.wait((task, closed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()
        if self._closed.is_set():
            return None
        self._reading = None
        return task.result()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ConnectionLost(clean=True)

    async def _stop_reading(self) -> None:
        self._closed.set()
        self._is_over = True
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait((self._reading,))


class AsyncioStreams(_Link):
    """Lines over a `StreamReader` and a `StreamWriter`, which `close` closes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__()
        self._stream = reader
        self._writer = writer
        self._lines = reader_for("lines", DEFAULT_MAX_BYTES)

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`."""
        frame = frame_line(text)
        async with self._sending:
            self._check_open()
            try:
                # First there must be room: a text that is handed over cannot be taken back.
                await self._drain()
                self._writer.write(bytes(frame))
                await self._drain()
            except (OSError, RuntimeError) as error:
                raise ConnectionLost(f"the peer no longer reads: {type(error).__name__}") from error

    async def _drain(self) -> None:
        # Nearly always there is room, and two tasks less to make; a writer that is closing has to say so.
        if not self._writer.is_closing() and self._writer.transport.get_write_buffer_size() <= _ROOM_BYTES:
            return
        draining = asyncio.ensure_future(self._writer.drain())
        closed = asyncio.ensure_future(self._closed.wait())
        try:
            await asyncio.wait((draining, closed), return_when=asyncio.FIRST_COMPLETED)
            self._check_open()
            await draining
        finally:
            draining.cancel()
            closed.cancel()

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`."""
        while not self._is_over:
            try:
                data = await self._read(lambda: self._stream.read(_READ_BYTES))
            except OSError as error:
                raise ConnectionLost(f"reading failed: {type(error).__name__}") from error
            if data is None:
                return []
            texts = self._lines.feed(data) if data else self._lines.finish()
            self._is_over = not data or self._lines.fault is not None
            if texts:
                return texts
        fault = self._lines.fault
        if fault is not None and not self._closed.is_set():
            raise FrameError(str(fault), limit_bytes=fault.limit_bytes)
        return []

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._stop_reading()
        self._writer.close()
        # A task of its own: a cancelled `wait_closed` would cancel the future that all its callers share.
        closing = asyncio.ensure_future(self._writer.wait_closed())
        _, late = await asyncio.wait((closing,), timeout=_CLOSE_SECONDS)
        if late:
            self._writer.transport.abort()
            await asyncio.wait((closing,), timeout=_CLOSE_SECONDS)
        if closing.done() and not closing.cancelled():
            closing.exception()  # retrieved: the link was to end anyway


class MessageStream(_Link):
    """An object of the SDK that sends and receives decoded messages, such as its clients for HTTP and WebSocket."""

    def __init__(self, messages: Any) -> None:
        super().__init__()
        self._messages = messages

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`."""
        message = json.loads(bytes(text))
        async with self._sending:
            self._check_open()
            try:
                await self._messages.send(message)
            except Exception as error:
                raise ConnectionLost(f"a message could not be sent: {type(error).__name__}") from error

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`."""
        if self._is_over:
            return []
        try:
            message = await self._read(self._messages.receive)
        except Exception as error:
            raise ConnectionLost(f"receiving failed: {type(error).__name__}") from error
        if message is None:
            self._is_over = True
            return []
        return [json.dumps(message).encode()]

    async def close(self) -> None:
        """See `Transport.close`."""
        if not self._closed.is_set():
            await self._stop_reading()
            with contextlib.suppress(Exception):
                await self._messages.close()
