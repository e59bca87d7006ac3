"""The connection of a reference agent to the MCP servers of a session, just far enough for them to notice."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

__all__ = ["McpServers"]

_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}},
}
_READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class McpServers:
    """Those of one start of an agent. One that is not there is done without."""

    def __init__(self) -> None:
        self._processes: list[asyncio.subprocess.Process] = []

    async def connect(self, server: Any, cwd: str) -> None:
        """Start a server, if it is one to be started, and greet it."""
        if not isinstance(server, dict) or server.get("type", "stdio") != "stdio":
            return
        env = {each["name"]: each["value"] for each in server.get("env") or []}
        try:
            process = await asyncio.create_subprocess_exec(
                server["command"],
                *server.get("args") or [],
                cwd=cwd,
                env={**os.environ, **env},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except (OSError, KeyError):
            return
        self._processes.append(process)
        if process.stdin is not None:
            process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in (_HELLO, _READY)))

    async def close(self) -> None:
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
            if process.returncode is None:
                process.kill()
            await process.wait()
        self._processes.clear()
