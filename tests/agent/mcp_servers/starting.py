"""The start commands of this folder's servers, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from accord.session.client_requests import McpServer
from tests.forked import forked_python

HERE = Path(__file__).parent
FRIENDLY = str(HERE / "friendly.py")
# What the server of the official package imports as it needs it.
OF_THE_SERVER = (
    *("tests.agent.mcp_servers.friendly", "mcp.server.stdio", "mcp.server.streamable_http_manager", "mcp.server.sse"),
    *("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto"),
    *("accord.agent.mcp.server_connection", "anyio._backends._asyncio"),
)


def forked() -> AbstractContextManager[None]:
    """The servers that are started meanwhile are forks of this process: to import the package costs half a second."""
    return forked_python(*OF_THE_SERVER)


def crude(behaviour: str, name: str = "") -> McpServer:
    """The server written by hand, with one bad habit."""
    return McpServer(name or behaviour, command=sys.executable, args=["-I", "-S", str(HERE / "crude.py"), behaviour])


def friendly(name: str = "friendly", env: list[tuple[str, str]] | None = None) -> McpServer:
    """The server of the official package, over stdio."""
    return McpServer(name, command=sys.executable, args=[FRIENDLY, "stdio"], env=env or [])


@contextmanager
def listening(
    way: Literal["http", "sse"], headers: list[tuple[str, str]] | None = None
) -> Iterator[tuple[McpServer, subprocess.Popen[bytes]]]:
    """The server of the official package at an address, and its process."""
    argv = [sys.executable, FRIENDLY, way]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            assert process.stdout is not None
            # Ends at the latest when the process does.
            port = int(os.read(process.stdout.fileno(), 100))
            url = f"http://127.0.0.1:{port}/{'mcp' if way == 'http' else 'sse'}"
            yield McpServer("remote", type=way, url=url, headers=headers or []), process
        finally:
            process.kill()
