"""The ASGI application of a served agent: dispatches requests, checks access, answers for its health, keeps the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import msgspec

from accord.display import exact
from accord.errors import AccordError
from accord.serve.access import AccessCheck, HttpRefusal, headers_of
from accord.serve.agent_transport import AgentTransport
from accord.serve.connections import Connections
from accord.serve.http import HttpExchange, take_message
from accord.serve.metrics import Metrics
from accord.serve.response import Receive, Send, read_body, respond
from accord.serve.websocket import ServedSocket

__all__ = ["AgentApplication"]

log = logging.getLogger("accord.serve")
access_log = logging.getLogger("accord.serve.access")

ENDPOINT = "/acp"
MOVE = "/move"
MOVE_BYTES = 16 * 1024
MOVE_SECONDS = 10.0
_ENDPOINTS = frozenset({"", ENDPOINT})
_HEALTH = frozenset({"/health", "/ready"})
_SHOWN_CHARACTERS = 200
_SCHEMES = frozenset({"http", "https", "ws", "wss"})
_EXPOSED = "Acp-Connection-Id, Acp-Session-Id"
_ALLOWED = (
    "Authorization, Content-Type, Accept, Last-Event-ID, Acp-Connection-Id, Acp-Session-Id, Accord-Message-Number"
)


class _Move(msgspec.Struct, rename="camel"):
    session_id: str
    node: str


class AgentApplication:
    """An ASGI application that serves one agent over WebSocket and streamable HTTP. Made by `Agent.asgi`.

    The endpoint is `/acp`; `/health`, `/ready` and `/metrics` need no token. Mounted in another application, they are
    below the mount. Call `close` when the other application ends; a server that sends lifespan events does that itself.
    """

    def __init__(self, connections: Connections, access: AccessCheck, metrics: Metrics) -> None:
        self._connections = connections
        self._access = access
        self._metrics = metrics
        self._closing: list[Callable[[], Awaitable[None]]] = []

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request, one socket, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._http(_in_origin_form(scope), receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(_in_origin_form(scope), receive, send)

    async def start(self) -> None:
        """Open the store and read the other nodes, where there is a fleet; a server does this before it listens.

        Raises:
            StoreError: The database cannot be used.
            LocalProtocolError: There are other nodes, and no secret to forward requests to them.
        """
        if self._connections.fleet is not None:
            await self._connections.fleet.start()

    def on_drain(self, callback: Callable[[], object]) -> None:
        """Call this when the fleet asks this node to drain (`accord fleet drain`)."""
        if self._connections.fleet is not None:
            self._connections.fleet.on_drain.append(callback)

    async def drain(self, timeout_seconds: float) -> None:
        """Refuse new connections from now on, and wait until the open requests are answered, for so long at most."""
        await self._connections.drain(timeout_seconds)

    async def close(self) -> None:
        """End all connections, with their agents."""
        await self._connections.close()
        closing, self._closing = self._closing, []
        for close in closing:
            await close()

    def on_closed(self, close: Callable[[], Awaitable[None]]) -> None:
        """Await this once when the application is closed, for example to close the store of its agent."""
        self._closing.append(close)

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return len(self._connections)

    # --- one request

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        began, status, who, is_over = time.monotonic(), 500, "-", True
        headers = headers_of(scope)
        try:
            path = _path(scope)
            # Who checks the health of a server knows its address alone, and learns nothing of a session.
            self._access.check_page(headers, any_host=path in _HEALTH)
            _check_length(headers)
            send = self._for_page(headers, send)
            if path not in _ENDPOINTS and (path != MOVE or scope["method"] != "POST"):
                status = await self._status_page(scope["method"], path, send)
            elif path == MOVE:
                status = await self._move(headers, receive, send)
            elif scope["method"] == "OPTIONS" and "origin" in headers:
                status = await respond(send, 204, headers={"Access-Control-Allow-Methods": "GET, POST, DELETE"})
            else:
                principal, credentials = await self._access.principal(headers, _client(scope))
                who = principal.name
                exchange = HttpExchange(self._connections, principal, credentials, headers, receive, send)
                if "origin" not in headers:
                    exchange.extensions = scope.get("extensions") or {}
                status = await exchange.serve(scope["method"])
                is_over = not exchange.is_linked
        except HttpRefusal as refusal:
            status = self._note(refusal)
            if status != _LEFT:
                body = refusal.message.encode() + b"\n"
                await respond(send, status, body, {"Content-Type": "text/plain", **refusal.headers})
        finally:
            # The path without its query, and no header: nothing secret can be in it.
            if is_over:
                spent = time.monotonic() - began
                access_log.info("%s %s %d %s %.3fs", scope["method"], _shown_path(scope), status, who, spent)

    def _take_post(self, headers: Mapping[str, str], body: bytes, client: str | None) -> AgentTransport | None:
        """Take a message for a known connection at once: the agent that gets it; answer with 202 when it is not full.

        None: nothing was done, the request has to come through `__call__`. Called by our own runner, which parsed it.
        """
        began = time.monotonic()
        try:
            self._access.check_page(headers)
            principal = self._access.principal_at_once(headers, client)
        except HttpRefusal:
            return None
        if principal is None:
            return None
        agent = take_message(self._connections, principal, headers, body)
        if agent is not None:
            access_log.info("POST %s 202 %s %.3fs", ENDPOINT, principal.name, time.monotonic() - began)
        return agent

    async def _websocket(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        began, who, status, is_over = time.monotonic(), "-", 101, True
        headers = headers_of(scope)
        try:
            self._access.check_page(headers)
            _check_endpoint(scope)
            subprotocols = scope.get("subprotocols") or ()
            principal, credentials = await self._access.principal(headers, _client(scope), subprotocols)
            who = principal.name
            extensions = scope.get("extensions") or {}
            socket = ServedSocket(self._connections, principal, credentials, receive, send, extensions, subprotocols)
            link = await socket.serve()
            if link is not None:
                # From here on no task waits for the socket; the link logs its end.
                link.begin(_shown_path(scope), began)
                is_over = False
        except HttpRefusal as refusal:
            status = self._note(refusal)
            await _refuse_upgrade(scope, receive, send, refusal)
        finally:
            if is_over:
                spent = time.monotonic() - began
                access_log.info("WEBSOCKET %s %d %s %.3fs", _shown_path(scope), status, who, spent)

    def _note(self, refusal: HttpRefusal) -> int:
        self._metrics.refusals[refusal.cause] += 1
        log.info("refused with %d (%s): %s", refusal.status, refusal.cause, refusal.message)
        return refusal.status

    def _for_page(self, headers: Mapping[str, str], send: Send) -> Send:
        """The headers that a browser wants for a page of an allowed origin."""
        origin = headers.get("origin")
        if origin is None:
            return send
        shown = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-headers", _ALLOWED.encode()),
            (b"access-control-expose-headers", _EXPOSED.encode()),
            (b"vary", b"Origin"),
        ]

        async def send_with_origin(event: MutableMapping[str, Any]) -> None:
            if event["type"] == "http.response.start":
                event = {**event, "headers": [*event["headers"], *shown]}
            await send(event)

        return send_with_origin

    async def _move(self, headers: Mapping[str, str], receive: Receive, send: Send) -> int:
        """Hand a session over to another node when its turn is over (`accord fleet move`)."""
        _, credentials = await self._access.principal(headers, None)
        if credentials.forwarded_by is None:
            raise HttpRefusal(404, "path", "The endpoint is /acp")
        body = await read_body(receive, headers, max_bytes=MOVE_BYTES, timeout_seconds=MOVE_SECONDS)
        try:
            move = msgspec.json.decode(body, type=_Move)
        except msgspec.DecodeError as error:
            raise HttpRefusal(400, "message", "Name a session and a node") from error
        self._connections.move(move.session_id, move.node)
        return await respond(send, 202)

    async def _status_page(self, method: str, path: str, send: Send) -> int:
        if method not in {"GET", "HEAD"}:
            raise HttpRefusal(404, "path", "The endpoint is /acp")
        if path == "/health":
            return await respond(send, 200, b"ok\n", {"Content-Type": "text/plain"})
        if path == "/ready":
            ready = self._connections.is_ready
            body = b"ready\n" if ready else b"draining\n" if self._connections.is_draining else b"no lease\n"
            return await respond(send, 200 if ready else 503, body, {"Content-Type": "text/plain"})
        if path == "/metrics":
            text = self._connections.metrics_text.encode()
            return await respond(send, 200, text, {"Content-Type": "text/plain; version=0.0.4"})
        raise HttpRefusal(404, "path", "The endpoint is /acp")

    # --- the life of the server

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                try:
                    await self.start()
                except AccordError as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif event["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


_LEFT = 499


def _in_origin_form(scope: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The scope of a request whose target may be a whole address, as for a proxy.

    RFC 9112, 3.2.2: it is served, and the host is that of the address, not that of the header.
    """
    path = str(scope["path"])
    if path.startswith("/"):
        return scope
    scheme, separator, rest = path.partition("://")
    if not separator or scheme.lower() not in _SCHEMES:
        return scope
    authority, slash, rest = rest.partition("/")
    headers = [field for field in scope["headers"] if field[0].lower() != b"host"]
    return {**scope, "path": slash + rest, "headers": [(b"host", authority.encode()), *headers]}


def _shown_path(scope: Mapping[str, Any]) -> str:
    """The path for the log: a line break in it would begin a line that this server did not write."""
    return exact(_path(scope), _SHOWN_CHARACTERS)


def _path(scope: Mapping[str, Any]) -> str:
    """The path below the place where the application is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    # Some frameworks add a slash to the path of a mounted application.
    return (path[len(root) :] if root and path.startswith(root) else path).rstrip("/")


def _check_length(headers: Mapping[str, str]) -> None:
    """Refuse a body of two lengths: a proxy may use the other one, and read the rest as another request."""
    if "transfer-encoding" in headers and "content-length" in headers:
        # RFC 9112, 6.1: the socket is closed then.
        raise HttpRefusal(400, "two_lengths", "Content-Length and Transfer-Encoding", {"Connection": "close"})


def _check_endpoint(scope: Mapping[str, Any]) -> None:
    if _path(scope) not in _ENDPOINTS:
        raise HttpRefusal(404, "path", "The endpoint is /acp")


def _client(scope: Mapping[str, Any]) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


async def _refuse_upgrade(scope: Mapping[str, Any], receive: Receive, send: Send, refusal: HttpRefusal) -> None:
    """Answer an upgrade with a status; a server that cannot do that closes it, which is 403 to the client."""
    await receive()
    if "websocket.http.response" in (scope.get("extensions") or {}):
        body = refusal.message.encode() + b"\n"
        headers = {"Content-Type": "text/plain", "Content-Length": str(len(body)), **refusal.headers}
        encoded = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": encoded})
        await send({"type": "websocket.http.response.body", "body": body})
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.message})
