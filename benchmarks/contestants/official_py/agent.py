"""The agent on the official Python SDK, by its public API; with `--serve` over the network, on a port it prints."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    AgentMessageChunk,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    SetSessionModeResponse,
    TextContentBlock,
)


def chunk(text: str) -> AgentMessageChunk:
    """As the function of that name in versions before 1.0 made it."""
    return AgentMessageChunk(session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text))


class Agent:
    def __init__(self) -> None:
        self.sessions = 0
        self.connection: Any = None

    def on_connect(self, connection: Any) -> None:
        self.connection = connection

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=AgentCapabilities())

    async def new_session(self, **_: Any) -> NewSessionResponse:
        self.sessions += 1
        return NewSessionResponse(session_id=f"s{self.sessions}")

    async def set_session_mode(self, **_: Any) -> SetSessionModeResponse:
        return SetSessionModeResponse()

    async def cancel(self, **_: Any) -> None:
        """Nothing here takes long."""

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        first, *others = prompt
        command = json.loads(first.text)
        meta: dict[str, Any] = {}
        if command["op"] == "stream":
            await self.stream(session_id, command["n"], command["size"])
        elif command["op"] == "read":
            meta["lat_us"] = await self.read(session_id, command["n"], command["path"], command["size"])
        elif command["op"] == "noop":
            meta["bytes"] = sum(len(block.data) for block in others)
        return PromptResponse(stop_reason="end_turn", field_meta=meta)

    async def stream(self, session: str, count: int, size: int) -> None:
        padding = "x" * (size - 9)
        for number in range(count):
            update = chunk(f"{number:08d} {padding}")
            await self.connection.session_update(session_id=session, update=update)

    async def read(self, session: str, count: int, path: str, size: int) -> list[float]:
        latencies = []
        for _ in range(count):
            began = time.perf_counter()
            answer = await self.connection.read_text_file(session_id=session, path=path)
            latencies.append((time.perf_counter() - began) * 1e6)
            assert len(answer.content) == size
        return latencies


async def serve() -> None:
    import uvicorn  # noqa: PLC0415 - as is the next one, only in the environment that serves
    from acp.http.asgi import create_asgi_app  # noqa: PLC0415

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    server = uvicorn.Server(uvicorn.Config(create_asgi_app(lambda _: Agent()), log_level="warning"))
    print(listener.getsockname()[1], flush=True)
    await server.serve(sockets=[listener])


asyncio.run(serve() if "--serve" in sys.argv else acp.run_agent(Agent()))
