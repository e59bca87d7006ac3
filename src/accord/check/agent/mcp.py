"""MCP servers of a session."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from accord.check.agent.conversation import AgentConversation, can, step
from accord.check.agent.exchange import ask_and_wait, lives
from accord.check.agent.queries import completed, must_be_refused, request_fails_with
from accord.check.agent.turns import recorded
from accord.check.engine.evidence import (
    INVALID_PARAMS,
    Evidence,
    Inconclusive,
    StepFailed,
    Violation,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.rule import SESSIONS, V1_JUNE, EditionName, RuleRow, agent_rules
from accord.time_scale import scaled
from accord.transport.interpreter import own_command

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-MCP-001", "MC-", "session-setup", gate="stdio",
        says="A session may be given an MCP server that runs on stdio"),
    # An agent of v1 cannot say that it has no use for servers: whether it starts them accuses no one.
    RuleRow("ACCORD-MCP-002", "IA-", "session-setup", gate="stdio",
        says="An MCP server that is given is started and greeted"),
    RuleRow("ACCORD-MCP-003", "AA-", "session-setup", "An MCP server that is missing is survived", gate="stdio"),
    RuleRow("ACCORD-MCP-201", "--C", "session-setup", gate="session",
        says="An MCP transport that the agent does not know is refused with -32602"),
    RuleRow("ACCORD-MCP-202", "--C", "session-setup", gate="session",
        says="An MCP transport that the agent does not advertise is refused with -32602"),
    RuleRow("ACP-MCP-201", "-II", "session-setup", gate="stdio",
        says="Whether a well-formed MCP server on stdio is accepted"),
    RuleRow("ACP-MCP-202", "-II", "session-setup", gate="http",
        says="Whether a well-formed MCP server over HTTP is accepted"),
)
# fmt: on


STDIO: dict[EditionName, str] = {"v2_june": "initialize.capabilities.session.mcp.stdio"}
_GREETED_SECONDS = scaled(3.0)

SERVER = """
import json, socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as door:
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "initialize":
            door.sendall(b"greeted\\n")
            version = asked.get("params", {}).get("protocolVersion", "2025-06-18")
            result = {"protocolVersion": version, "capabilities": {"tools": {}},
                      "serverInfo": {"name": "accord-check", "version": "1"}}
        else:
            result = {"tools": []} if asked.get("method") == "tools/list" else {}
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server without tools; its argument is the port on which the check listens."""


class _GreetingListener:
    """Receives the report of the server that it got `initialize`."""

    def __init__(self) -> None:
        self.greeted = asyncio.Event()

    async def on_server(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline() == b"greeted\n":
            self.greeted.set()
        writer.close()

    async def is_greeted(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.greeted.wait()
        except TimeoutError:
            return False
        return True


def _entry(agent: AgentConversation, command: str, *args: str) -> dict[str, Any]:
    server: dict[str, Any] = {"name": "accord-check", "command": command, "args": list(args), "env": []}
    return server if agent.edition == "v1" else {"type": "stdio", **server}


@step("bare", editions=V1_JUNE, gate=STDIO, order=80)
async def mcp_server_started(agent: AgentConversation) -> Notes:
    """A session with a server, and a turn if the agent sends `initialize` only then."""
    script = Path(agent.folder) / "accord_check_server.py"
    script.write_text(SERVER)
    listener = _GreetingListener()
    server_socket = await asyncio.start_server(listener.on_server, "127.0.0.1", 0)
    async with server_socket:
        port = server_socket.sockets[0].getsockname()[1]
        server = _entry(agent, *own_command(script, str(port)))
        new = agent.ask("session/new", {"cwd": agent.cwd, "mcpServers": [server]})
        answer = await agent.answer(new, "ACCORD-MCP-001")
        result = answer.get("result")
        greeted = ""
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            greeted = await _greeting(agent, listener, result["sessionId"])
    return {"new": new, "greeted": greeted}


async def _greeting(agent: AgentConversation, listener: _GreetingListener, session: str) -> str:
    """When the server got `initialize`; "" for never."""
    bound = min(agent.options.timeout_seconds, _GREETED_SECONDS)
    if await listener.is_greeted(bound / 5):
        return "when the session was opened"
    await agent.turn(session)
    return "by the end of the first turn" if await listener.is_greeted(bound) else ""


@step("bare", editions=V1_JUNE, gate=STDIO, order=82)
async def mcp_server_missing(agent: AgentConversation) -> Notes:
    """A session with a server whose command does not exist."""
    missing = str(agent.folder / "accord-check-missing")
    new = agent.ask("session/new", {"cwd": agent.cwd, "mcpServers": [_entry(agent, missing)]})
    await agent.answer(new, "ACCORD-MCP-003")
    if not await lives(agent):
        raise StepFailed("the agent did not survive a server that is missing", "ACCORD-MCP-003")
    return {"new": new}


@step(gate=SESSIONS, order=65)
async def mcp_servers(agent: AgentConversation) -> Notes:
    """Well-formed MCP servers that do not exist, each in a session of its own; only advertised kinds."""
    command, *args = own_command(Path(os.devnull))
    stdio: Notes = {"name": "gone", "command": command, "args": args, "env": []}
    if agent.edition != "v1":
        stdio = {"type": "stdio", **stdio}
    http = {"type": "http", "name": "nowhere", "url": "http://127.0.0.1:9/mcp", "headers": []}
    notes: Notes = {}
    for name, server in (("stdio", stdio), ("http", http)):
        if can(agent, name):
            notes[name] = await ask_and_wait(agent, "session/new", {"cwd": agent.cwd, "mcpServers": [server]})
    return {**notes, "alive": await agent.is_alive()}


@judge("ACCORD-MCP-001", steps=("mcp_server_started",))
def a_session_can_have_a_server(evidence: Evidence) -> None:
    run = completed(evidence, "mcp_server_started", "ACCORD-MCP-001")
    run.result(run["new"])


@judge("ACCORD-MCP-002", steps=("mcp_server_started",))
def a_server_is_started_and_greeted(evidence: Evidence) -> str:
    run = completed(evidence, "mcp_server_started")
    skip_if("error" in run.answer(run["new"]), "the session with the server could not be opened")
    if not run["greeted"]:
        if evidence.edition == "v1":
            return "the server was never greeted"
        raise Violation("the server was never greeted", run.request_entry(run["new"]))
    return f"it was greeted {run['greeted']}"


@judge("ACCORD-MCP-003", steps=("mcp_server_missing",))
def a_server_that_is_missing_is_survived(evidence: Evidence) -> str:
    run = completed(evidence, "mcp_server_missing", "ACCORD-MCP-003")
    answer = run.answer(run["new"])
    return "the session was opened without it" if "result" in answer else "the session was refused"


@judge("ACCORD-MCP-202", steps=("v2_refused_sessions",))
def a_transport_that_is_not_advertised_is_refused(evidence: Evidence) -> None:
    run = evidence.step("v2_refused_sessions")
    asked = [run[name] for name in ("stdio", "http") if run.get(name)]
    skip_unless(asked, "every transport is advertised")
    for id_ in asked:
        must_be_refused(run, id_, INVALID_PARAMS)


def _how(evidence: Evidence, step: str, note: str) -> str:
    run = recorded(evidence, step)
    id_ = run.get(note)
    if id_ is None:
        raise Inconclusive("it was not tried")
    answers = run.answers(id_)
    if not answers:
        return "not answered"
    error = answers[0][1].get("error")
    return f"refused with {error.get('code')}" if isinstance(error, dict) else "accepted"


judge_rows(
    request_fails_with,
    ("ACCORD-MCP-201", "an_unknown_transport_is_refused", "v2_refused_sessions", "pigeons", INVALID_PARAMS),
)
judge_rows(
    _how,
    ("ACP-MCP-201", "how_a_server_on_stdio_is_taken", "mcp_servers", "stdio"),
    ("ACP-MCP-202", "how_a_server_over_http_is_taken", "mcp_servers", "http"),
)
