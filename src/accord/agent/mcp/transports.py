"""The transports between the `mcp` package and a server: a child process, streamable HTTP, or server-sent events.

The package can start programs itself. `accord.transport.child` guarantees more: no process outlives us, descendants
included, and the end of stderr is kept for the reason of a failure.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from accord.agent.mcp.diagnostics import Diagnostics
from accord.errors import ConnectFailed, TransportError
from accord.session.client_requests import McpServer
from accord.transport import spawn
from accord.transport.interface import ProcessTransport
from accord.wire import DEFAULT_MAX_BYTES

__all__ = ["over_http", "over_sse", "over_stdio"]


@asynccontextmanager
async def over_stdio(server: McpServer, cwd: str, diagnostics: Diagnostics) -> AsyncIterator[JSONRPCDispatcher[Any]]:
    """A dispatcher over the stdio of the server's program; afterwards the program and its descendants are gone.

    Raises:
        ConnectFailed: It could not be started.
    """
    if not server.command:
        raise ConnectFailed("it has no command")
    # Of a variable that is named twice the last counts, which is what a dict makes of pairs.
    child = await spawn(server.command, *server.args, cwd=cwd, env=dict(server.env))
    diagnostics.child = child
    try:
        yield JSONRPCDispatcher(
            _Reader(child, diagnostics),
            _Writer(child, diagnostics),
            on_stream_exception=diagnostics.on_stream_exception,
        )
    finally:
        await child.close()


class _Stream:
    """One direction of the streams of a child process. It owns nothing: the starter of the child closes it."""

    def __init__(self, child: ProcessTransport, diagnostics: Diagnostics) -> None:
        self._child = child
        self._diagnostics = diagnostics
        self._received: deque[bytes] = deque()

    async def aclose(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        return None


class _Reader(_Stream):
    """The messages of the child; a text that is no message is returned as an exception, and reading goes on."""

    def __aiter__(self) -> _Reader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> SessionMessage | Exception:
        if not self._received:
            try:
                self._received.extend(await self._child.receive())
            except TransportError as error:
                self._diagnostics.loss = error
                raise anyio.EndOfStream from error
        if not self._received:
            raise anyio.EndOfStream
        text = self._received.popleft()
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValueError:
            return ValueError(text.decode(errors="replace"))


class _Writer(_Stream):
    """The messages to the child."""

    async def send(self, item: SessionMessage, /) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self._child.send(text.encode())
        except TransportError as error:
            self._diagnostics.loss = self._diagnostics.loss or error
            raise anyio.BrokenResourceError from error


_LOWEST_BAD_STATUS = 300
# The package's own limit for one event, a megabyte, is less than a screenshot; before version 2.3 it cannot be changed.
_HAS_LIMIT = "max_sse_event_size" in inspect.signature(streamable_http_client).parameters
_EVENT_LIMIT: dict[str, Any] = {"max_sse_event_size": DEFAULT_MAX_BYTES} if _HAS_LIMIT else {}


@asynccontextmanager
async def over_http(
    server: McpServer, diagnostics: Diagnostics, timeout_seconds: float
) -> AsyncIterator[JSONRPCDispatcher[Any]]:
    """A dispatcher over streamable HTTP; the server is notified when it ends."""
    async with (
        _client(server, diagnostics, timeout_seconds) as client,
        streamable_http_client(server.url, http_client=client, **_EVENT_LIMIT) as (read, write),
    ):
        yield JSONRPCDispatcher(read, write, on_stream_exception=diagnostics.on_stream_exception)


@asynccontextmanager
async def over_sse(
    server: McpServer, diagnostics: Diagnostics, timeout_seconds: float
) -> AsyncIterator[JSONRPCDispatcher[Any]]:
    """A dispatcher over HTTP with server-sent events, the transport before streamable HTTP."""

    def make(
        headers: dict[str, str] | None = None,  # noqa: ARG001 - ours are pairs, which may repeat
        timeout: httpx2.Timeout | None = None,  # noqa: ARG001
        auth: httpx2.Auth | None = None,  # noqa: ARG001
    ) -> httpx2.AsyncClient:
        return _client(server, diagnostics, timeout_seconds)

    async with sse_client(server.url, httpx_client_factory=make) as (read, write):
        yield JSONRPCDispatcher(read, write, on_stream_exception=diagnostics.on_stream_exception)


def _client(server: McpServer, diagnostics: Diagnostics, timeout_seconds: float) -> httpx2.AsyncClient:
    if not server.url:
        raise ConnectFailed("it has no address")

    async def note_status(response: httpx2.Response) -> None:
        # The errors of the package do not hold it.
        if response.status_code >= _LOWEST_BAD_STATUS:
            diagnostics.http_status = response.status_code
            if server.type == "sse" and response.request.method == "POST" and not response.has_redirect_location:
                # The package only logs this status and lets the caller wait for ever.
                diagnostics.on_broken()

    return httpx2.AsyncClient(
        headers=server.headers,
        # A tool may take as long as its caller waits, and a stream of events may be silent for hours.
        timeout=httpx2.Timeout(timeout_seconds, read=None),
        event_hooks={"response": [note_status]},
    )
