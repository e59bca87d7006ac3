"""A client on the official Python SDK, v2: starts the agent in its arguments, and sends the given prompts."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp.experimental import v2
from acp.experimental.v2 import schema


class Client:
    """Handlers by the names that the SDK calls. Everything is allowed."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[str] = []
        self.idle: asyncio.Queue[str | None] = asyncio.Queue()

    def on_connect(self, connection: Any) -> None:
        """The SDK hands over the way back; nothing is asked from here."""

    async def session_update(self, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        if isinstance(update, schema.IdleSessionStateUpdate) and update.stop_reason is not None:
            self.idle.put_nowait(update.stop_reason)

    async def request_permission(self, title: str, options: list[Any], **_: Any) -> Any:
        self.asked.append(title)
        outcome = schema.SelectedPermissionOutcomeVariant(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)


async def converse(agent: Any, client: Client) -> list[str | None]:
    who = schema.Implementation(name="py-client", version="1")
    await agent.initialize(2, who, schema.ClientCapabilities())
    session = (await agent.new_session(os.environ["ACCORD_PROJECT"])).session_id
    stops = []
    for step in json.loads(os.environ["ACCORD_PROMPTS"]):
        if isinstance(step, dict):
            await agent.set_config_option(step["option"], session, step["value"])
            continue
        await agent.prompt(session, [schema.TextContentBlock(type="text", text=step)])
        stops.append(await client.idle.get())
    return stops


async def main() -> None:
    client = Client()
    # The SDK has no shortcut that starts a v2 agent: its transport is put together with its connection here.
    spawned = acp.spawn_stdio_transport(*sys.argv[1:], env=dict(os.environ), stderr=None, limit=50 * 1024 * 1024)
    async with spawned as (reader, writer, _), v2.connect_to_agent(client, writer, reader) as agent:
        stops = await converse(agent, client)
    sys.stdout.write(json.dumps({"updates": client.updates, "asked": client.asked, "stops": stops}) + "\n")


asyncio.run(main())
