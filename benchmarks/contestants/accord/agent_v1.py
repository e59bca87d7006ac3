"""The agent's handlers in v1."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import accord
from accord.protocol import v1


def serve(handlers: accord.Handlers, connection: accord.Connection) -> None:
    numbers = itertools.count(1)

    async def initialize(request: v1.InitializeRequest) -> v1.InitializeResponse:
        return v1.InitializeResponse(request.protocol_version)

    async def new_session(_: v1.NewSessionRequest) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(f"s{next(numbers)}")

    async def set_mode(_: v1.SetSessionModeRequest) -> v1.SetSessionModeResponse:
        return v1.SetSessionModeResponse()

    async def prompt(request: v1.PromptRequest) -> v1.PromptResponse:
        first, *others = request.prompt
        assert isinstance(first, v1.TextContent)
        command = json.loads(first.text)
        meta: dict[str, Any] = {}
        if command["op"] == "stream":
            await stream(request.session_id, command["n"], command["size"])
        elif command["op"] == "read":
            meta["lat_us"] = await read(request.session_id, command["n"], command["path"], command["size"])
        elif command["op"] == "noop":
            meta["bytes"] = sum(len(block.data) for block in others if isinstance(block, v1.ImageContent))
        return v1.PromptResponse("end_turn", meta=meta)

    async def stream(session: str, count: int, size: int) -> None:
        padding = "x" * (size - 9)
        for number in range(count):
            chunk = v1.AgentMessageChunk(v1.TextContent(f"{number:08d} {padding}"))
            await connection.notify(v1.SESSION_UPDATE, v1.SessionNotification(session, chunk))

    async def read(session: str, count: int, path: str, size: int) -> list[float]:
        latencies = []
        for _ in range(count):
            began = time.perf_counter()
            answer = await connection.call(v1.FS_READ_TEXT_FILE, v1.ReadTextFileRequest(session, path))
            latencies.append((time.perf_counter() - began) * 1e6)
            assert len(answer.content) == size
        return latencies

    handlers.on(v1.INITIALIZE, initialize)
    handlers.on(v1.SESSION_NEW, new_session)
    handlers.on(v1.SESSION_SET_MODE, set_mode)
    handlers.on(v1.SESSION_PROMPT, prompt)
