"""A client on the official Python SDK, v2: starts the agent it is given, plays every scene, prints a report."""

from __future__ import annotations

import asyncio
import functools
import os
from typing import Any

import acp
from acp.experimental import v2
from acp.experimental.v2 import schema
from reporting import AGENT, BIG, BRIEF, ODD, Report, plain_set  # type: ignore[import-not-found]  # lies beside

SESSION = "session-1"


class Client:
    """Handlers by the names that the SDK calls."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.agent: Any = None
        self.idle = asyncio.Event()
        self.hanging = asyncio.Event()
        self.answers: list[Any] = [
            schema.SelectedPermissionOutcomeVariant(outcome="selected", option_id="yes"),
            schema.CancelledPermissionOutcome(outcome="cancelled"),
        ]
        self.cancel_at_chunk = False
        self.cancel_at_question = False

    def on_connect(self, connection: Any) -> None:
        self.agent = connection

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.report.heard("session/update", update)
        if isinstance(update, schema.IdleSessionStateUpdate):
            self.idle.set()
        if self.cancel_at_chunk and isinstance(update, schema.AgentMessageChunk):
            self.cancel_at_chunk = False
            await self.agent.cancel_session(session_id)

    async def request_permission(
        self,
        session_id: str,
        title: str,
        options: list[Any],
        description: str | None = None,
        subject: Any = None,
        **_: Any,
    ) -> Any:
        asked = {"sessionId": session_id, "title": title, "options": plain_set(options), "subject": plain_set(subject)}
        if description is not None:
            asked["description"] = description
        self.report.heard("session/request_permission", asked)
        if self.cancel_at_question:
            await self.agent.cancel_session(session_id)
            outcome = schema.CancelledPermissionOutcome(outcome="cancelled")
        else:
            outcome = self.answers.pop(0)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, message: str, mode: str, **others: Any) -> Any:
        asked: dict[str, Any] = {"message": message, "mode": mode, "sessionId": others["session_id"]}
        if mode == "form":
            self.report.heard("elicitation/create", {**asked, "requestedSchema": plain_set(others["requested_schema"])})
            content = {"name": "Ada", "count": 3, "sure": True}
            return schema.AcceptElicitationResponse(action="accept", content=content)
        where = {"elicitationId": others["elicitation_id"], "url": str(others["url"])}
        self.report.heard("elicitation/create", {**asked, **where})
        return schema.DeclineElicitationResponse(action="decline")

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:
        self.report.heard("elicitation/complete", {"elicitationId": elicitation_id})

    async def handle_extension_request(self, method: str, params: Any) -> Any:
        if method == "_interop/add":
            return {"sum": params["a"] + params["b"]}
        raise acp.RequestError.method_not_found(method)

    async def handle_extension_notification(self, method: str, params: Any) -> None:
        if method == "_interop/hanging":
            self.hanging.set()
        else:
            self.report.heard(method, params)

    # --- scenes

    async def turn(self, *words: str) -> Any:
        self.idle.clear()
        blocks = [schema.TextContentBlock(type="text", text=each) for each in words]
        answer = await self.agent.prompt(SESSION, blocks)
        await self.idle.wait()
        return answer

    async def notes(self) -> Any:
        for n in range(2000):
            await self.agent.send_extension_notification("_interop/note", {"n": n})
        return await self.agent.send_extension_request("_interop/noted", {})

    async def withdraw(self) -> Any:
        hanging = asyncio.create_task(self.agent.send_extension_request("_interop/hang", {}))
        await self.hanging.wait()
        hanging.cancel()
        await asyncio.wait([hanging])
        return await self.agent.send_extension_request("_interop/hung", {})


async def play(agent: Any, client: Client, report: Report) -> None:
    call = functools.partial
    elicitation = schema.ElicitationCapabilities(
        form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
    )
    who = schema.Implementation(name="py-client", version="1")
    capabilities = schema.ClientCapabilities(elicitation=elicitation)
    await report.play("initialize", call(agent.initialize, 2, who, capabilities))
    if BRIEF:
        return
    await report.play("new", call(agent.new_session, "/story"))
    for name in ("tell", "ask_twice", "elicit", "extend", "fail", "crash", "break_down"):
        await report.play(name, call(client.turn, name))
    client.cancel_at_chunk = True
    await report.play("wait", call(client.turn, "wait"))
    client.cancel_at_question = True
    await report.play("interrupt", call(client.turn, "interrupt"))
    await report.play("set_model", call(agent.set_config_option, "model", SESSION, "large"))
    await report.play("set_web", call(agent.set_config_option, "web", SESSION, value=True))
    await report.play("list", call(agent.list_sessions, cwd="/story"))
    await report.play("list_more", call(agent.list_sessions, cursor="page-2"))
    start = schema.ReplayFromStartVariant(type="start")
    await report.play("replay", call(agent.resume_session, SESSION, "/story", replay_from=start))
    await report.play("resume", call(agent.resume_session, SESSION, "/story"))
    await report.play("resume_missing", call(agent.resume_session, "nowhere", "/story"))
    await report.play("close", call(agent.close_session, SESSION))
    await report.play("delete", call(agent.delete_session, SESSION))
    await report.play("add", call(agent.send_extension_request, "_interop/add", {"a": 20, "b": 22}))
    await report.play("unknown", call(agent.send_extension_request, "_interop/unknown", {}))
    await report.play("burst", call(client.turn, "burst"))
    await report.play("notes", client.notes)
    await report.play("echo_odd", call(client.turn, "echo", ODD))
    await report.play("echo_big", call(client.turn, "echo", BIG))
    await report.play("withdraw", client.withdraw)
    await report.play("counts", call(agent.send_extension_request, "_interop/counts", {}))


async def main() -> None:
    report = Report(acp.RequestError, plain_set)
    client = Client(report)
    # The SDK has no shortcut that starts a v2 agent: its transport is put together with its connection here.
    spawned = acp.spawn_stdio_transport(*AGENT, env=dict(os.environ), stderr=None, limit=50 * 1024 * 1024)
    async with spawned as (reader, writer, process), v2.connect_to_agent(client, writer, reader) as agent:
        await play(agent, client, report)
    report.print(process.pid, process.returncode)


if __name__ == "__main__":
    asyncio.run(main())
