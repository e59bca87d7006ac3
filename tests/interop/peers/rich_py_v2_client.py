"""A client on the official Python SDK, v2: the rich conversation over two lives of the agent."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import acp
from acp.experimental import v2
from acp.experimental.v2 import schema
from reporting import AGENT, Report, plain_set  # type: ignore[import-not-found]  # lies beside

PROJECT = os.environ["ACCORD_PROJECT"]


class Client:
    """Handlers by the names that the SDK calls."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.agent: Any = None
        self.idle = asyncio.Event()

    def on_connect(self, connection: Any) -> None:
        self.agent = connection

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.report.heard("session/update", update)
        if isinstance(update, schema.IdleSessionStateUpdate):
            self.idle.set()
        if isinstance(update, schema.AgentMessageChunk) and getattr(update.content, "text", "") == "Watching.":
            await self.agent.cancel_session(session_id)

    async def request_permission(
        self, session_id: str, title: str, options: list[Any], subject: Any = None, **_: Any
    ) -> Any:
        asked = {"sessionId": session_id, "title": title, "options": plain_set(options), "subject": plain_set(subject)}
        self.report.heard("session/request_permission", asked)
        outcome = schema.SelectedPermissionOutcomeVariant(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def turn(self, session_id: str, text: str) -> Any:
        self.idle.clear()
        answer = await self.agent.prompt(session_id, [schema.TextContentBlock(type="text", text=text)])
        await self.idle.wait()
        return answer

    async def resumed(self, session_id: str, replay_from: Any = None) -> Any:
        self.idle.clear()
        answer = await self.agent.resume_session(session_id, PROJECT, replay_from=replay_from)
        await self.idle.wait()
        return answer


@asynccontextmanager
async def life(client: Client, report: Report, name: str) -> AsyncIterator[Any]:
    """The agent from its start to its end; the handshake and how it ended are in the report."""
    who = schema.Implementation(name="py-client", version="1")
    spawned = acp.spawn_stdio_transport(*AGENT, env=dict(os.environ), stderr=None)
    async with spawned as (reader, writer, process), v2.connect_to_agent(client, writer, reader) as agent:
        await report.play(f"{name}_initialize", lambda: agent.initialize(2, who, schema.ClientCapabilities()))
        yield agent
    report.exit = (process.pid, process.returncode)


async def main() -> None:
    report = Report(acp.RequestError, plain_set)
    client = Client(report)
    call = functools.partial
    async with life(client, report, "first") as agent:
        opened = await report.play("new", call(agent.new_session, PROJECT))
        session_id = opened["result"]["sessionId"]
        await report.play("mode", call(agent.set_config_option, "mode", session_id, "code"))
        await report.play("model", call(agent.set_config_option, "model", session_id, "large"))
        await report.play("fix", call(client.turn, session_id, "fix"))
        await report.play("wait", call(client.turn, session_id, "wait"))
        await report.play("list", call(agent.list_sessions, cwd=PROJECT))
    async with life(client, report, "second") as agent:
        await report.play("load", call(client.resumed, session_id, schema.ReplayFromStartVariant(type="start")))
        await report.play("recall", call(client.turn, session_id, "recall"))
        await report.play("help", call(client.turn, session_id, "/help tests"))
        await report.play("close", call(agent.close_session, session_id))
        await report.play("closed", call(client.turn, session_id, "recall"))
        await report.play("resume", call(client.resumed, session_id))
    report.print(*report.exit)


if __name__ == "__main__":
    asyncio.run(main())
