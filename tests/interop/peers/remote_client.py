"""A client on the official Python SDK over WebSocket or HTTP: two connections to one session; prints what it saw."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.experimental import v2
from acp.experimental.v2 import schema as v2_schema
from acp.http.client import create_http_stream
from acp.ws.client import create_websocket_stream

EDITION, URL, CWD = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {os.environ['ACCORD_TEST_TOKEN']}"}


class Client:
    """Handlers by the names that the SDK calls."""

    def __init__(self) -> None:
        self.agent: Any = None
        self.seen: list[str] = []
        self.idle = asyncio.Event()
        self.stop_reason: Any = None
        self.cancels = False

    def on_connect(self, connection: Any) -> None:
        self.agent = connection

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        kind = getattr(update, "session_update", "")
        if kind == "agent_message_chunk":
            self.seen.append(update.content.text)
            if self.cancels:
                self.cancels = False
                cancel = self.agent.cancel if EDITION == "v1" else self.agent.cancel_session
                await cancel(session_id)
        elif kind == "agent_message":
            self.seen += [block.text for block in update.content]  # a replay in v2 has whole messages
        elif getattr(update, "stop_reason", None):
            self.stop_reason = update.stop_reason
            self.idle.set()

    async def request_permission(self, *_: Any, options: list[Any], **__: Any) -> Any:
        if EDITION == "v1":
            outcome = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
            return schema.RequestPermissionResponse(outcome=outcome)
        chosen = v2_schema.SelectedPermissionOutcomeVariant(outcome="selected", option_id=options[0].option_id)
        return v2_schema.RequestPermissionResponse(outcome=chosen)

    async def read_text_file(self, path: str, *_: Any, **__: Any) -> Any:
        return schema.ReadTextFileResponse(content=Path(path).read_text(encoding="utf-8"))

    async def prompt(self, session_id: str, words: str) -> Any:
        self.idle.clear()
        if EDITION == "v1":
            answer = await self.agent.prompt(
                prompt=[schema.TextContentBlock(type="text", text=words)], session_id=session_id
            )
            return answer.stop_reason
        await self.agent.prompt(session_id, [v2_schema.TextContentBlock(type="text", text=words)])
        await self.idle.wait()
        return self.stop_reason


async def connected(client: Client) -> Any:
    if URL.startswith("ws"):
        transport = await create_websocket_stream(URL, headers=HEADERS)
    else:
        transport = create_http_stream(URL, headers=HEADERS)
    if EDITION == "v1":
        agent = acp.connect_to_agent(client, transport)
        files = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
        await agent.initialize(protocol_version=1, client_capabilities=schema.ClientCapabilities(fs=files))
    else:
        agent = v2.connect_to_agent(client, transport)
        info = v2_schema.Implementation(name="remote", version="1")
        await agent.initialize(protocol_version=2, info=info, capabilities=v2_schema.ClientCapabilities())
    client.agent = agent
    return agent


async def main() -> None:
    report: dict[str, Any] = {}
    client = Client()
    agent = await connected(client)
    session_id = (await agent.new_session(cwd=CWD, mcp_servers=[])).session_id
    for name, words in (("hello", "hello"), ("ask", "ask"), ("read", "read note.txt")):
        report[name] = await client.prompt(session_id, words)
    client.cancels = True
    report["cancelled"] = await client.prompt(session_id, "wait")
    report["first"] = "".join(client.seen)
    await agent.close()
    client = Client()
    agent = await connected(client)
    if EDITION == "v1":
        await agent.load_session(cwd=CWD, session_id=session_id, mcp_servers=[])
    else:
        start = v2_schema.ReplayFromStartVariant(type="start")
        await agent.resume_session(session_id, CWD, replay_from=start)
    report["again"] = await client.prompt(session_id, "again")
    await agent.close_session(session_id)
    report["closed"] = True
    report["second"] = "".join(client.seen)
    await agent.close()
    sys.stdout.write(f"{json.dumps(report)}\n")


asyncio.run(main())
