"""The plainest client on the official Python SDK, v1: two prompts to the agent whose command are its arguments."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import acp
from acp import schema


class Client:
    def __init__(self) -> None:
        self.session_id = ""
        self.agent: Any = None

    def on_connect(self, connection: Any) -> None:
        self.agent = connection

    async def session_update(self, **_: Any) -> None:
        pass

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        if session_id != self.session_id:
            raise acp.RequestError.invalid_params({"sessionId": session_id})
        if "please cancel" in (tool_call.title or ""):
            await self.agent.cancel(session_id=session_id)
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, **_: Any) -> Any:
        raise acp.RequestError.invalid_params({"field": "mode"})

    async def ext_method(self, method: str, _: Any) -> Any:
        raise acp.RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, *_: Any) -> None:
        pass


async def main() -> None:
    client = Client()
    spawned = acp.spawn_agent_process(
        client, *sys.argv[1:], env=dict(os.environ), use_unstable_protocol=True, transport_kwargs={"stderr": None}
    )
    async with spawned as (agent, _):
        who = schema.Implementation(name="plain-py-v1-client", version="1")
        answer = await agent.initialize(1, client_capabilities=schema.ClientCapabilities(), client_info=who)
        if answer.protocol_version != 1:
            return
        session = await agent.new_session(cwd=str(Path.cwd()), mcp_servers=[])
        client.session_id = session.session_id
        for words in ("Hello", "Something that I shall cancel"):
            await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(words)])


asyncio.run(main())
