"""An MCP server made with the official package: `friendly.py stdio`, or `http` or `sse` on a port that it prints."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import subprocess
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    Icon,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("friendly", log_level="ERROR")
DATA = base64.b64encode(b"\x00\x01").decode()


@server.tool(title="Echo", annotations=ToolAnnotations(read_only_hint=True), meta={"example.com/k": 1})
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
def gallery() -> CallToolResult:
    """One block of every kind."""
    return CallToolResult(
        content=[
            TextContent(
                text="t",
                annotations=Annotations(audience=["user"], priority=0.5, last_modified="2026-01-02T03:04:05Z"),
                _meta={"mimeType": "a"},
            ),
            ImageContent(data=DATA, mime_type="image/png", _meta={"b": None}),
            AudioContent(data=DATA, mime_type="audio/wav"),
            ResourceLink(
                uri="file:///a",
                name="a",
                title="A",
                description="d",
                mime_type="text/plain",
                size=3,
                icons=[Icon(src="data:,", mime_type="image/png", sizes=["48x48"])],
            ),
            EmbeddedResource(
                resource=TextResourceContents(uri="file:///b", text="b", mime_type="text/plain", _meta={"in": 1}),
                annotations=Annotations(priority=1),
                _meta={"out": 2},
            ),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///c", blob=DATA)),
        ],
        structured_content={"n": [1, None]},
        _meta={"example.com/whole": True},
    )


@server.tool()
def fail() -> str:
    """Fails as a tool does."""
    raise ToolError("the oven is cold")


@server.tool()
def surroundings(names: list[str]) -> list[str]:
    """Where it runs, and some of its environment."""
    return [str(Path.cwd()), *(os.environ.get(name, "-") for name in names)]


@server.tool()
def headers(names: list[str], context: Context) -> list[str]:
    """Headers of the request."""
    request = context.request_context.request
    return [",".join(request.headers.getlist(name)) for name in names] if request is not None else []


@server.tool()
async def grow(context: Context) -> str:
    """Gets one more tool."""
    server.add_tool(echo, name="echo_again")
    await context.request_context.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def wait(started: str, cancelled: str) -> str:
    """Never answers; leaves files that tell that it began and that it was told to stop."""
    Path(started).touch()
    try:
        await asyncio.Event().wait()
    except BaseException:
        Path(cancelled).touch()
        raise
    return "never"


@server.tool()
def die() -> str:
    """Ends the process in the middle of the call."""
    os.write(2, b"out of flour\n")
    os._exit(7)


@server.tool()
def fork() -> int:
    """Starts a process that would live on, in a session of its own."""
    return subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True).pid


@server.tool(structured_output=False)
def much(size: int) -> str:
    """Says much at once."""
    return "x" * size


async def serve(way: str) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    os.write(1, b"%d\n" % listening.getsockname()[1])
    application = server.streamable_http_app() if way == "http" else server.sse_app()
    await uvicorn.Server(uvicorn.Config(application, log_level="error")).serve([listening])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        asyncio.run(serve(sys.argv[1]))
