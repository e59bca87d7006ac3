"""The plainest agent on the official Python SDK, v1: repeats the prompt; "Count…" goes on until it is cancelled."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import Any

import acp
from acp.schema import AgentCapabilities, Implementation, InitializeResponse, NewSessionResponse, PromptResponse


class Agent:
    def __init__(self) -> None:
        self.turns: dict[str, set[asyncio.Event]] = {}
        self.connection: Any = None

    def on_connect(self, connection: Any) -> None:
        self.connection = connection

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="plain-py-v1", version="1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        if not PurePath(cwd).is_absolute():
            raise acp.RequestError.invalid_params({"field": "cwd"})
        session_id = f"session-{len(self.turns) + 1}"
        self.turns[session_id] = set()
        return NewSessionResponse(session_id=session_id)

    async def cancel(self, session_id: str, **_: Any) -> None:
        for cancelled in self.turns.get(session_id, ()):
            cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        if session_id not in self.turns:
            raise acp.RequestError.resource_not_found(session_id)
        words = "".join(getattr(block, "text", "") for block in prompt)
        await self.say(session_id, f"You said: {words}")
        if not words.startswith("Count"):
            return PromptResponse(stop_reason="end_turn")
        cancelled = asyncio.Event()
        self.turns[session_id].add(cancelled)
        await cancelled.wait()
        self.turns[session_id].discard(cancelled)
        return PromptResponse(stop_reason="cancelled")

    async def say(self, session_id: str, words: str) -> None:
        await self.connection.session_update(session_id=session_id, update=acp.update_agent_message_text(words))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Agent()))
