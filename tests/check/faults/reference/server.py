"""A server by hand for an agent by hand: streamable HTTP and WebSocket, in small steps that can be overridden.

Like the agents of this folder it has no help from the rest of Accord.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

__all__ = ["TOKEN", "Link", "ReferenceServer", "Reply", "Request", "ServedConnection", "Socket"]

TOKEN = "secret"  # noqa: S105 - of servers that live for a test
MAX_BODY_BYTES = 1 << 20
KEEP_ALIVE_SECONDS = 0.2
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_NAMES = frozenset({"127.0.0.1", "localhost"})
_CREATING = frozenset({"session/new", "session/list", "initialize", "authenticate", "auth/login"})
_OPENING = frozenset({"session/load", "session/resume"})


class Request(NamedTuple):
    method: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes = b""


def text_reply(status: int, **headers: str) -> Reply:
    return Reply(status, {"Content-Type": "text/plain", **headers}, b"no\n")


class Link:
    """One reader of a stream."""


class ServedStream:
    """All texts of one stream, and how many of them were written."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.written = 0
        self.links: list[Link] = []
        """Those that are served; the last one came last."""


class ServedConnection:
    """One agent, and the streams to its client."""

    def __init__(self, agent: Any, deliver: Callable[[ServedConnection, bytes], None]) -> None:
        self.id = str(uuid.uuid4())
        self.streams: dict[str | None, ServedStream] = {}
        self.answers: dict[Any, str | None] = {}
        """The stream of the answer to each open request."""
        self.opening: dict[str, str | None] = {}
        """The stream of the replay of each session that is just being opened."""
        self.has_ended = False
        self.version = 0
        self._waiters: list[asyncio.Future[None]] = []
        self.initialized: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._deliver = deliver
        self.task = asyncio.ensure_future(agent.serve(self._iterate(), self._on_data))

    async def _iterate(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            yield line

    def _on_data(self, data: bytes) -> None:
        for line in data.splitlines():
            if not self.initialized.done():
                self.initialized.set_result(line)
            else:
                self._deliver(self, line)
        self.change()

    def take(self, line: bytes) -> None:
        self._lines.put_nowait(line)

    def stream(self, name: str | None) -> ServedStream:
        return self.streams.setdefault(name, ServedStream())

    def change(self) -> None:
        """Let everything that waits look again."""
        self.version += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters = []

    async def wait(self, version: int) -> None:
        """Wait for a change since a version."""
        if self.version == version:
            self._waiters.append(asyncio.get_running_loop().create_future())
            await self._waiters[-1]

    def end(self) -> None:
        self.has_ended = True
        self._lines.put_nowait(None)
        self.change()


class ReferenceServer:
    """Conforms to the rules of the transport. `agent` is what it serves; each connection has one of its own."""

    agent: ClassVar[Callable[[], Any]]
    is_http = is_websocket = True

    def __init__(self) -> None:
        self.connections: dict[str, ServedConnection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._on_client, "127.0.0.1", 0, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self.connections.values():
            connection.end()
        agents = [connection.task for connection in self.connections.values()]
        for task in (*self._tasks, *agents):
            task.cancel()
        await asyncio.gather(*self._tasks, *agents, return_exceptions=True)

    async def _on_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            request = await self.read_request(reader, writer)
            reply = text_reply(413) if request is None else await self.handle(request)
            if reply is not None:
                self.write_reply(writer, reply)
                await writer.drain()
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def read_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
        """A request with its body; None if that is too large."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", "0"))
        if self.is_too_large(length):
            return None
        return Request(lines[0].split()[0], headers, await reader.readexactly(length), reader, writer)

    def is_too_large(self, length: int) -> bool:
        return length > MAX_BODY_BYTES

    def write_reply(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        headers = {"Content-Length": str(len(reply.body)), "Connection": "close", **reply.headers}
        head = [f"HTTP/1.1 {reply.status} Status", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(head).encode("latin-1") + reply.body)

    # --- access

    async def handle(self, request: Request) -> Reply | None:
        """The reply to a request; None where it was answered by a stream or a socket."""
        if not self.is_own_host(request) or not self.is_own_origin(request):
            return text_reply(403)
        if not self.is_authorized(request):
            return self.unauthorized(request)
        if request.header("upgrade") == "websocket" and self.is_websocket:
            await self.upgrade(request)
            return None
        if not self.is_http:
            return text_reply(426)
        if request.method == "POST":
            return await self.post(request)
        if request.method == "GET":
            return await self.get(request)
        return self.delete(request) if request.method == "DELETE" else self.other_verb(request)

    def is_own_host(self, request: Request) -> bool:
        return request.header("host").partition(":")[0] in _NAMES

    def is_own_origin(self, request: Request) -> bool:
        return "origin" not in request.headers

    def is_authorized(self, request: Request) -> bool:
        return request.header("authorization") == f"Bearer {TOKEN}"

    def unauthorized(self, _request: Request) -> Reply:
        return text_reply(401, **{"WWW-Authenticate": "Bearer"})

    def other_verb(self, _request: Request) -> Reply:
        return text_reply(405)

    # --- POST

    async def post(self, request: Request) -> Reply:
        if not self.is_json(request):
            return text_reply(415)
        id_ = request.header("acp-connection-id")
        connection = self.find(request)
        if id_ and connection is None:
            return self.unknown(request)
        try:
            message = json.loads(request.body)
        except ValueError:
            return self.broken(request)
        if connection is None:
            if not isinstance(message, dict) or message.get("method") != "initialize":
                return self.nameless(request)
            return self.initialized(await self.open(request.body))
        if not self.is_one_session(message, request):
            return text_reply(400)
        self.receive(connection, message, request.body)
        return self.accepted(request)

    def is_json(self, request: Request) -> bool:
        return request.header("content-type").partition(";")[0] == "application/json"

    def find(self, request: Request) -> ServedConnection | None:
        return self.connections.get(request.header("acp-connection-id"))

    def unknown(self, _request: Request) -> Reply:
        return text_reply(404)

    def nameless(self, _request: Request) -> Reply:
        return text_reply(400)

    def broken(self, _request: Request) -> Reply:
        return text_reply(400)

    def is_one_session(self, message: Any, request: Request) -> bool:
        header, named = request.header("acp-session-id"), _session_of(message)
        return not header or named is None or header == named

    async def open(self, body: bytes) -> ServedConnection:
        connection = ServedConnection(type(self).agent(), self.deliver)
        connection.take(body)
        await connection.initialized
        self.connections[connection.id] = connection
        return connection

    def initialized(self, connection: ServedConnection) -> Reply:
        headers = {"Content-Type": "application/json", "Acp-Connection-Id": connection.id}
        return Reply(200, headers, connection.initialized.result())

    def accepted(self, _request: Request) -> Reply:
        return Reply(202, {})

    def receive(self, connection: ServedConnection, message: Any, body: bytes) -> None:
        """A message of the client: the stream of its answer is known from now on."""
        if isinstance(message, dict) and "method" in message and "id" in message:
            session = None if message["method"] in _CREATING else _session_of(message)
            if session is not None and message["method"] in _OPENING:
                session = connection.opening[session] = self.replay_stream(connection, session)
            connection.answers[message["id"]] = session
        connection.take(body.replace(b"\n", b" "))

    def replay_stream(self, connection: ServedConnection, session: str) -> str | None:
        """The stream of a replay and of its answer."""
        return session if connection.stream(session).links else None

    # --- streams

    def deliver(self, connection: ServedConnection, text: bytes) -> None:
        """A message of the agent goes to its stream."""
        message = json.loads(text)
        self.append(connection, self.stream_of(connection, message), text)

    def stream_of(self, connection: ServedConnection, message: Any) -> str | None:
        if "method" in message:
            session = _session_of(message)
            return connection.opening.get(session, session) if session is not None else None
        return self.stream_of_answer(connection, message)

    def stream_of_answer(self, connection: ServedConnection, message: Any) -> str | None:
        connection.opening = {}
        return connection.answers.pop(message.get("id"), None)

    def append(self, connection: ServedConnection, name: str | None, text: bytes) -> None:
        connection.stream(name).texts.append(text)
        connection.change()

    async def get(self, request: Request) -> Reply | None:
        if not self.accepts_events(request):
            return text_reply(406)
        if not request.header("acp-connection-id"):
            return self.nameless(request)
        connection = self.find(request)
        if connection is None:
            return self.unknown(request)
        name = request.header("acp-session-id") or None
        refusal = self.refuse_stream(connection, name)
        if refusal is not None:
            return refusal
        stream = connection.stream(name)
        if "last-event-id" in request.headers and not self.rewind(stream, request.header("last-event-id")):
            return text_reply(409)
        await self.write_stream(request, connection, stream)
        return None

    def accepts_events(self, request: Request) -> bool:
        return "text/event-stream" in request.header("accept")

    def refuse_stream(self, _connection: ServedConnection, _name: str | None) -> Reply | None:
        return None

    def rewind(self, stream: ServedStream, last_id: str) -> bool:
        """Go back behind an event; False if it is unknown."""
        if not last_id.isdigit() or int(last_id) > len(stream.texts):
            return False
        stream.written = int(last_id)
        return True

    def stream_headers(self) -> dict[str, str]:
        return {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}

    async def write_stream(self, request: Request, connection: ServedConnection, stream: ServedStream) -> None:
        link = Link()
        self.replace(stream, link)
        connection.change()
        headers = {"Transfer-Encoding": "chunked", "Connection": "close", **self.stream_headers()}
        head = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        request.writer.write("\r\n".join(head).encode())
        self._chunk(request, self.opening_bytes())
        leaving = asyncio.ensure_future(request.reader.read())
        try:
            while link in stream.links and not self.is_over(connection) and not leaving.done():
                version = connection.version
                while stream.written < len(stream.texts):
                    stream.written += 1
                    self._chunk(request, self.event_bytes(stream.written, stream.texts[stream.written - 1]))
                await request.writer.drain()
                waiting = asyncio.ensure_future(connection.wait(version))
                done, _ = await asyncio.wait(
                    (waiting, leaving), timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                waiting.cancel()
                if not done:
                    self._chunk(request, self.silent_bytes())
            request.writer.write(b"0\r\n\r\n")
        finally:
            leaving.cancel()
            if link in stream.links:
                stream.links.remove(link)

    def _chunk(self, request: Request, data: bytes) -> None:
        if data:
            request.writer.write(b"%x\r\n%b\r\n" % (len(data), data))

    def replace(self, stream: ServedStream, link: Link) -> None:
        """A new reader of a stream: the older one ends."""
        stream.links = [link]

    def is_over(self, connection: ServedConnection) -> bool:
        return connection.has_ended

    def opening_bytes(self) -> bytes:
        """The beginning of a stream."""
        return b""

    def silent_bytes(self) -> bytes:
        """Sent where there was nothing to say for a while."""
        return b":\n\n"

    def event_bytes(self, number: int, text: bytes) -> bytes:
        return b"id: %d\ndata: %b\n\n" % (number, text)

    # --- DELETE

    def delete(self, request: Request) -> Reply:
        if not request.header("acp-connection-id"):
            return self.nameless(request)
        connection = self.find(request)
        if connection is None:
            return self.unknown(request)
        self.forget(connection)
        return self.deleted(request)

    def forget(self, connection: ServedConnection) -> None:
        del self.connections[connection.id]
        connection.end()

    def deleted(self, _request: Request) -> Reply:
        return Reply(202, {})

    # --- WebSocket

    def upgrade_headers(self, connection_id: str) -> dict[str, str]:
        return {"Acp-Connection-Id": connection_id}

    async def upgrade(self, request: Request) -> None:
        accept = base64.b64encode(hashlib.sha1(request.header("sec-websocket-key").encode() + _GUID).digest())  # noqa: S324
        headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept.decode()}
        headers |= self.upgrade_headers(uuid.uuid4().hex)
        head = ["HTTP/1.1 101 Switching", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        request.writer.write("\r\n".join(head).encode())
        socket = Socket(request)
        try:
            while not socket.is_closed:
                opcode, is_last, payload = await socket.read()
                await self.on_frame(socket, opcode, payload, is_last=is_last)
        finally:
            if socket.connection is not None:
                self.forget(socket.connection)

    async def on_frame(self, socket: Socket, opcode: int, payload: bytes, *, is_last: bool) -> None:
        if opcode == PING:
            self.on_ping(socket, payload)
        elif opcode == CLOSE:
            self.on_close(socket)
        elif opcode == CONTINUATION:
            self.on_continuation(socket, payload)
        elif opcode in {TEXT, BINARY}:
            socket.parts = [payload]
            socket.opcode = opcode
        if opcode <= BINARY and is_last and socket.parts:
            whole, socket.parts = b"".join(socket.parts), []
            if socket.opcode == BINARY:
                await self.on_binary(socket, whole)
            else:
                await self.on_text(socket, whole)

    def on_ping(self, socket: Socket, payload: bytes) -> None:
        socket.frame(PONG, payload)

    def on_close(self, socket: Socket) -> None:
        socket.close(1000)

    def on_continuation(self, socket: Socket, payload: bytes) -> None:
        socket.parts.append(payload)

    async def on_binary(self, socket: Socket, payload: bytes) -> None:
        """Binary messages are ignored."""

    async def on_text(self, socket: Socket, payload: bytes) -> None:
        try:
            payload.decode()
        except UnicodeDecodeError:
            self.on_no_utf8(socket)
            return
        if socket.connection is None:
            await self.on_first(socket, payload)
            return
        try:
            message = json.loads(payload)
        except ValueError:
            self.on_broken(socket)
            return
        socket.connection.answers[message.get("id") if isinstance(message, dict) else None] = None
        socket.connection.take(payload.replace(b"\n", b" "))

    def on_no_utf8(self, socket: Socket) -> None:
        socket.close(1007)

    def on_broken(self, socket: Socket) -> None:
        self.say(socket, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}')

    async def on_first(self, socket: Socket, payload: bytes) -> None:
        """The first message, which has to be `initialize`."""
        if not self.is_first(payload):
            socket.close(1002)
            return
        connection = ServedConnection(type(self).agent(), lambda _, text: self.say(socket, text))
        self.connections[connection.id] = socket.connection = connection
        connection.take(payload)
        self.say(socket, await connection.initialized)

    def is_first(self, payload: bytes) -> bool:
        return b'"initialize"' in payload

    def say(self, socket: Socket, text: bytes) -> None:
        socket.frame(TEXT, text)


class Socket:
    """The frames of one WebSocket."""

    def __init__(self, request: Request) -> None:
        self._reader, self._writer = request.reader, request.writer
        self.connection: ServedConnection | None = None
        self.parts: list[bytes] = []
        self.opcode = TEXT
        self.is_closed = False

    async def read(self) -> tuple[int, bool, bytes]:
        first, second = await self._reader.readexactly(2)
        length = second & 0x7F
        if length >= 126:
            length = int.from_bytes(await self._reader.readexactly(2 if length == 126 else 8))
        mask = await self._reader.readexactly(4)
        masked = await self._reader.readexactly(length)
        return first & 0x0F, bool(first & 0x80), bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked))

    def frame(self, opcode: int, payload: bytes) -> None:
        length = bytes([len(payload)]) if len(payload) < 126 else b"\x7f" + len(payload).to_bytes(8)
        if not self._writer.is_closing():
            self._writer.write(bytes([0x80 | opcode]) + length + payload)

    def close(self, code: int) -> None:
        self.frame(CLOSE, code.to_bytes(2))
        self.drop()

    def drop(self) -> None:
        """End the socket without a word."""
        self.is_closed = True
        with suppress(OSError):
            self._writer.close()


def _session_of(message: Any) -> str | None:
    params = message.get("params") if isinstance(message, dict) else None
    session = params.get("sessionId") if isinstance(params, dict) else None
    return session if isinstance(session, str) else None
