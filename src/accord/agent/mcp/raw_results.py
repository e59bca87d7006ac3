"""Knows how to hear an MCP server's own words below the `mcp` package, which keeps only what it knows itself.

The package checks results against its types and refuses those with a kind of content block that is younger than it.
So the content is taken out before it looks, and whoever asked finds the result as it came in `raw_results`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.abc
from mcp.shared.dispatcher import CallOptions, Dispatcher, OnNotify, OnNotifyIntercept, OnRequest

__all__ = ["RawResultDispatcher", "raw_results"]

_raw_results: ContextVar[dict[str, dict[str, Any]] | None] = ContextVar("accord-mcp-raw-results", default=None)


@contextmanager
def raw_results() -> Iterator[dict[str, dict[str, Any]]]:
    """The last result of each method that this task asks for inside, as it came."""
    results: dict[str, dict[str, Any]] = {}
    token = _raw_results.set(results)
    try:
        yield results
    finally:
        _raw_results.reset(token)


class RawResultDispatcher:
    """A dispatcher of the package that also lets us hear; `on_end` is called when nothing more can come."""

    def __init__(self, inner: Dispatcher[Any], on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the server, and remember what it says."""
        result = await self._inner.send_raw_request(method, params, opts)
        results = _raw_results.get()
        if results is None:
            return result
        results[method] = result
        if method == "tools/call" and isinstance(result.get("content"), list):
            return {**result, "content": []}
        return result

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Tell the server."""
        await self._inner.notify(method, params, opts)

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Listen until the link has ended."""
        try:
            await self._inner.run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self._on_end()
