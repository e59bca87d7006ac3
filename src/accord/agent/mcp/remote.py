"""Knows how the `mcp` package reaches a server at an address: streamable HTTP, or the older server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from accord.agent.mcp.diagnostics import Diagnostics
from accord.errors import ConnectFailed
from accord.session.client_requests import McpServer
from accord.wire import DEFAULT_MAX_BYTES

__all__ = ["over_http", "over_sse"]

_LOWEST_BAD_STATUS = 300


@asynccontextmanager
async def over_http(
    server: McpServer, diagnostics: Diagnostics, timeout_seconds: float
) -> AsyncIterator[JSONRPCDispatcher[Any]]:
    """A dispatcher that talks streamable HTTP; the server is told when it ends."""
    async with (
        _client(server, diagnostics, timeout_seconds) as client,
        # The package's own limit for one event, a megabyte, is less than a screenshot.
        streamable_http_client(server.url, http_client=client, max_sse_event_size=DEFAULT_MAX_BYTES) as (read, write),
    ):
        yield JSONRPCDispatcher(read, write, on_stream_exception=diagnostics.on_stream_exception)


@asynccontextmanager
async def over_sse(
    server: McpServer, diagnostics: Diagnostics, timeout_seconds: float
) -> AsyncIterator[JSONRPCDispatcher[Any]]:
    """A dispatcher that talks as servers did before streamable HTTP."""

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
        # The package's errors do not tell it.
        if response.status_code >= _LOWEST_BAD_STATUS:
            diagnostics.http_status = response.status_code
            if server.type == "sse" and response.request.method == "POST" and not response.has_redirect_location:
                # It writes that to its log and lets whoever asked wait for ever.
                diagnostics.on_broken()

    return httpx2.AsyncClient(
        headers=server.headers,
        # A tool may think for as long as its caller waits, and a stream of events may be silent for hours.
        timeout=httpx2.Timeout(timeout_seconds, read=None),
        event_hooks={"response": [note_status]},
    )
