"""The client's calls and handlers in v2: a turn is over when its session is idle."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import accord
from accord.protocol import v2
from benchmarks.contestants.play import Stage


class Player:
    def __init__(self, connection: accord.Connection, handlers: accord.Handlers, stage: Stage, pid: int) -> None:
        self.connection = connection
        self.stage = stage
        self.pid = pid
        self.turns: dict[str, asyncio.Future[dict[str, Any]]] = {}
        handlers.on(v2.SESSION_UPDATE, self.on_update)

    async def on_update(self, notification: v2.UpdateSessionNotification) -> None:
        update = notification.update
        if isinstance(update, v2.AgentMessageChunk) and isinstance(update.content, v2.TextContent):
            if self.stage.suspends:
                await self.stage.suspend(update.content.text)
            self.stage.tally(notification.session_id, update.content.text)
        elif isinstance(update, v2.StateUpdated) and update.state == "idle":
            self.turns.pop(notification.session_id).set_result(update.meta or {})

    async def initialize(self) -> None:
        await self.connection.call(v2.INITIALIZE, v2.InitializeRequest(2, v2.Implementation("bench-client", "1")))

    async def new_session(self) -> str:
        response = await self.connection.call(v2.SESSION_NEW, v2.NewSessionRequest(os.getcwd()))  # noqa: PTH109
        return response.session_id

    async def ping(self, session: str) -> None:
        request = v2.SetSessionConfigOptionRequest(session, "mode", "id", "m")
        await self.connection.call(v2.SESSION_SET_CONFIG_OPTION, request)

    async def prompt(self, session: str, text: str, image: str | None = None) -> dict[str, Any]:
        blocks: list[v2.ContentBlock] = [v2.TextContent(text)]
        if image is not None:
            blocks.append(v2.ImageContent(image, "image/png"))
        turn: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.turns[session] = turn
        await self.connection.call(v2.SESSION_PROMPT, v2.PromptRequest(session, blocks))
        return await turn
