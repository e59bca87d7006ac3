"""A client on the official Python SDK, v1: the rich conversation over two lives of the agent, with real files."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
from acp import schema
from reporting import AGENT, Report, plain  # type: ignore[import-not-found]  # lies beside

PROJECT = os.environ["ACCORD_PROJECT"]


class Client:
    """Handlers by the names that the SDK calls; files and terminals are real."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.agent: Any = None
        self.commanded = asyncio.Event()
        self.commands: dict[str, tuple[asyncio.subprocess.Process, asyncio.Task[bytes]]] = {}

    def on_connect(self, connection: Any) -> None:
        self.agent = connection

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.report.heard("session/update", update)
        if isinstance(update, schema.AvailableCommandsUpdate):
            self.commanded.set()
        if isinstance(update, schema.AgentMessageChunk) and getattr(update.content, "text", "") == "Watching.":
            await self.agent.cancel(session_id=session_id)

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        asked = {"sessionId": session_id, "toolCall": plain(tool_call), "options": plain(options)}
        self.report.heard("session/request_permission", asked)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, path: str, line: int | None = None, limit: int | None = None, **_: Any) -> Any:
        self.report.heard("fs/read_text_file", {"path": path, "line": line, "limit": limit})
        if not Path(path).exists():
            raise acp.RequestError.resource_not_found(path)
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
        start = max((line or 1) - 1, 0)
        chosen = lines[start:] if limit is None else lines[start : start + limit]
        return schema.ReadTextFileResponse(content="".join(chosen))

    async def write_text_file(self, path: str, content: str, **_: Any) -> Any:
        self.report.heard("fs/write_text_file", {"path": path, "content": content})
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content, encoding="utf-8")
        return schema.WriteTextFileResponse()

    async def create_terminal(self, command: str, args: list[str] | None = None, **others: Any) -> Any:
        self.report.heard("terminal/create", {"command": command, "args": args, "cwd": others.get("cwd")})
        process = await asyncio.create_subprocess_exec(
            command, *(args or []), cwd=others.get("cwd"), stdout=asyncio.subprocess.PIPE
        )
        terminal_id = f"terminal-{process.pid}"
        assert process.stdout is not None
        self.commands[terminal_id] = (process, asyncio.ensure_future(process.stdout.read()))
        return schema.CreateTerminalResponse(terminal_id=terminal_id)

    async def terminal_output(self, terminal_id: str, **_: Any) -> Any:
        self.report.heard("terminal/output", {})
        process, output = self.commands[terminal_id]
        text = output.result().decode() if output.done() else ""
        status = None if process.returncode is None else schema.TerminalExitStatus(**_ending(process))
        return schema.TerminalOutputResponse(output=text, truncated=False, exit_status=status)

    async def wait_for_terminal_exit(self, terminal_id: str, **_: Any) -> Any:
        self.report.heard("terminal/wait_for_exit", {})
        process, output = self.commands[terminal_id]
        await process.wait()
        await asyncio.wait([output])
        return schema.WaitForTerminalExitResponse(**_ending(process))

    async def kill_terminal(self, terminal_id: str, **_: Any) -> Any:
        self.report.heard("terminal/kill", {})
        self.commands[terminal_id][0].terminate()

    async def release_terminal(self, terminal_id: str, **_: Any) -> Any:
        process, output = self.commands.pop(terminal_id)
        if process.returncode is None:
            process.kill()
        await process.wait()
        shown = {"output": (await output).decode(), "exitStatus": plain(schema.TerminalExitStatus(**_ending(process)))}
        self.report.heard("terminal/release", {"terminalId": terminal_id, **shown})


def _ending(process: asyncio.subprocess.Process) -> dict[str, Any]:
    code = process.returncode
    assert code is not None
    return {"signal": signal.Signals(-code).name} if code < 0 else {"exit_code": code}


@asynccontextmanager
async def life(client: Client, report: Report, name: str) -> AsyncIterator[Any]:
    """The agent from its start to its end; the handshake and how it ended are in the report."""
    capabilities = schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
    )
    who = schema.Implementation(name="py-client", version="1")
    spawned = acp.spawn_agent_process(client, *AGENT, env=dict(os.environ), transport_kwargs={"stderr": None})
    async with spawned as (agent, process):
        start = functools.partial(agent.initialize, 1, client_capabilities=capabilities, client_info=who)
        await report.play(f"{name}_initialize", start)
        yield agent
    report.exit = (process.pid, process.returncode)


async def main() -> None:
    report = Report(acp.RequestError)
    client = Client(report)
    call = functools.partial

    async def commanded(act: Any) -> Any:
        client.commanded.clear()
        answer = await act
        # The commands come behind the answer.
        await client.commanded.wait()
        return answer

    async with life(client, report, "first") as agent:
        opened = await report.play("new", lambda: commanded(agent.new_session(cwd=PROJECT, mcp_servers=[])))
        session_id = opened["result"]["sessionId"]

        def prompt(text: str) -> Any:
            return call(client.agent.prompt, session_id=session_id, prompt=[acp.text_block(text)])

        await report.play("mode", call(agent.set_session_mode, session_id=session_id, mode_id="code"))
        await report.play(
            "model", call(agent.set_config_option, session_id=session_id, config_id="model", value="large")
        )
        await report.play("fix", prompt("fix"))
        await report.play("wait", prompt("wait"))
        await report.play("list", call(agent.list_sessions, cwd=PROJECT))
    async with life(client, report, "second") as agent:
        load = call(agent.load_session, cwd=PROJECT, session_id=session_id, mcp_servers=[])
        await report.play("load", lambda: commanded(load()))
        await report.play("recall", prompt("recall"))
        await report.play("help", prompt("/help tests"))
        await report.play("close", call(agent.close_session, session_id=session_id))
        await report.play("closed", prompt("recall"))
        resume = call(agent.resume_session, cwd=PROJECT, session_id=session_id)
        await report.play("resume", lambda: commanded(resume()))
    report.scenes["left"] = {"result": list(client.commands), "received": []}
    report.print(*report.exit)


if __name__ == "__main__":
    asyncio.run(main())
