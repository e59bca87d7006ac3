"""A client on the official Python SDK, v1: starts the agent it is given, plays every scene, prints a report."""

from __future__ import annotations

import asyncio
import functools
import os
from typing import Any

import acp
from acp import schema
from reporting import AGENT, BIG, BRIEF, ODD, Report, plain  # type: ignore[import-not-found]  # lies beside

SESSION = "session-1"


class Client:
    """Handlers by the names that the SDK calls."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.agent: Any = None
        self.exited = asyncio.Event()
        self.answers: list[Any] = [
            schema.AllowedOutcome(outcome="selected", option_id="yes"),
            schema.DeniedOutcome(outcome="cancelled"),
        ]
        self.cancel_at_update = False
        self.cancel_at_question = False

    def on_connect(self, connection: Any) -> None:
        self.agent = connection

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.report.heard("session/update", update)
        if self.cancel_at_update:
            self.cancel_at_update = False
            await self.agent.cancel(session_id=session_id)

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        asked = {"sessionId": session_id, "toolCall": plain(tool_call), "options": plain(options)}
        self.report.heard("session/request_permission", asked)
        if self.cancel_at_question:
            await self.agent.cancel(session_id=session_id)
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=self.answers.pop(0))

    async def read_text_file(self, path: str, **others: Any) -> Any:
        self._heard("fs/read_text_file", path=path, **others)
        if path != "/story/notes.txt":
            raise acp.RequestError.resource_not_found(path)
        return schema.ReadTextFileResponse(content="Zeile 2: 🌍\n")

    async def write_text_file(self, **params: Any) -> Any:
        self._heard("fs/write_text_file", **params)
        return schema.WriteTextFileResponse()

    async def create_terminal(self, **params: Any) -> Any:
        self._heard("terminal/create", **params)
        return schema.CreateTerminalResponse(terminal_id="term-7")

    async def terminal_output(self, **params: Any) -> Any:
        self._heard("terminal/output", **params)
        if self.exited.is_set():
            status = schema.TerminalExitStatus(signal="SIGTERM")
            return schema.TerminalOutputResponse(output="building…\nkilled\n", truncated=True, exit_status=status)
        return schema.TerminalOutputResponse(output="building…\n", truncated=False)

    async def wait_for_terminal_exit(self, **params: Any) -> Any:
        self._heard("terminal/wait_for_exit", **params)
        await self.exited.wait()
        return schema.WaitForTerminalExitResponse(signal="SIGTERM")

    async def kill_terminal(self, **params: Any) -> Any:
        self._heard("terminal/kill", **params)
        self.exited.set()

    async def release_terminal(self, **params: Any) -> Any:
        self._heard("terminal/release", **params)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.report.heard("elicitation/create", {"message": message, **plain(mode)})
        if isinstance(mode, schema.ElicitationFormSessionMode):
            content = {"name": "Ada", "count": 3, "sure": True}
            return schema.AcceptElicitationResponse(action="accept", content=content)
        return schema.DeclineElicitationResponse(action="decline")

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:
        self.report.heard("elicitation/complete", {"elicitationId": elicitation_id})

    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        if method == "interop/add":
            return {"sum": params["a"] + params["b"]}
        raise acp.RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.report.heard(f"_{method}", params)

    def _heard(self, method: str, **params: Any) -> None:
        given = {_camel(name): plain(value) for name, value in params.items() if value is not None}
        self.report.heard(method, given)


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


async def notes(agent: Any) -> Any:
    for n in range(2000):
        await agent.ext_notification("interop/note", {"n": n})
    return await agent.ext_method("interop/noted", {})


async def play(agent: Any, client: Client, report: Report) -> None:
    call = functools.partial

    def prompt(*words: str) -> Any:
        blocks = [acp.text_block(each) for each in words]
        return call(agent.prompt, session_id=SESSION, prompt=blocks)

    capabilities = schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
        terminal=True,
        session=schema.ClientSessionCapabilities(
            config_options=schema.SessionConfigOptionsCapabilities(boolean=schema.BooleanConfigOptionCapabilities())
        ),
        elicitation=schema.ElicitationCapabilities(
            form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
        ),
    )
    who = schema.Implementation(name="py-client", version="1")
    await report.play("initialize", call(agent.initialize, 1, client_capabilities=capabilities, client_info=who))
    if BRIEF:
        return
    await report.play("new", call(agent.new_session, cwd="/story", mcp_servers=[]))
    for name in ("tell", "ask_twice", "files", "terminal", "elicit", "extend", "fail", "crash"):
        await report.play(name, prompt(name))
    client.cancel_at_update = True
    await report.play("wait", prompt("wait"))
    client.cancel_at_question = True
    await report.play("interrupt", prompt("interrupt"))
    await report.play("set_mode", call(agent.set_session_mode, session_id=SESSION, mode_id="code"))
    change = call(agent.set_config_option, session_id=SESSION)
    await report.play("set_model", call(change, config_id="model", value="large"))
    await report.play("set_web", call(change, config_id="web", value=True))
    await report.play("list", call(agent.list_sessions, cwd="/story"))
    await report.play("list_more", call(agent.list_sessions, cursor="page-2"))
    await report.play("load", call(agent.load_session, cwd="/story", session_id=SESSION))
    await report.play("load_missing", call(agent.load_session, cwd="/story", session_id="nowhere"))
    await report.play("resume", call(agent.resume_session, cwd="/story", session_id=SESSION))
    await report.play("close", call(agent.close_session, session_id=SESSION))
    await report.play("add", call(agent.ext_method, "interop/add", {"a": 20, "b": 22}))
    await report.play("unknown", call(agent.ext_method, "interop/unknown", {}))
    await report.play("burst", prompt("burst"))
    await report.play("notes", call(notes, agent))
    await report.play("echo_odd", prompt("echo", ODD))
    await report.play("echo_big", prompt("echo", BIG))
    await report.play("counts", call(agent.ext_method, "interop/counts", {}))


async def main() -> None:
    report = Report(acp.RequestError)
    client = Client(report)
    spawned = acp.spawn_agent_process(
        client, *AGENT, env=dict(os.environ), use_unstable_protocol=True, transport_kwargs={"stderr": None}
    )
    async with spawned as (agent, process):
        await play(agent, client, report)
    report.print(process.pid, process.returncode)


if __name__ == "__main__":
    asyncio.run(main())
