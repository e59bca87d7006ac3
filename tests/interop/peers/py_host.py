"""Serves a rich agent on the official Python SDK over HTTP and WebSocket, on a port that it prints."""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
from typing import Any

import uvicorn
from acp.experimental import AgentProtocolRouter
from acp.http.asgi import create_asgi_app


def application(edition: str) -> Any:
    module = importlib.import_module(f"rich_py_{edition}_agent")  # lies beside
    if edition == "v1":
        return create_asgi_app(lambda _: module.Agent())
    return create_asgi_app(AgentProtocolRouter(v2=lambda _: module.Agent()))


async def main(edition: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(edition), log_level="warning"))
    print(listener.getsockname()[1], flush=True)  # noqa: T201
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
