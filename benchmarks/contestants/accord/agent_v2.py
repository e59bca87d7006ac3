"""The agent's handlers in v2: a prompt is answered at once, and its turn ends with the state `idle`."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import accord
from accord.protocol import v2


def serve(handlers: accord.Handlers, connection: accord.Connection) -> None:
    numbers = itertools.count(1)
    turns: set[asyncio.Task[None]] = set()

    async def initialize(_: v2.InitializeRequest) -> v2.InitializeResponse:
        capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())
        return v2.InitializeResponse(2, v2.Implementation("bench-agent", "1"), capabilities)

    async def new_session(_: v2.NewSessionRequest) -> v2.NewSessionResponse:
        return v2.NewSessionResponse(f"s{next(numbers)}")

    async def set_option(_: v2.SetSessionConfigOptionRequest) -> v2.SetSessionConfigOptionResponse:
        return v2.SetSessionConfigOptionResponse([])

    async def prompt(request: v2.PromptRequest) -> v2.PromptResponse:
        turn = asyncio.create_task(work(request))
        turns.add(turn)
        turn.add_done_callback(turns.discard)
        return v2.PromptResponse(f"m{next(numbers)}")

    async def work(request: v2.PromptRequest) -> None:
        first, *others = request.prompt
        assert isinstance(first, v2.TextContent)
        command = json.loads(first.text)
        meta: dict[str, Any] = {}
        await say(request.session_id, v2.StateUpdated("running"))
        if command["op"] == "stream":
            await stream(request.session_id, command["n"], command["size"])
        elif command["op"] == "noop":
            meta["bytes"] = sum(len(block.data) for block in others if isinstance(block, v2.ImageContent))
        await say(request.session_id, v2.StateUpdated("idle", stop_reason="end_turn", meta=meta))

    async def stream(session: str, count: int, size: int) -> None:
        padding = "x" * (size - 9)
        message = f"m{next(numbers)}"
        for number in range(count):
            chunk = v2.AgentMessageChunk(message, v2.TextContent(f"{number:08d} {padding}"))
            await connection.notify(v2.SESSION_UPDATE, v2.UpdateSessionNotification(session, chunk))

    async def say(session: str, update: v2.SessionUpdate) -> None:
        await connection.notify(v2.SESSION_UPDATE, v2.UpdateSessionNotification(session, update))

    handlers.on(v2.INITIALIZE, initialize)
    handlers.on(v2.SESSION_NEW, new_session)
    handlers.on(v2.SESSION_SET_CONFIG_OPTION, set_option)
    handlers.on(v2.SESSION_PROMPT, prompt)
