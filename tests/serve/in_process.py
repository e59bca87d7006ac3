"""Any ASGI application under a real uvicorn, in this process: for tests that hold both sides."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from accord.serve.linked_socket import SocketProtocol
from tests.limits import limit


@asynccontextmanager
async def running(application: Any, *, is_plain: bool = False) -> AsyncIterator[int]:
    """Serve until the block ends; the port. Sockets are those of `accord serve`, or uvicorn's own."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            application,
            ws="websockets-sansio" if is_plain else SocketProtocol,
            ws_per_message_deflate=False,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        # Its own loop handles signals; here that is the test's business.
        serving = asyncio.ensure_future(server._serve([listening]))
        try:
            async with asyncio.timeout(limit(20.0)):
                while not server.started:
                    await asyncio.sleep(0.01)
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            async with asyncio.timeout(limit(20.0)):
                await serving
