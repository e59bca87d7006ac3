"""The agent on the official Python SDK, by its public API."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    SetSessionModeResponse,
)


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
            update = acp.update_agent_message_text(f"{number:08d} {padding}")
            await self.connection.session_update(session_id=session, update=update)

    async def read(self, session: str, count: int, path: str, size: int) -> list[float]:
        latencies = []
        for _ in range(count):
            began = time.perf_counter()
            answer = await self.connection.read_text_file(session_id=session, path=path)
            latencies.append((time.perf_counter() - began) * 1e6)
            assert len(answer.content) == size
        return latencies


asyncio.run(acp.run_agent(Agent()))
