"""WebSocket: sockets that are cut and replaced, servers that refuse, and servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import Server, ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

import accord
from accord.errors import ConnectFailed, ConnectionLost, FrameError, LocalProtocolError, RemoteProtocolError
from accord.transport import RemoteOptions, Transport, connect_websocket
from accord.transport.remote import LinkReport
from tests.limits import limit
from tests.tables import rows
from tests.transport.remote_peers import INITIALIZE, INITIALIZED, websocket_server

GRACE = {"accord/resume": {"connectionId": "c1", "graceSeconds": 30}}
ADVERTISED = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"agentCapabilities": {"_meta": GRACE}}}).encode()


class Client:
    """A transport, the texts that it received, and the reports of its link."""

    def __init__(self, transport: Transport, reports: list[LinkReport]) -> None:
        self.transport = transport
        self.reports = reports
        self._texts: list[bytes] = []

    async def receive(self, count: int) -> list[bytes]:
        async with asyncio.timeout(limit(20.0)):
            while len(self._texts) < count:
                received = await self.transport.receive()
                assert received, "the end came too early"
                self._texts += received
        texts, self._texts = self._texts[:count], self._texts[count:]
        return texts

    @property
    def kinds(self) -> list[str]:
        return [report.kind for report in self.reports]


@contextlib.asynccontextmanager
async def connected(address: str, **options: Any) -> AsyncIterator[Client]:
    """A client that is through with its handshake."""
    reports: list[LinkReport] = []
    client = Client(await connect_websocket(address, RemoteOptions(on_link=reports.append, **options)), reports)
    try:
        await client.transport.send(INITIALIZE)
        await client.receive(1)
        yield client
    finally:
        await client.transport.close()


class ResumableServer:
    """Keeps one connection while its sockets come and go; each socket is cut after a few messages."""

    def __init__(self, *, texts: int, cut_after: int, refusal: Any = None, silent_sockets: int = 0) -> None:
        self.texts = [b'{"jsonrpc":"2.0","method":"x","params":%d}' % number for number in range(texts)]
        self.received: list[Any] = []
        self.sockets = 0
        self.listener: Server
        self.cut: Callable[[], None]
        self._cut_after = cut_after
        self._refusal = refusal
        self._silent_sockets = silent_sockets
        """So many sockets are taken up and ended at once, without a message."""

    async def talk(self, socket: ServerConnection) -> None:
        self.sockets += 1
        self.listener = socket.server
        self.cut = socket.transport.abort
        first = json.loads(await socket.recv())
        await socket.send(ADVERTISED, text=True)
        cursor = 0
        if "_meta" in first["params"]:
            cursor = await self._resume(socket)
        if self.sockets <= self._silent_sockets:
            socket.transport.close()
            return
        reading = asyncio.create_task(self._read(socket))
        for text in self.texts[cursor : cursor + self._cut_after]:
            await socket.send(text, text=True)
        if cursor + self._cut_after < len(self.texts):
            socket.transport.abort()
        await asyncio.wait([reading])

    async def _resume(self, socket: ServerConnection) -> int:
        request = json.loads(await socket.recv())
        if self._refusal is not None:
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], **self._refusal}))
            return len(self.texts)
        result = {"received": str(len(self.received))}
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))
        return int(request["params"]["cursor"])

    async def _read(self, socket: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in socket:
                message = json.loads(text)
                if not message["method"].startswith("_accord/"):
                    self.received.append(message["id"])


async def test_a_connection_outlives_its_sockets_and_nothing_is_lost() -> None:
    server = ResumableServer(texts=500, cut_after=50)
    async with websocket_server(server.talk) as address, connected(address) as client:
        for number in range(40):
            await client.transport.send(b'{"jsonrpc":"2.0","id":%d,"method":"y"}' % number)
        assert await client.receive(500) == server.texts
        async with asyncio.timeout(limit(20.0)):
            while len(server.received) < 40:
                await asyncio.sleep(0.01)
        assert server.received == list(range(40))
        assert server.sockets > 5
        assert client.kinds == ["lost", "resumed"] * (server.sockets - 1)


async def test_a_server_that_ends_every_socket_at_once_is_not_asked_without_a_pause(delays: list[float]) -> None:
    server = ResumableServer(texts=1, cut_after=1, silent_sockets=6)
    async with websocket_server(server.talk) as address, connected(address) as client:
        assert await client.receive(1) == server.texts
        assert client.kinds == ["lost", "resumed"] * 6
    assert delays[0] == 0
    assert all(later > 0 for later in delays[1:6])
    assert sum(delays[1:3]) < sum(delays[3:5])


async def test_a_gap_that_cannot_be_closed_ends_the_connection_and_is_reported() -> None:
    refusal = {"error": {"code": -32002, "message": "", "data": {"reason": "gap"}}}
    server = ResumableServer(texts=9, cut_after=3, refusal=refusal)
    async with websocket_server(server.talk) as address, connected(address) as client:
        with pytest.raises(ConnectionLost):
            await client.receive(9)
        with pytest.raises(ConnectionLost):
            await client.transport.send(b"{}")
        assert client.kinds == ["lost", "gap"]


async def test_a_server_that_does_not_come_back_is_given_up_after_the_limit() -> None:
    server = ResumableServer(texts=3, cut_after=3)
    async with contextlib.AsyncExitStack() as stack:
        address = await stack.enter_async_context(websocket_server(server.talk))
        client = await stack.enter_async_context(connected(address, reconnect_seconds=limit(0.3)))
        await client.receive(3)
        server.listener.close(close_connections=False)
        server.cut()
        with pytest.raises(ConnectionLost):
            await client.receive(1)
        assert client.kinds == ["lost", "gap"]


async def talk_once(socket: ServerConnection) -> None:
    await socket.recv()
    await socket.send(INITIALIZED, text=True)


async def test_without_the_advertisement_a_cut_is_the_end() -> None:
    async def talk(socket: ServerConnection) -> None:
        await talk_once(socket)
        socket.transport.abort()

    async with websocket_server(talk) as address, connected(address) as client:
        with pytest.raises(ConnectionLost) as lost:
            await client.receive(1)
        assert not lost.value.clean
        assert client.kinds == ["gap"]


async def test_a_socket_that_answers_no_ping_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transport.websocket.PING_SECONDS", limit(0.1))

    async def talk(socket: ServerConnection) -> None:
        await talk_once(socket)
        socket.transport.pause_reading()
        await seen.wait()
        socket.transport.abort()

    seen = asyncio.Event()
    async with websocket_server(talk) as address, connected(address) as client:
        with pytest.raises(ConnectionLost):
            await client.receive(1)
        seen.set()
        assert client.kinds == ["gap"]


async def test_a_socket_that_this_side_does_not_read_is_not_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transport.websocket.PING_SECONDS", limit(0.05))
    texts = [b'"' + b"x" * 60_000 + b'"'] * 20

    async def talk(socket: ServerConnection) -> None:
        await talk_once(socket)
        for text in texts:
            await socket.send(text, text=True)
        await socket.wait_closed()

    async with websocket_server(talk) as address, connected(address) as client:
        link = client.transport._link  # type: ignore[attr-defined]
        async with asyncio.timeout(limit(20.0)):
            while not link._is_paused:
                await asyncio.sleep(0.01)
        await asyncio.wait([asyncio.create_task(link.wait_lost())], timeout=limit(0.3))
        assert await client.receive(len(texts)) == texts


async def test_a_server_that_closes_is_a_clean_end() -> None:
    async with websocket_server(talk_once) as address, connected(address) as client:
        async with asyncio.timeout(limit(20.0)):
            assert await client.transport.receive() == []
        assert client.kinds == []


async def test_a_close_frame_without_a_code_is_a_clean_end() -> None:
    async def talk(socket: ServerConnection) -> None:
        await talk_once(socket)
        socket.transport.write(b"\x88\x00")
        await socket.wait_closed()

    async with websocket_server(talk) as address, connected(address) as client:
        async with asyncio.timeout(limit(20.0)):
            assert await client.transport.receive() == []
        assert client.kinds == []


async def test_binary_messages_and_fragments_are_texts() -> None:
    async def talk(socket: ServerConnection) -> None:
        await talk_once(socket)
        await socket.send(b'{"a":1}')
        await socket.send(['{"b"', ":", "2}"])
        await socket.wait_closed()

    async with websocket_server(talk) as address, connected(address) as client:
        assert await client.receive(2) == [b'{"a":1}', b'{"b":2}']


async def test_an_array_with_an_answer_fails_its_call_and_the_connection_lives(tmp_path: Path) -> None:
    async def talk(socket: ServerConnection) -> None:
        async for text in socket:
            message = json.loads(text)
            result = {"protocolVersion": 1} if message.get("method") == "initialize" else {"sessionId": "s"}
            reply = {"jsonrpc": "2.0", "id": message.get("id"), "result": result}
            if "method" in message:
                await socket.send(json.dumps([reply] if message["id"] == 1 else reply))

    async with websocket_server(talk) as address, accord.connect(address) as agent, asyncio.timeout(limit(20.0)):
        with pytest.raises(RemoteProtocolError):
            await agent.new_session(tmp_path)
        assert (await agent.new_session(tmp_path)).id == "s"


async def test_a_message_over_the_limit_is_a_frame_error() -> None:
    async def talk(socket: ServerConnection) -> None:
        await talk_once(socket)
        await socket.send("x" * 100_000)
        await socket.wait_closed()

    async with websocket_server(talk) as address, connected(address, max_bytes=10_000) as client:
        with pytest.raises(FrameError) as fault:
            await client.receive(1)
        assert fault.value.limit_bytes == 10_000


def refusing(status: int, **headers: str) -> Callable[[ServerConnection, Request], Response]:
    def refuse(socket: ServerConnection, _: Request) -> Response:
        response = socket.respond(HTTPStatus(status), "")
        for name, value in headers.items():
            response.headers[name] = value
        return response

    return refuse


@rows("status", [401, 403, 404, 429, 503])
async def test_a_refusal_has_its_status(status: int) -> None:
    async with websocket_server(talk_once, process_request=refusing(status)) as address:
        with pytest.raises(ConnectFailed) as failed:
            await connect_websocket(address)
    assert failed.value.status == status


async def test_no_redirect_is_followed() -> None:
    visitors: list[ServerConnection] = []

    async def elsewhere(socket: ServerConnection) -> None:
        visitors.append(socket)

    async with websocket_server(elsewhere) as other:  # noqa: SIM117 - the second needs the first
        async with websocket_server(talk_once, process_request=refusing(302, Location=other)) as address:
            with pytest.raises(ConnectFailed) as failed:
                await connect_websocket(address, RemoteOptions(token="secret"))  # noqa: S106
    assert failed.value.status == 302
    assert visitors == []


async def test_the_token_the_headers_and_the_cookies_are_sent_with_every_socket() -> None:
    seen: list[tuple[str | None, str | None, str | None]] = []

    def note(_: ServerConnection, request: Request) -> None:
        names = ("Authorization", "X-Team", "Cookie")
        seen.append(tuple(request.headers.get(name) for name in names))  # type: ignore[arg-type]

    def set_cookie(_socket: ServerConnection, _request: Request, response: Response) -> None:
        response.headers["Set-Cookie"] = "machine=7; Path=/; HttpOnly"

    server = ResumableServer(texts=9, cut_after=5)
    async with (
        websocket_server(server.talk, process_request=note, process_response=set_cookie) as address,
        connected(address, token="secret", headers={"X-Team": "blue"}) as client,  # noqa: S106
    ):
        await client.receive(9)
    assert seen == [("Bearer secret", "blue", None), ("Bearer secret", "blue", "machine=7")]


@rows("address", ["ws://example.org/acp", "http://10.0.0.1/acp"])
async def test_a_token_is_not_sent_unencrypted_to_another_machine(address: str) -> None:
    with pytest.raises(LocalProtocolError):
        await connect_websocket(address, RemoteOptions(token="secret"))  # noqa: S106


async def test_a_token_is_not_shown() -> None:
    options = RemoteOptions(token="secret", headers={"Authorization": "secret"})  # noqa: S106
    assert "secret" not in repr(options)


Misbehave = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def be_silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(-1)


async def end_at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def send_headers_without_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\n")
    while not writer.is_closing():
        writer.write(b"X-Filling: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def speak_something_else(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example.org ESMTP\r\n" * 10)
    await writer.drain()


async def answer_without_upgrade(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
    await writer.drain()


@pytest.mark.parametrize(
    "misbehave",
    [be_silent, end_at_once, send_headers_without_end, speak_something_else, answer_without_upgrade],
)
async def test_a_server_of_something_else_is_a_connection_that_failed(misbehave: Misbehave) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await misbehave(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    address = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"
    try:
        async with asyncio.timeout(limit(20.0)):
            with pytest.raises(ConnectFailed):
                await connect_websocket(address, RemoteOptions(connect_seconds=limit(0.5)))
    finally:
        server.close()


async def test_a_closed_port_is_a_connection_that_failed() -> None:
    server = await asyncio.start_server(end_at_once, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(ConnectFailed) as failed:
        await connect_websocket(f"ws://127.0.0.1:{port}/acp")
    assert failed.value.status is None
