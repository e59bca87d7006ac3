"""The client on the official Python SDK, by its public API."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import acp
from acp.schema import ClientCapabilities, FileSystemCapabilities, ReadTextFileResponse

from benchmarks.contestants.play import Player as AnyPlayer, Stage, run


class Client:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def on_connect(self, connection: Any) -> None:
        """The player has the connection."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if self.stage.suspends:
            await self.stage.suspend(update.content.text)
        self.stage.tally(session_id, update.content.text)

    async def read_text_file(self, **_: Any) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=self.stage.file)


class Player:
    def __init__(self, connection: Any, pid: int) -> None:
        self.connection = connection
        self.pid = pid

    async def initialize(self) -> None:
        files = FileSystemCapabilities(read_text_file=True, write_text_file=False)
        await self.connection.initialize(protocol_version=1, client_capabilities=ClientCapabilities(fs=files))

    async def new_session(self) -> str:
        response = await self.connection.new_session(cwd=os.getcwd(), mcp_servers=[])  # noqa: PTH109
        return str(response.session_id)

    async def ping(self, session: str) -> None:
        await self.connection.set_session_mode(session_id=session, mode_id="m")

    async def prompt(self, session: str, text: str, image: str | None = None) -> dict[str, Any]:
        blocks = [acp.text_block(text)]
        if image is not None:
            blocks.append(acp.image_block(data=image, mime_type="image/png"))
        response = await self.connection.prompt(session_id=session, prompt=blocks)
        return response.field_meta or {}


@asynccontextmanager
async def open_player(stage: Stage, agent: list[str]) -> AsyncIterator[AnyPlayer]:
    async with acp.spawn_agent_process(Client(stage), *agent, env=dict(os.environ)) as (connection, process):
        yield Player(connection, process.pid)


run(open_player)
