"""Bodies and responses of ASGI: read within limits, written in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from accord.serve.access import HttpRefusal

__all__ = ["Receive", "Send", "read_body", "respond"]

_NO_CONTENT = 204

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
"""Receives one event of ASGI."""
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
"""Sends one event of ASGI."""


async def read_body(receive: Receive, headers: Mapping[str, str], *, max_bytes: int, timeout_seconds: float) -> bytes:
    """The body of a request.

    Raises:
        HttpRefusal: 413: it is too large, which is seen before it is read where its length was sent; 408: it is too
            slow; 499: the client left.
    """
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        raise HttpRefusal(413, "body", "The body is too large", {"Connection": "close"})
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                event = await receive()
                if event["type"] == "http.disconnect":
                    raise HttpRefusal(499, "left", "The client left")
                body += event.get("body", b"")
                if len(body) > max_bytes:
                    raise HttpRefusal(413, "body", "The body is too large", {"Connection": "close"})
                if not event.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        raise HttpRefusal(408, "slow_body", "The body did not arrive in time", {"Connection": "close"}) from None


async def respond(send: Send, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> int:
    """Send a whole response; the status."""
    # RFC 9110, 8.6: no length where there is no content.
    length = {} if status == _NO_CONTENT else {"Content-Length": str(len(body))}
    given = {**length, **(headers or {})}
    encoded = [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
    return status
