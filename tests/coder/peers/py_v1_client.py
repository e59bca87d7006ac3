"""A client on the official Python SDK, v1: starts the agent in its arguments, and sends the given prompts."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp import schema


class Client:
    """Handlers by the names that the SDK calls. Everything is allowed; files and terminals are the agent's own."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[str] = []

    def on_connect(self, connection: Any) -> None:
        """The SDK hands over the way back; nothing is asked from here."""

    async def session_update(self, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def request_permission(self, tool_call: Any, options: list[Any], **_: Any) -> Any:
        self.asked.append(tool_call.title)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)


async def main() -> None:
    client = Client()
    who = schema.Implementation(name="py-client", version="1")
    argv, cwd = sys.argv[1:], os.environ["ACCORD_PROJECT"]
    async with acp.spawn_agent_process(client, *argv, env=dict(os.environ)) as (agent, _):
        await agent.initialize(1, client_capabilities=schema.ClientCapabilities(), client_info=who)
        session = await agent.new_session(cwd=cwd, mcp_servers=[])
        stops = []
        for step in json.loads(os.environ["ACCORD_PROMPTS"]):
            if isinstance(step, dict):
                await agent.set_config_option(step["option"], session.session_id, step["value"])
                continue
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(step)])
            stops.append(answer.stop_reason)
    sys.stdout.write(json.dumps({"updates": client.updates, "asked": client.asked, "stops": stops}) + "\n")


asyncio.run(main())
