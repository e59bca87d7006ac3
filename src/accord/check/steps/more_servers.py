"""A client that gives its agent an MCP server of ours, which tells us when it is greeted."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from accord.check.rule import EditionName
from accord.check.step import Notes, step
from accord.check.steps.more_turns import lives
from accord.check.talk import StepFailed, Talk

__all__: list[str] = []

BOTH: tuple[EditionName, ...] = ("v1", "v2_june")
STDIO: dict[EditionName, str] = {"v2_june": "initialize.capabilities.session.mcp.stdio"}
_GREETED_SECONDS = 3.0

SERVER = """
import json, socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as door:
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "initialize":
            door.sendall(b"greeted\\n")
            version = asked.get("params", {}).get("protocolVersion", "2025-06-18")
            result = {"protocolVersion": version, "capabilities": {"tools": {}},
                      "serverInfo": {"name": "accord-check", "version": "1"}}
        else:
            result = {"tools": []} if asked.get("method") == "tools/list" else {}
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server without tools; its port says where we listen."""


class _Door:
    """Where the server says that it was greeted."""

    def __init__(self) -> None:
        self.greeted = asyncio.Event()

    async def on_server(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline() == b"greeted\n":
            self.greeted.set()
        writer.close()

    async def is_greeted(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.greeted.wait()
        except TimeoutError:
            return False
        return True


def _entry(talk: Talk, command: str, *args: str) -> dict[str, Any]:
    server: dict[str, Any] = {"name": "accord-check", "command": command, "args": list(args), "env": []}
    return server if talk.edition == "v1" else {"type": "stdio", **server}


@step("bare", editions=BOTH, gate=STDIO, order=80)
async def more_server(talk: Talk) -> Notes:
    """A session with a server, and a turn if it takes that for the server to be greeted."""
    script = Path(talk.folder) / "accord_check_server.py"
    script.write_text(SERVER)
    door = _Door()
    listener = await asyncio.start_server(door.on_server, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        server = _entry(talk, sys.executable, "-I", "-S", str(script), str(port))
        new = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": [server]})
        answer = await talk.answer(new, "ACCORD-MCP-001")
        result = answer.get("result")
        greeted = ""
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            greeted = await _greeting(talk, door, result["sessionId"])
    return {"new": new, "greeted": greeted}


async def _greeting(talk: Talk, door: _Door, session: str) -> str:
    """When the server was greeted; "" for never."""
    bound = min(talk.options.timeout_seconds, _GREETED_SECONDS)
    if await door.is_greeted(bound / 5):
        return "when the session was opened"
    await talk.turn(session)
    return "by the end of the first turn" if await door.is_greeted(bound) else ""


@step("bare", editions=BOTH, gate=STDIO, order=82)
async def more_missing_server(talk: Talk) -> Notes:
    """A session with a server whose command does not exist."""
    missing = str(talk.folder / "accord-check-missing")
    new = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": [_entry(talk, missing)]})
    await talk.answer(new, "ACCORD-MCP-003")
    if not await lives(talk):
        raise StepFailed("the agent did not survive a server that is missing", "ACCORD-MCP-003")
    return {"new": new}
