"""The plainest client on the official Python SDK, v2: two prompts to the agent whose command are its arguments."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import acp
from acp.experimental import v2
from acp.experimental.v2 import schema


class Client:
    def __init__(self) -> None:
        self.session_id = ""
        self.idle = asyncio.Event()
        self.agent: Any = None

    def on_connect(self, connection: Any) -> None:
        self.agent = connection

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if session_id == self.session_id and isinstance(update, schema.IdleSessionStateUpdate):
            self.idle.set()

    async def request_permission(self, session_id: str, title: str, options: list[Any], **_: Any) -> Any:
        if session_id != self.session_id:
            raise acp.RequestError.invalid_params({"sessionId": session_id})
        outcome: Any = schema.SelectedPermissionOutcomeVariant(outcome="selected", option_id=options[0].option_id)
        if "please cancel" in title:
            await self.agent.cancel_session(session_id)
            outcome = schema.CancelledPermissionOutcome(outcome="cancelled")
        return schema.RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, **_: Any) -> Any:
        raise acp.RequestError.invalid_params({"field": "mode"})


async def main() -> None:
    client = Client()
    program, *arguments = sys.argv[1:]
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    agent: Any = v2.connect_to_agent(client, process.stdin, process.stdout)
    try:
        answer = await agent.initialize(2, schema.Implementation(name="plain-py-v2-client", version="1"))
        if answer.protocol_version != 2:
            return
        session = await agent.new_session(str(Path.cwd()))
        client.session_id = session.session_id
        for words in ("Hello", "Something that I shall cancel"):
            client.idle.clear()
            await agent.prompt(session.session_id, [schema.TextContentBlock(type="text", text=words)])
            await client.idle.wait()
    finally:
        await agent.close()
        await process.wait()


asyncio.run(main())
