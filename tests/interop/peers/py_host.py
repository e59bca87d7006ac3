"""Serves a rich or a plain agent on the official Python SDK over HTTP and WebSocket, on a port that it prints."""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from acp.experimental import AgentProtocolRouter
from acp.http.asgi import create_asgi_app


def application(edition: str, kind: str) -> Any:
    if kind == "plain":
        sys.path.insert(0, str(Path(__file__).parents[1] / "plain"))
    name = f"py_{edition}" if kind == "plain" else f"rich_py_{edition}_agent"
    module = importlib.import_module(name)
    if edition == "v1":
        return create_asgi_app(lambda _: module.Agent())
    return create_asgi_app(AgentProtocolRouter(v2=lambda _: module.Agent()))


async def main(edition: str, kind: str = "rich") -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(edition, kind), log_level="warning"))
    print(listener.getsockname()[1], flush=True)  # noqa: T201
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
