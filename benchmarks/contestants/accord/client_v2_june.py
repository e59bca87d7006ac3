"""The client's calls and handlers in the v2 draft of June."""

from __future__ import annotations

import os
from typing import Any

import accord
from accord.protocol import v2_june
from benchmarks.contestants.play import Stage


class Player:
    def __init__(self, connection: accord.Connection, handlers: accord.Handlers, stage: Stage, pid: int) -> None:
        self.connection = connection
        self.stage = stage
        self.pid = pid
        handlers.on(v2_june.SESSION_UPDATE, self.on_update)

    async def on_update(self, notification: v2_june.SessionNotification) -> None:
        update = notification.update
        if isinstance(update, v2_june.AgentMessageChunk) and isinstance(update.content, v2_june.TextContent):
            if self.stage.suspends:
                await self.stage.suspend(update.content.text)
            self.stage.tally(notification.session_id, update.content.text)

    async def initialize(self) -> None:
        await self.connection.call(v2_june.INITIALIZE, v2_june.InitializeRequest(2))

    async def new_session(self) -> str:
        request = v2_june.NewSessionRequest(os.getcwd(), [])  # noqa: PTH109
        response = await self.connection.call(v2_june.SESSION_NEW, request)
        return response.session_id

    async def ping(self, session: str) -> None:
        request = v2_june.SetSessionConfigOptionRequest(session, "mode", "m")
        await self.connection.call(v2_june.SESSION_SET_CONFIG_OPTION, request)

    async def prompt(self, session: str, text: str, image: str | None = None) -> dict[str, Any]:
        blocks: list[v2_june.ContentBlock] = [v2_june.TextContent(text)]
        if image is not None:
            blocks.append(v2_june.ImageContent(image, "image/png"))
        response = await self.connection.call(v2_june.SESSION_PROMPT, v2_june.PromptRequest(session, blocks))
        return response.meta or {}
