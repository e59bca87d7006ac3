"""An agent as an application for ASGI servers, as its author sees it; `accord.serve` makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

__all__ = ["AsgiApplication"]


class AsgiApplication(Protocol):
    """An application for any ASGI server. Made by `Agent.asgi`."""

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Serve one request, one socket, or the life of the server."""

    async def close(self) -> None:
        """End all connections."""

    def on_closed(self, close: Callable[[], Awaitable[None]]) -> None:
        """Await this once when the application is closed, for example to close the store of its agent."""

    def on_drain(self, callback: Callable[[], object]) -> None:
        """Call this when the fleet asks this node to drain: it begins `drain`, where another server runs it."""

    async def drain(self, timeout_seconds: float) -> None:
        """Begin nothing new, let turns end for so long, and in a fleet hand the sessions over."""
