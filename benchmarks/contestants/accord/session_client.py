"""The client on `accord.connect`, its transcript kept: `session_client.py --edition 1 --scenario … -- <agent argv>`."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import accord
from accord.session.event import MessageChunk
from accord.transport.child import ChildTransport
from benchmarks.contestants.play import Player as AnyPlayer, Stage, run


class Player:
    def __init__(self, agent: accord.client.ConnectedAgent, stage: Stage) -> None:
        self.agent = agent
        self.stage = stage
        self.sessions: dict[str, accord.client.Session] = {}

    @property
    def pid(self) -> int:
        transport = self.agent.connection.transport
        assert isinstance(transport, ChildTransport)
        return transport.pid

    async def initialize(self) -> None:
        """Done when the agent was opened."""

    async def new_session(self) -> str:
        session = await self.agent.new_session(os.getcwd())  # noqa: PTH109
        self.sessions[session.id] = session
        return session.id

    async def ping(self, session: str) -> None:
        await self.sessions[session].set_mode("m")

    async def prompt(self, session: str, text: str, image: str | None = None) -> dict[str, Any]:
        stage = self.stage
        content = [text] if image is None else [text, accord.Image(image, "image/png")]
        async with self.sessions[session].prompt(*content) as turn:
            async for event in turn:
                if type(event) is MessageChunk and isinstance(event.block, accord.Text) and event.speaker == "agent":
                    if stage.suspends:
                        await stage.suspend(event.block.text)
                    stage.tally(session, event.block.text)
        return {}


@asynccontextmanager
async def open_player(stage: Stage, agent: list[str]) -> AsyncIterator[AnyPlayer]:
    edition: Any = sys.argv[sys.argv.index("--edition") + 1]
    async with accord.connect(*agent, edition=edition) as remote:
        yield Player(remote, stage)


run(open_player)
