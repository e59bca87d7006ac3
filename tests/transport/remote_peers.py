"""Servers for the transports to an address: an obedient one as the other end of a pair, and any other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from accord.errors import ConnectionLost
from accord.transport import Transport, connect_http, connect_websocket
from accord.transport.remote import RemoteOptions
from accord.wire.sse import serialize_event

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
INITIALIZED = b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'


# --- WebSocket


@contextlib.asynccontextmanager
async def websocket_server(talk: Callable[[ServerConnection], Awaitable[None]], **options: Any) -> AsyncIterator[str]:
    """A server that holds `talk` with every client; gives its address."""
    options = {"compression": None, "max_size": None, "close_timeout": 1, "ping_interval": None, **options}
    async with serve(talk, "127.0.0.1", 0, **options) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"


class WebSocketEnd:
    """The server's end of a pair; nothing is read while nobody receives."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket
        self._is_paused = True
        socket.transport.pause_reading()

    async def send(self, text: bytes | bytearray) -> None:
        try:
            await self._socket.send(bytes(text), text=b"\xff" not in text)
        except ConnectionClosed:
            raise ConnectionLost from None

    def try_send(self, _: Any) -> bool:
        return False

    async def receive(self) -> list[bytes]:
        if self._is_paused:
            self._is_paused = False
            self._socket.transport.resume_reading()
        try:
            return [await self._socket.recv(decode=False)]
        except ConnectionClosed:
            return []

    @property
    def hung_up(self) -> bool:
        return False

    async def close(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._socket.transport.resume_reading()
        await self._socket.close()


@contextlib.asynccontextmanager
async def websocket_pairs() -> AsyncIterator[Callable[[], Awaitable[tuple[Transport, Transport]]]]:
    ends: asyncio.Queue[Transport] = asyncio.Queue()

    async def talk(socket: ServerConnection) -> None:
        ends.put_nowait(WebSocketEnd(socket))
        await socket.wait_closed()

    async with websocket_server(talk) as address:

        async def make_pair() -> tuple[Transport, Transport]:
            return await connect_websocket(address), await ends.get()

        yield make_pair


# --- HTTP


class Request(NamedTuple):
    method: str
    headers: Mapping[str, str]
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await self.writer.drain()

    async def stream(self) -> None:
        """Begin a stream of events."""
        self.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()

    async def accept(self) -> None:
        await self.answer(200, INITIALIZED, Content_Type="application/json", Acp_Connection_Id="c1")

    def reset(self) -> None:
        self.writer.transport.abort()


Serve = Callable[[Request], Awaitable[None]]


@contextlib.asynccontextmanager
async def http_server(handle: Serve) -> AsyncIterator[str]:
    """A server that gives every request to `handle`; gives its address."""
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                pairs = (line.split(":", 1) for line in head[1:] if line)
                headers = {name.lower(): value.strip() for name, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                await handle(Request(head[0].split()[0], headers, body, reader, writer))
        tasks.discard(task)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=1 << 20)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


LARGE_BYTES = 256 * 1024


class HttpEnd:
    """The server's end of a pair: one connection stream, and POSTs of which it holds few, and no large one.

    A large one is answered when it was received: until then it counts as not taken.
    """

    def __init__(self) -> None:
        self._received: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._sent: asyncio.Queue[bytes | None] = asyncio.Queue(4)
        self._space = asyncio.Semaphore(4)
        self._closed = False

    async def handle(self, request: Request) -> None:
        if request.method == "POST" and request.body == INITIALIZE:
            await request.accept()
        elif request.method == "POST":
            await self._space.acquire()
            self._received.put_nowait(request.body)
            if len(request.body) > LARGE_BYTES:
                await self._received.join()
            await request.answer(202)
        elif request.method == "GET":
            await self._stream(request)
        else:
            self._received.put_nowait(None)
            await request.answer(202)

    async def _stream(self, request: Request) -> None:
        if self._closed:
            await request.answer(404)
            return
        await request.stream()
        while (text := await self._sent.get()) is not None:
            await request.chunk(serialize_event(text))
        await request.chunk(b"")

    async def send(self, text: bytes | bytearray) -> None:
        if self._closed:
            raise ConnectionLost
        await self._sent.put(bytes(text))

    def try_send(self, _: Any) -> bool:
        return False

    async def receive(self) -> list[bytes]:
        text = await self._received.get()
        if text is None:
            self._received.put_nowait(None)
            return []
        self._space.release()
        self._received.task_done()
        return [text]

    @property
    def hung_up(self) -> bool:
        return False

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._received.put_nowait(None)
            await self._sent.put(None)


@contextlib.asynccontextmanager
async def http_pairs() -> AsyncIterator[Callable[[], Awaitable[tuple[Transport, Transport]]]]:
    ends: list[HttpEnd] = [HttpEnd()]

    async def handle(request: Request) -> None:
        await ends[-1].handle(request)

    async with http_server(handle) as address:

        async def make_pair() -> tuple[Transport, Transport]:
            ends.append(HttpEnd())
            left = await connect_http(address, RemoteOptions(reconnect_seconds=1))
            await left.send(INITIALIZE)
            assert await left.receive() == [INITIALIZED]
            return left, ends[-1]

        yield make_pair
