"""Raw clients for the tests, HTTP over a plain socket and WebSocket: only the SSE reader is the product's."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect

from accord.wire.sse import SseReader
from tests.limits import limit

INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {}}
TOKEN = "secret"  # noqa: S105 - of servers that live for a test


def request(id_: Any, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


class Reply:
    """One HTTP response; the body of a stream stays open."""

    def __init__(self, status: int, headers: dict[str, str], reader: asyncio.StreamReader) -> None:
        self.status = status
        self.headers = headers
        self.reader = reader
        self.body = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def open_request(
    port: int, method: str, path: str = "/acp", headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> tuple[Reply, asyncio.StreamWriter]:
    """Send a request on a new socket and read the head of its response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
    lines = {"Host": f"127.0.0.1:{port}", **(headers or {})}
    if body is not None:
        lines.setdefault("Content-Length", str(len(body)))
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(head.encode("latin-1") + b"\r\n" + (body or b""))
    return await read_reply(reader), writer


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    async with asyncio.timeout(limit(20.0)):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    return Reply(int(head[0].split()[1]), headers, reader)


async def send(
    port: int, method: str, path: str = "/acp", headers: Mapping[str, str] | None = None, body: Any = None
) -> Reply:
    """One whole exchange; `body` is JSON unless it is bytes."""
    given = dict(headers or {})
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    if data is not None and not any(name.lower() == "content-type" for name in given):
        given["Content-Type"] = "application/json"
    reply, writer = await open_request(port, method, path, given, data)
    try:
        async with asyncio.timeout(limit(20.0)):
            if reply.headers.get("transfer-encoding") == "chunked":
                while chunk := await _chunk(reply.reader):
                    reply.body += chunk
            else:
                reply.body = await reply.reader.readexactly(int(reply.headers.get("content-length", "0")))
    finally:
        await close(writer)
    return reply


async def close(writer: asyncio.StreamWriter) -> None:
    """Lose a socket, and be done with it."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    size = int((await reader.readline()).strip() or b"0", 16)
    data = await reader.readexactly(size)
    await reader.readline()
    return data


class EventStream:
    """An open SSE stream: its messages with their ids."""

    def __init__(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        self.reply = reply
        self.writer = writer
        self._sse = SseReader()
        self._events: list[tuple[str, Any]] = []

    @property
    def last_id(self) -> str:
        return self._sse.last_id

    async def next(self) -> Any:
        """The next message; None at the end of the stream."""
        async with asyncio.timeout(limit(20.0)):
            while not self._events:
                try:
                    chunk = await _chunk(self.reply.reader)
                except (asyncio.IncompleteReadError, ConnectionError):
                    return None
                if not chunk:
                    return None
                self._events += [(event.id, json.loads(event.data)) for event in self._sse.feed(chunk)]
            return self._events.pop(0)[1]

    async def read_priming(self) -> str:
        """The id that the stream begins with."""
        async with asyncio.timeout(limit(20.0)):
            while not self._sse.last_id:
                self._events += [
                    (event.id, json.loads(event.data)) for event in self._sse.feed(await _chunk(self.reply.reader))
                ]
        return self._sse.last_id

    def cut(self) -> None:
        """Lose the socket."""
        self.writer.transport.abort()


class HttpClient:
    """A client over streamable HTTP."""

    def __init__(self, port: int, token: str | None = TOKEN, path: str = "/acp") -> None:
        self.port = port
        self._path = path
        self.headers: dict[str, str] = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._id = 0
        self._all: list[EventStream] = []
        self.streams: dict[str | None, EventStream] = {}
        self.seen: list[Any] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for stream in self._all:
            await close(stream.writer)

    async def initialize(self, params: Any = None) -> Any:
        reply = await send(
            self.port, "POST", self._path, headers=self.headers, body=request(0, "initialize", params or INITIALIZE)
        )
        assert reply.status == 200, (reply.status, reply.body)
        self.headers["Acp-Connection-Id"] = reply.headers["acp-connection-id"]
        return reply.json

    async def post(self, message: Any, **headers: str) -> Reply:
        extra = {name.replace("_", "-"): value for name, value in headers.items()}
        return await send(self.port, "POST", self._path, headers={**self.headers, **extra}, body=message)

    async def open_stream(self, session_id: str | None = None, last_id: str | None = None) -> Reply:
        headers = {**self.headers, "Accept": "text/event-stream"}
        if session_id is not None:
            headers["Acp-Session-Id"] = session_id
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        reply, writer = await open_request(self.port, "GET", self._path, headers=headers)
        if reply.status == 200:
            self.streams[session_id] = EventStream(reply, writer)
            self._all.append(self.streams[session_id])
        else:
            await close(writer)
        return reply

    async def call(self, method: str, params: Any, stream: str | None = None) -> Any:
        """A request whose answer comes on that stream; what comes before it is in `seen`."""
        self._id += 1
        id_ = self._id
        assert (await self.post(request(id_, method, params))).status == 202
        return await self.answer(id_, stream)

    async def answer(self, id_: Any, stream: str | None = None) -> Any:
        while True:
            message = await self.streams[stream].next()
            assert message is not None, "the stream has ended"
            if message.get("id") == id_ and "method" not in message:
                return message
            self.seen.append(message)

    async def new_session(self, cwd: str) -> str:
        """Connect, and open a session with its stream."""
        await self.initialize()
        await self.open_stream()
        answer = await self.call("session/new", {"cwd": cwd, "mcpServers": []})
        session_id: str = answer["result"]["sessionId"]
        await self.open_stream(session_id)
        return session_id


class WebSocketClient:
    """A client over WebSocket."""

    def __init__(self, url: str, token: str | None = TOKEN, **options: Any) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._connecting = connect(
            url, additional_headers={**headers, **options.pop("headers", {})}, max_size=2**26, proxy=None, **options
        )
        self.socket: ClientConnection
        self._id = 0
        self.seen: list[Any] = []

    async def __aenter__(self) -> Self:
        self.socket = await self._connecting
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.socket.close()

    def cut(self) -> None:
        """Lose the socket."""
        self.socket.transport.abort()

    async def send(self, message: Any) -> None:
        await self.socket.send(message if isinstance(message, str) else json.dumps(message))

    async def next(self) -> Any:
        async with asyncio.timeout(limit(20.0)):
            return json.loads(await self.socket.recv())

    async def next_of(self, method: str) -> Any:
        while (message := await self.next()).get("method") != method:
            self.seen.append(message)
        return message

    async def call(self, method: str, params: Any) -> Any:
        self._id += 1
        await self.send(request(self._id, method, params))
        return await self.answer(self._id)

    async def answer(self, id_: Any) -> Any:
        while True:
            message = await self.next()
            if message.get("id") == id_ and "method" not in message:
                return message
            self.seen.append(message)

    async def initialize(self, params: Any = None) -> Any:
        return await self.call("initialize", params or INITIALIZE)

    async def new_session(self, cwd: str) -> str:
        await self.initialize()
        answer = await self.call("session/new", {"cwd": cwd, "mcpServers": []})
        session_id: str = answer["result"]["sessionId"]
        return session_id

    async def prompt(self, session_id: str, text: str) -> Any:
        return await self.call("session/prompt", prompt_params(session_id, text))


def prompt_params(session_id: str, text: str) -> dict[str, Any]:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


def said(messages: list[Any]) -> str:
    """The text of the agent's chunks."""
    updates = [each["params"]["update"] for each in messages if each.get("method") == "session/update"]
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")
