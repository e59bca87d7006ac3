"""The client's calls and handlers in v1."""

from __future__ import annotations

import os
from typing import Any

import accord
from accord.protocol import v1
from benchmarks.contestants.play import Stage


class Player:
    def __init__(self, connection: accord.Connection, handlers: accord.Handlers, stage: Stage, pid: int) -> None:
        self.connection = connection
        self.stage = stage
        self.pid = pid
        handlers.on(v1.SESSION_UPDATE, self.on_update)
        handlers.on(v1.FS_READ_TEXT_FILE, self.on_read)

    async def on_update(self, notification: v1.SessionNotification) -> None:
        update = notification.update
        if isinstance(update, v1.AgentMessageChunk) and isinstance(update.content, v1.TextContent):
            if self.stage.suspends:
                await self.stage.suspend(update.content.text)
            self.stage.tally(notification.session_id, update.content.text)

    async def on_read(self, _: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
        return v1.ReadTextFileResponse(self.stage.file)

    async def initialize(self) -> None:
        files = v1.FileSystemCapabilities(read_text_file=True)
        await self.connection.call(v1.INITIALIZE, v1.InitializeRequest(1, v1.ClientCapabilities(fs=files)))

    async def new_session(self) -> str:
        response = await self.connection.call(v1.SESSION_NEW, v1.NewSessionRequest(os.getcwd(), []))  # noqa: PTH109
        return response.session_id

    async def ping(self, session: str) -> None:
        await self.connection.call(v1.SESSION_SET_MODE, v1.SetSessionModeRequest(session, "m"))

    async def prompt(self, session: str, text: str, image: str | None = None) -> dict[str, Any]:
        blocks: list[v1.ContentBlock] = [v1.TextContent(text)]
        if image is not None:
            blocks.append(v1.ImageContent(image, "image/png"))
        response = await self.connection.call(v1.SESSION_PROMPT, v1.PromptRequest(session, blocks))
        return response.meta or {}
