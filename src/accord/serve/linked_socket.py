"""A WebSocket of our own runner: ASGI events at first, then a link that is called directly.

An idle socket has no task, no timer and no parser of its own: a link gets each text in the instant in which it was
read. The handshake alone is uvicorn's (`SocketProtocol`); no extension is negotiated, so nothing of it has to be kept.
The frames are in `socket_frames`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import MutableMapping, Sequence
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from accord.serve.rounds import Rounds
from accord.serve.socket_frames import (
    CLOSE,
    PING,
    PONG,
    TEXT,
    FrameFault,
    FrameReader,
    close_frame,
    closing,
    control_frame,
    frames_of,
)
from accord.serve.socket_link import LINK, TEXTS, SocketReader

__all__ = ["LinkedSocket", "SocketProtocol"]

log = logging.getLogger("accord.serve")

_QUEUE_BYTES = 256 * 1024
CLOSE_SECONDS = 10.0
_PING_BYTES = 4
_BAD_UPGRADE = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class LinkedSocket(asyncio.Protocol):
    """One socket. `receive` and `send` are those of ASGI until `link` was called."""

    __slots__ = (
        "_close_timer",
        "_frames",
        "_is_lost",
        "_is_paused",
        "_is_writable",
        "_ping",
        "_queue",
        "_reader",
        "_rounds",
        "_sockets",
        "close_sent",
        "slot",
        "transport",
    )

    def __init__(self, transport: asyncio.Transport, sockets: set[Any], max_bytes: int, ping_seconds: float) -> None:
        self.transport = transport
        self._sockets = sockets
        """All sockets of the server; it waits for them when it ends."""
        self._frames = FrameReader(max_bytes)
        self._queue: _EventQueue | None = _EventQueue()
        self._reader: SocketReader | None = None
        self._is_paused = False
        self._is_writable = True
        self._is_lost = False
        self.close_sent = False
        self._close_timer: asyncio.TimerHandle | None = None
        self._ping: bytes | None = None
        """The payload of a ping that was not answered."""
        self.slot = 0
        self._rounds = Rounds.running(ping_seconds)
        self._rounds.add(self)
        sockets.add(self)

    def link(self, reader: SocketReader) -> None:
        """Call `reader` from now on, also for events that were not received yet."""
        queue, self._queue = self._queue, None
        self._reader = reader
        self.resume()
        for event in queue.events if queue is not None else ():
            if event["type"] == "websocket.receive":
                if event.get("text") is not None:
                    reader.take(event["text"].encode())
            else:
                self._lose(event["code"], event.get("reason"))

    # --- receiving

    def data_received(self, data: bytes) -> None:
        for opcode, payload in self._frames.feed(data):
            if opcode == PING:
                self._answer_ping(payload)
            elif opcode == PONG:
                self._ping = None if payload == self._ping else self._ping
            elif opcode == CLOSE:
                self._take_close(payload)
                return
            elif not self.close_sent and not self._is_lost:
                self._take(opcode, payload)
        if self._frames.fault is not None:
            self._fail(self._frames.fault)

    def _take(self, opcode: int, payload: bytes) -> None:
        if self._reader is not None:
            if opcode == TEXT:  # the transport has no binary messages
                self._reader.take(payload)
        elif self._queue is not None:
            content = {"text": payload.decode()} if opcode == TEXT else {"bytes": payload}
            self._queue.put({"type": "websocket.receive", **content}, len(payload))
            if self._queue.size_bytes > _QUEUE_BYTES:
                self.pause()

    def _answer_ping(self, payload: bytes) -> None:
        # 5.5.3 lets a server answer the newest ping alone; one whose client does not read gets none.
        if self._is_writable and not self.close_sent and not self.transport.is_closing():
            self.transport.write(control_frame(PONG, payload))

    def _take_close(self, payload: bytes) -> None:
        found = closing(payload)
        if isinstance(found, FrameFault):
            self._fail(found)
        elif self.close_sent:
            self._end()
        elif not self.transport.is_closing():
            self.transport.write(close_frame(found[0]))
            self.close_sent = True
            self._lose(*found)
            self._end()

    def _fail(self, fault: FrameFault) -> None:
        if not self.close_sent and not self.transport.is_closing():
            self.transport.write(close_frame(*fault))
            self.close_sent = True
            self._lose(*fault)
        self._end()

    def pause(self) -> None:
        """Read nothing more for now."""
        if not self._is_paused and not self.transport.is_closing():
            self._is_paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._is_paused:
            self._is_paused = False
            if not self.transport.is_closing():
                self.transport.resume_reading()

    async def receive(self) -> Any:
        """See ASGI. While much waits here, nothing more is read."""
        queue = self._queue
        if queue is None:
            raise ClientDisconnected
        event = await queue.get()
        if not queue.events:
            queue.size_bytes = 0
            self.resume()
        return event

    # --- sending

    @property
    def is_writable(self) -> bool:
        """Whether a text would be sent now, and not only be kept."""
        return self._is_writable and not self.close_sent and not self._is_lost

    def write(self, texts: Sequence[bytes]) -> None:
        """Send texts; all of them are one write."""
        if not self.close_sent and not self._is_lost and not self.transport.is_closing():
            self.transport.write(frames_of(texts))

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """See ASGI; and `TEXTS`."""
        queue = self._queue
        if not self._is_writable and not self._is_lost and queue is not None:
            await queue.until_writable()
        if self._is_lost or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        if message["type"] == "websocket.close":
            self.send_close(message.get("code", 1000), message.get("reason") or "")
        elif TEXTS in message:
            self.write(message[TEXTS])
        elif message.get("text") is not None:
            self.write([message["text"].encode(errors="replace")])

    def send_close(self, code: int, reason: str) -> None:
        """Send a close frame, and give the client some time to answer it."""
        if self.close_sent or self._is_lost or self.transport.is_closing():
            return
        self.transport.write(close_frame(code, reason))
        self.close_sent = True
        self.resume()
        self._lose(code, reason)
        self._abort_late()

    def ping(self) -> None:
        """Send a ping; a client that did not answer the last one is gone."""
        if self.close_sent or self.transport.is_closing():
            return
        if self._ping is not None and not self._is_paused:
            log.info("a socket was closed: its client answers no ping")
            self.transport.write(close_frame(1011, "keepalive ping timeout"))
            self.close_sent = True
            self.transport.close()
            self._abort_late()
            return
        self._ping = random.randbytes(_PING_BYTES)  # noqa: S311 - it only distinguishes pings
        self.transport.write(control_frame(PING, self._ping))

    # --- the transport, and uvicorn

    def eof_received(self) -> None:
        """The transport closes itself."""

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._is_writable = True
        if self._reader is not None:
            self._reader.flush()
        elif self._queue is not None:
            self._queue.wake_writers()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the interface
        """See `asyncio.Protocol`."""
        self._is_lost = True
        self._stop()
        self._sockets.discard(self)
        if self._queue is not None:
            self._queue.wake_writers()
        self._lose(1005, None)

    def shutdown(self) -> None:
        """The server ends; called by uvicorn."""
        self.send_close(1012, "")
        self._end()

    def is_closing(self) -> bool:
        """See `asyncio.Transport`: to uvicorn's protocol, whose handshake is over, this is the transport."""
        return self.transport.is_closing()

    def close(self) -> None:
        """The application has returned: a socket that is not linked ends."""
        if self._reader is None and self._close_timer is None:
            self._end()

    def abort(self) -> None:
        """End at once; unwritten data is dropped."""
        self._stop()
        self.transport.abort()

    def _end(self) -> None:
        self._stop()
        self.transport.close()
        self._abort_late()

    def _abort_late(self) -> None:
        """Abort the transport after a while: once closed it writes its buffer, endlessly if the client never reads."""
        if self._close_timer is None and not self._is_lost:
            self._close_timer = asyncio.get_running_loop().call_later(CLOSE_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        self._rounds.discard(self)
        if self._close_timer is not None:
            self._close_timer.cancel()
            self._close_timer = None

    def _lose(self, code: int, reason: str | None) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.lose(code, reason)
        elif self._queue is not None:
            self._queue.put(
                {"type": "websocket.disconnect", "code": code, **({} if reason is None else {"reason": reason})}
            )


class _EventQueue:
    """The events of a socket that is not linked yet, for one receiver; and senders that wait for the transport."""

    __slots__ = ("_receiver", "_writers", "events", "size_bytes")

    def __init__(self) -> None:
        self.events: list[MutableMapping[str, Any]] = []
        self.size_bytes = 0
        self._receiver: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] | None = []

    def put(self, event: MutableMapping[str, Any], size_bytes: int = 0) -> None:
        self.events.append(event)
        self.size_bytes += size_bytes
        _wake(self._receiver)

    async def get(self) -> MutableMapping[str, Any]:
        while not self.events:
            self._receiver = asyncio.get_running_loop().create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        return self.events.pop(0)

    async def until_writable(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writers = [*(self._writers or ()), waiter]
        await waiter

    def wake_writers(self) -> None:
        writers, self._writers = self._writers, None
        for writer in writers or ():
            _wake(writer)


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


class SocketProtocol(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._early = b""
        """The data that came before the upgrade was answered."""
        self.linked: LinkedSocket | None = None

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[TEXTS] = {}
            extensions[LINK] = {"socket": lambda: self.linked}

    def data_received(self, data: bytes) -> None:
        if self.handshake_initiated and not self.handshake_complete:
            # Frames before the upgrade was answered, of a client that may not be authenticated yet: read no more.
            self._early += data
            self.read_paused = True
            self.transport.pause_reading()
        else:
            super().data_received(data)
            if not self.handshake_initiated:
                self._refuse()

    def _refuse(self) -> None:
        """Answer a head that h11 could read and the library cannot: uvicorn would wait for ever, with no deadline.

        That is an upgrade with a body, or with more or longer headers than the library takes. No token was looked at.
        """
        log.info("refused an upgrade with 400: it has a body, or too many headers")
        self.handshake_initiated = self.handshake_complete = self.close_sent = True
        self.transport.write(_BAD_UPGRADE)
        self.transport.close()

    def start_keepalive(self) -> None:
        """The upgrade was accepted: nothing of the handshake is kept."""
        transport = self.transport
        linked = LinkedSocket(transport, self.connections, self.config.ws_max_size, self.config.ws_ping_interval or 0.0)
        self.linked = linked
        self.connections.discard(self)
        # uvicorn closes this object when the application has returned.
        self.transport = linked  # type: ignore[assignment]
        transport.set_protocol(linked)
        self.conn.parser.close()  # a generator that holds its own object
        if self.read_paused:
            transport.resume_reading()
        if self._early:
            early, self._early = self._early, b""
            self.loop.call_soon(linked.data_received, early)

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self.scope.clear()  # type: ignore[attr-defined] # it holds this object

    async def receive(self) -> Any:
        """See ASGI."""
        # The first event is that a client wants to connect; it was put into uvicorn's own queue.
        return await super().receive() if self.linked is None else await self.linked.receive()

    async def send(self, message: MutableMapping[str, Any]) -> None:  # type: ignore[override]
        """See ASGI."""
        if self.linked is None:
            await super().send(message)  # type: ignore[arg-type]
            if self.close_sent:
                self.handshake_complete = True  # an upgrade that was refused: uvicorn would log an error
        else:
            await self.linked.send(message)
