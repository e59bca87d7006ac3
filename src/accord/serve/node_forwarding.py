"""Forwards an HTTP request or a WebSocket to the node that has its connection: one hop, streamed both ways.

Requests go over kept-alive sockets, and their bodies and those of the responses pass as they come. Where the client
does not read, nothing is read from the other node either, so the back-pressure of a stream holds across it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import h11
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from accord.errors import StoreError
from accord.serve.access import HttpRefusal
from accord.serve.fleet import Node, ServerFleet
from accord.serve.fleet_pass import FORWARD_HEADER
from accord.serve.principals import Principal
from accord.serve.response import Receive, Send
from accord.time_scale import scaled

__all__ = ["RESTART", "NodeRequests", "SocketClosed", "open_socket", "socket_address"]

log = logging.getLogger("accord.serve")

CONNECT_SECONDS = scaled(3.0)
# Shorter than a server keeps an idle socket (5 s in uvicorn): one that is about to be closed is not used again.
IDLE_SECONDS = 3.0
MAX_IDLE = 32
READ_BYTES = 64 * 1024
# Headers of one hop, or made anew by the servers at both ends. The token is not sent: the pass names the principal.
_NOT_SENT = frozenset(
    {
        "accept-encoding", "authorization", "connection", "cookie", "expect", "host", "keep-alive", "origin",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", FORWARD_HEADER,
    }
)  # fmt: skip
_NOT_RETURNED = frozenset({b"connection", b"date", b"keep-alive", b"server", b"transfer-encoding", b"trailer"})
_LOOP, _UNAUTHORIZED = 508, 401
FINISHED = 1000
# The client comes back after this one (docs/remote-wire.md).
RESTART = 1012
_NO_CODE = frozenset({1005, 1006, 1015})


class _Socket:
    """One connection to a node, used by one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.protocol = h11.Connection(h11.CLIENT)
        self.was_used = False
        self.idle_since = 0.0

    async def send(self, event: Any) -> None:
        data = self.protocol.send(event)
        if data:
            self.writer.write(data)
            await self.writer.drain()

    async def next_event(self) -> Any:
        while (event := self.protocol.next_event()) is h11.NEED_DATA:
            self.protocol.receive_data(await self.reader.read(READ_BYTES))
        return event

    @property
    def is_usable(self) -> bool:
        return (
            not self.reader.at_eof()
            and not self.writer.is_closing()
            and time.monotonic() - self.idle_since < IDLE_SECONDS
        )

    def close(self) -> None:
        self.writer.transport.abort()


class NodeRequests:
    """Forwards requests to the other nodes of a fleet."""

    def __init__(self, fleet: ServerFleet) -> None:
        self._fleet = fleet
        self._idle: dict[str, list[_Socket]] = {}
        self._tls: ssl.SSLContext | None = None

    async def forward(
        self,
        name: str,
        principal: Principal,
        method: str,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
    ) -> int:
        """Forward a request to the node, and its response to the client; the status.

        Raises:
            HttpRefusal: 404: the node is gone, and its connections with it. 502: it cannot be reached just now; a
                client may try again until its lease has ended.
        """
        try:
            node = await self._fleet.node(name)
        except StoreError as error:
            # This node may be about to end: its balancer leads the next try elsewhere.
            raise HttpRefusal(502, "node_unreachable", "The node of this connection cannot be reached") from error
        if node is None:
            raise HttpRefusal(404, "node_gone", "There is no such connection")
        self._fleet.forwarded_requests += 1
        exchange = _Exchange(self, node, receive, send)
        try:
            with self._fleet.until_gone(node, exchange.abort):
                return await exchange.run(method, self._request(node, principal, method, headers))
        except ConnectionRefusedError:
            # Nothing listens there: the process that had the connection is gone, though its lease may still last.
            self._fleet.forget(node)
            raise HttpRefusal(404, "node_gone", "There is no such connection") from None
        except (OSError, EOFError, h11.RemoteProtocolError, TimeoutError) as error:
            log.warning("node %s cannot be reached: %s", name, str(error) or type(error).__name__)
            self._fleet.forget(node)
            if exchange.status:
                return exchange.status  # the stream breaks off, and the client comes back
            raise HttpRefusal(502, "node_unreachable", "The node of this connection cannot be reached") from error

    def _request(self, node: Node, principal: Principal, method: str, headers: Mapping[str, str]) -> h11.Request:
        parts = urlsplit(node.address)
        sent = [(key, value) for key, value in headers.items() if key not in _NOT_SENT]
        sent += [("host", parts.netloc), (FORWARD_HEADER, self._fleet.pass_to(node, principal))]
        if method == "POST" and "content-length" not in headers:
            sent.append(("transfer-encoding", "chunked"))
        return h11.Request(method=method, target="/acp", headers=sent)

    # --- sockets

    async def open(self, node: Node, *, fresh: bool) -> _Socket:
        idle = self._idle.get(node.incarnation, [])
        while idle and not fresh:
            socket = idle.pop()
            if socket.is_usable:
                return socket
            socket.close()
        parts = urlsplit(node.address)
        secure = parts.scheme == "https"
        if secure and self._tls is None:
            self._tls = ssl.create_default_context()
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                parts.hostname,
                parts.port or (443 if secure else 80),
                ssl=self._tls if secure else None,
                limit=READ_BYTES,
            )
        return _Socket(reader, writer)

    def keep(self, node: Node, socket: _Socket) -> None:
        """Keep a socket for the next request, if it can have one."""
        idle = self._idle.setdefault(node.incarnation, [])
        try:
            socket.protocol.start_next_cycle()
        except h11.LocalProtocolError:
            socket.close()
            return
        socket.was_used, socket.idle_since = True, time.monotonic()
        if len(idle) < MAX_IDLE:
            idle.append(socket)
        else:
            socket.close()

    def close(self) -> None:
        for sockets in self._idle.values():
            for socket in sockets:
                socket.close()
        self._idle.clear()


class _Exchange:
    """One forwarded request."""

    def __init__(self, requests: NodeRequests, node: Node, receive: Receive, send: Send) -> None:
        self._requests = requests
        self._node = node
        self._receive = receive
        self._send = send
        self._socket: _Socket | None = None
        self._body_sent = False
        self.status = 0
        """Of the response, once it began."""

    def abort(self) -> None:
        """The node is gone."""
        if self._socket is not None:
            self._socket.close()

    async def run(self, method: str, request: h11.Request) -> int:
        socket = self._socket = await self._requests.open(self._node, fresh=False)
        try:
            await socket.send(request)
            start = await self._respond_to_body(socket, method)
        except (OSError, EOFError, h11.RemoteProtocolError):
            socket.close()
            # The server may have closed a kept-alive socket just now. The client repeats a request with a body.
            if not socket.was_used or self._body_sent or method == "POST":
                raise
            socket = self._socket = await self._requests.open(self._node, fresh=True)
            await socket.send(request)
            start = await self._respond_to_body(socket, method)
        try:
            return await self._relay(socket, start)
        finally:
            if socket.protocol.our_state is h11.DONE and socket.protocol.their_state is h11.DONE:
                self._requests.keep(self._node, socket)
            else:
                socket.close()

    async def _respond_to_body(self, socket: _Socket, method: str) -> h11.Response:
        """Send the body, and wait for the head of the response."""
        if method == "POST":
            more = True
            while more:
                event = await self._receive()
                if event["type"] == "http.disconnect":
                    socket.close()
                    raise HttpRefusal(499, "left", "The client left")
                more = bool(event.get("more_body"))
                if event.get("body"):
                    self._body_sent = True
                    await socket.send(h11.Data(data=event["body"]))
        await socket.send(h11.EndOfMessage())
        while not isinstance(start := await socket.next_event(), h11.Response):
            if isinstance(start, h11.ConnectionClosed):
                raise ConnectionResetError("it closed the connection")
        return start

    async def _relay(self, socket: _Socket, start: h11.Response) -> int:
        if start.status_code == _LOOP:
            # The address of the node leads to another one, so the connection cannot be found.
            raise HttpRefusal(404, "loop", "There is no such connection")
        if start.status_code == _UNAUTHORIZED:
            raise HttpRefusal(502, "fleet_pass", "The node of this connection does not trust this one")
        headers = [(name, value) for name, value in start.headers.raw_items() if name.lower() not in _NOT_RETURNED]
        headers = [(name.lower(), value) for name, value in headers]
        await self._send({"type": "http.response.start", "status": start.status_code, "headers": headers})
        self.status = start.status_code
        if any(name == b"content-length" for name, _ in headers):
            await self._relay_body(socket)
            return self.status
        # A stream: the client may leave while nothing comes.
        loop = asyncio.get_running_loop()
        leaving, relaying = loop.create_task(self._until_left()), loop.create_task(self._relay_body(socket))
        try:
            await asyncio.wait((leaving, relaying), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, relaying):
                task.cancel()
            await asyncio.gather(leaving, relaying, return_exceptions=True)
        if not relaying.cancelled() and relaying.exception() is not None:
            # The node is gone. The client opens an ended stream again, and gets the status of its connection then.
            log.warning("a stream of node %s broke off: %s", self._node.name, relaying.exception())
            await self._end_body()
        return self.status

    async def _relay_body(self, socket: _Socket) -> None:
        while isinstance(event := await socket.next_event(), h11.Data):
            await self._send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionResetError("it closed the connection")
        await self._end_body()

    async def _end_body(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _until_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


# --- WebSockets


class SocketClosed(NamedTuple):
    """How a forwarded socket ended, for the client: a close code and a reason."""

    code: int
    reason: str


def socket_address(node: Node) -> str:
    """The `ws` address of a node."""
    return f"ws{node.address.removeprefix('http').rstrip('/')}/acp"


async def open_socket(fleet: ServerFleet, node: Node, principal: Principal, max_bytes: int) -> ForwardedSocket | None:
    """A socket to another node in the name of a principal; None if the node cannot be reached just now.

    Raises:
        ConnectionRefusedError: Nothing listens there: the node is gone.
    """
    headers = {FORWARD_HEADER: fleet.pass_to(node, principal)}
    try:
        opening = connect(
            socket_address(node),
            additional_headers=headers,
            compression=None,
            open_timeout=CONNECT_SECONDS,
            # The node sends pings, and its lease shows whether it lives.
            ping_interval=None,
            max_size=max_bytes,
            proxy=None,
        )
        link = await fleet.while_live(node, _opened(opening))
    except ConnectionRefusedError:
        fleet.forget(node)
        raise
    except (OSError, EOFError, TimeoutError, InvalidHandshake, InvalidURI, InvalidStatus) as error:
        log.warning("node %s cannot be reached: %s", node.name, str(error) or type(error).__name__)
        fleet.forget(node)
        return None
    return ForwardedSocket(fleet, node, link)


async def _opened(opening: connect) -> ClientConnection:
    return await opening


class ForwardedSocket:
    """A socket to another node, behind one of a client."""

    def __init__(self, fleet: ServerFleet, node: Node, link: ClientConnection) -> None:
        self._fleet = fleet
        self._node = node
        self._link = link

    async def run(
        self,
        first: bytes,
        next_text: Callable[[], Awaitable[bytes | SocketClosed]],
        send_to_client: Callable[[str | bytes], Awaitable[None]],
    ) -> SocketClosed | None:
        """Pass messages on until either side ends; how the client's socket is to be closed, None if it is gone."""
        self._fleet.forwarded_requests += 1
        loop = asyncio.get_running_loop()
        outward = loop.create_task(self._send(first, next_text))
        inward = loop.create_task(self._receive(send_to_client))
        try:
            with self._fleet.until_gone(self._node, self._link.transport.abort):
                await asyncio.wait((outward, inward), return_when=asyncio.FIRST_COMPLETED)
                if outward.done() and not outward.cancelled() and outward.exception() is None:
                    ended = outward.result()
                    if ended is not None and ended.code == FINISHED:
                        # The client has finished: so is its connection.
                        await self._link.close(FINISHED)
                    return None if ended is not None else await inward
                return await inward
        finally:
            for task in (outward, inward):
                task.cancel()
            await asyncio.gather(outward, inward, return_exceptions=True)
            self._link.transport.abort()

    async def _send(
        self, first: bytes, next_text: Callable[[], Awaitable[bytes | SocketClosed]]
    ) -> SocketClosed | None:
        """Forward the client's messages; returns how the client closed, None if the node did."""
        text: bytes | SocketClosed = first
        try:
            while not isinstance(text, SocketClosed):
                await self._link.send(text, text=True)
                text = await next_text()
        except ConnectionClosed:
            return None
        return text

    async def _receive(self, send_to_client: Callable[[str | bytes], Awaitable[None]]) -> SocketClosed:
        try:
            while True:
                await send_to_client(await self._link.recv())
        except ConnectionClosed as closed:
            received = closed.rcvd
            if received is None or received.code in _NO_CODE:
                return SocketClosed(RESTART, "the node of this connection is gone")
            return SocketClosed(received.code, received.reason)
