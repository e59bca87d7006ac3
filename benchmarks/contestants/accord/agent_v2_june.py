"""The agent's handlers in the v2 draft of June: turns as in v1, chunks that name their message."""

from __future__ import annotations

import itertools
import json
from typing import Any

import accord
from accord.protocol import v2_june


def serve(handlers: accord.Handlers, connection: accord.Connection) -> None:
    numbers = itertools.count(1)

    async def initialize(_: v2_june.InitializeRequest) -> v2_june.InitializeResponse:
        capabilities = v2_june.AgentCapabilities(session=v2_june.SessionCapabilities())
        return v2_june.InitializeResponse(2, capabilities)

    async def new_session(_: v2_june.NewSessionRequest) -> v2_june.NewSessionResponse:
        return v2_june.NewSessionResponse(f"s{next(numbers)}")

    async def set_option(_: v2_june.SetSessionConfigOptionRequest) -> v2_june.SetSessionConfigOptionResponse:
        return v2_june.SetSessionConfigOptionResponse([])

    async def prompt(request: v2_june.PromptRequest) -> v2_june.PromptResponse:
        first, *others = request.prompt
        assert isinstance(first, v2_june.TextContent)
        command = json.loads(first.text)
        meta: dict[str, Any] = {}
        if command["op"] == "stream":
            await stream(request.session_id, command["n"], command["size"])
        elif command["op"] == "noop":
            meta["bytes"] = sum(len(block.data) for block in others if isinstance(block, v2_june.ImageContent))
        return v2_june.PromptResponse("end_turn", meta=meta)

    async def stream(session: str, count: int, size: int) -> None:
        padding = "x" * (size - 9)
        message = f"m{next(numbers)}"
        for number in range(count):
            chunk = v2_june.AgentMessageChunk(v2_june.TextContent(f"{number:08d} {padding}"), message)
            await connection.notify(v2_june.SESSION_UPDATE, v2_june.SessionNotification(session, chunk))

    handlers.on(v2_june.INITIALIZE, initialize)
    handlers.on(v2_june.SESSION_NEW, new_session)
    handlers.on(v2_june.SESSION_SET_CONFIG_OPTION, set_option)
    handlers.on(v2_june.SESSION_PROMPT, prompt)
