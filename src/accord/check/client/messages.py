"""Messages of the stub agent in each edition: the handshake, sessions, updates, requests."""

from __future__ import annotations

import base64
from typing import Any, TypeAlias

from accord.check.rule import EditionName

Update: TypeAlias = dict[str, Any]
INFO = {"name": "accord-check", "title": "The check of clients", "version": "1"}
CANCEL_ME = "accord check: please cancel this turn now, and leave the question open"
"""The message that asks a user to cancel; a client that cannot is not judged by it."""
HOLD_ON = "accord check: this question is taken back at once"
"""The title of a question that will be withdrawn."""
OPTIONS = (("yes", "allow_once"), ("always", "allow_always"), ("no", "reject_once"), ("never", "reject_always"))


def greeting(edition: EditionName, version: int) -> dict[str, Any]:
    """The answer to `initialize` of an agent without optional capabilities."""
    if edition == "v1":
        return {"protocolVersion": version, "agentCapabilities": {}, "agentInfo": INFO, "authMethods": []}
    said: dict[str, Any] = {"protocolVersion": version, "capabilities": {"session": {}}, "authMethods": []}
    return {**said, ("agentInfo" if edition == "v2_june" else "info"): INFO}


def opened(edition: EditionName, session: str) -> dict[str, Any]:
    """The answer to `session/new`: with an option, so that there is something to set."""
    return {"sessionId": session, "configOptions": config_options(edition)}


def config_options(edition: EditionName, value: Any = "small") -> list[dict[str, Any]]:
    """One option of the only kind that every edition has."""
    key = "configId" if edition == "v2" else "id"
    values = [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
    option = {"type": "select", "name": "Size", "category": "_size", "currentValue": value, "options": values}
    return [{key: "size", **option}]


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def chunk(edition: EditionName, content: str, message: str = "m1") -> Update:
    named = {} if edition == "v1" else {"messageId": message}
    return {"sessionUpdate": "agent_message_chunk", "content": text(content), **named}


def tool(edition: EditionName, id_: str, **fields: Any) -> Update:
    """The first update of a tool call."""
    kind = "tool_call" if edition == "v1" else "tool_call_update"
    return {"sessionUpdate": kind, "toolCallId": id_, "title": f"Tool {id_}", "kind": "other", **fields}


def permission(
    edition: EditionName, session: str, title: str, options: tuple[tuple[str, str], ...] = OPTIONS
) -> dict[str, Any]:
    offered = [{"optionId": id_, "name": id_.title(), "kind": kind} for id_, kind in options]
    call = {"toolCallId": "call-1", "title": title, "kind": "other", "status": "pending"}
    if edition == "v2":
        subject = {"type": "tool_call", "toolCall": call}
        return {"sessionId": session, "title": title, "subject": subject, "options": offered}
    return {"sessionId": session, "toolCall": call, "options": offered}


def elicitation(session: str, mode: str) -> dict[str, Any]:
    """The params of a question with a form or an address."""
    scope = {"sessionId": session, "mode": mode, "message": "accord check: who are you?"}
    if mode == "url":
        return {**scope, "elicitationId": "visit-1", "url": "https://example.invalid/visit?x=1"}
    properties = {
        "name": {"type": "string", "title": "Name", "default": "Ada"},
        "age": {"type": "integer", "minimum": 0, "default": 36},
        "agrees": {"type": "boolean", "default": True},
    }
    return {**scope, "requestedSchema": {"type": "object", "properties": properties, "required": ["name"]}}


# --- every update of an edition


def every_update(edition: EditionName, offered: dict[str, Any]) -> list[Update]:
    """Every kind of update that this client may get, each with all optional fields."""
    if edition == "v1":
        return [*_chunks("v1"), *_work_v1(), *_state("v1"), *_gated_v1(offered)]
    if edition == "v2_june":
        return [*_chunks("v2_june"), *_whole(), *_work_v2("v2_june"), *_state("v2_june")]
    return [*_chunks("v2"), *_whole(), *_work_v2("v2"), *_terminal_v2(), *_state("v2"), *_session_facts_v2()]


def _chunks(edition: EditionName) -> list[Update]:
    ids = {"v1": {}, "v2_june": {"messageId": "m2"}, "v2": {"messageId": "m2"}}[edition]
    blocks = [
        text("Hello, wörld 👋"),
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"no image").decode()},
        {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"no sound").decode()},
        {
            "type": "resource_link",
            "uri": "file:///notes.txt",
            "name": "notes.txt",
            "size": 12,
            "mimeType": "text/plain",
        },
        {"type": "resource", "resource": {"uri": "file:///notes.txt", "text": "hello", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "file:///x.bin", "blob": "AAAA"}},
    ]
    said = [{"sessionUpdate": "agent_message_chunk", "content": block, **ids} for block in blocks]
    others = ("user_message_chunk", "agent_thought_chunk")
    return [*said, *({"sessionUpdate": kind, "content": text("hm"), **ids} for kind in others)]


def _whole() -> list[Update]:
    kinds = ("user_message", "agent_message", "agent_thought")
    return [{"sessionUpdate": kind, "messageId": f"{kind}-3", "content": [text("all of it")]} for kind in kinds]


def _work_v1() -> list[Update]:
    content = [
        {"type": "content", "content": text("found")},
        {"type": "diff", "path": "/notes.txt", "oldText": "a\n", "newText": "b\n"},
    ]
    fields = {"kind": "edit", "status": "pending", "rawInput": {"path": "/notes.txt"}, "content": []}
    entries = [{"content": "look", "priority": "high", "status": "in_progress"}]
    return [
        tool("v1", "call-2", **fields, locations=[{"path": "/notes.txt", "line": 3}]),
        {"sessionUpdate": "tool_call_update", "toolCallId": "call-2", "status": "in_progress"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call-2",
            "status": "completed",
            "content": content,
            "rawOutput": [1],
        },
        {"sessionUpdate": "plan", "entries": entries},
    ]


def _work_v2(edition: EditionName) -> list[Update]:
    diff: dict[str, Any] = {"type": "diff", "changes": [{"operation": "modify", "path": "/notes.txt"}]}
    if edition == "v2_june":
        diff = {"type": "diff", "path": "/notes.txt", "oldText": "a\n", "newText": "b\n"}
    entries = [{"content": "look", "priority": "high", "status": "in_progress"}]
    plan = {"type": "items", ("planId" if edition == "v2" else "id"): "plan-1", "entries": entries}
    fields = {"kind": "edit", "status": "in_progress", "rawInput": {"path": "/notes.txt"}}
    content = {"type": "content", "content": text("found")}
    return [
        tool(edition, "call-2", **fields, locations=[{"path": "/notes.txt", "line": 3}]),
        {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "call-2", "content": content},
        {"sessionUpdate": "tool_call_update", "toolCallId": "call-2", "status": "completed", "content": [diff]},
        {"sessionUpdate": "plan_update", "plan": plan},
    ]


def _state(edition: EditionName) -> list[Update]:
    command: dict[str, Any] = {"name": "web", "description": "Search", "input": {"hint": "what for"}}
    if edition == "v2":
        command = {"type": "command", **command, "input": {"type": "text", "hint": "what for"}}
    return [
        {"sessionUpdate": "available_commands_update", "availableCommands": [command]},
        {"sessionUpdate": "config_option_update", "configOptions": config_options(edition)},
        {"sessionUpdate": "session_info_update", "title": "A check", "updatedAt": "2026-01-02T03:04:05Z"},
        {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.5, "currency": "EUR"}},
    ]


def _compaction() -> list[Update]:
    summary = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c1", "content": text("short")}
    return [
        {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "in_progress"},
        summary,
        {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "completed", "summary": [text("short")]},
    ]


NOTICE = {"sessionUpdate": "notice", "severity": "warning", "title": "Nearly full", "description": "Of tokens."}
BOOLEAN = {"type": "boolean", "name": "Loud", "currentValue": True}


def _gated_v1(offered: dict[str, Any]) -> list[Update]:
    session = offered.get("session")
    session = session if isinstance(session, dict) else {}
    options = session.get("configOptions")
    said: list[Update] = [{"sessionUpdate": "current_mode_update", "currentModeId": "ask"}]
    if isinstance(session.get("notices"), dict):
        said.append(NOTICE)
    if isinstance(session.get("compaction"), dict):
        said += _compaction()
    if isinstance(options, dict) and isinstance(options.get("boolean"), dict):
        both = [*config_options("v1"), {"id": "loud", **BOOLEAN}]
        said.append({"sessionUpdate": "config_option_update", "configOptions": both})
    return said


def _terminal_v2() -> list[Update]:
    data = base64.b64encode("ö".encode()).decode()
    return [
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "command": "ls", "cwd": "/", "output": {"data": data}},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t1", "data": data},
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {"exitCode": 0}},
    ]


def _session_facts_v2() -> list[Update]:
    both = [*config_options("v2"), {"configId": "loud", **BOOLEAN}]
    return [
        {"sessionUpdate": "config_option_update", "configOptions": both},
        {"sessionUpdate": "state_update", "state": "requires_action", "background": []},
        {"sessionUpdate": "state_update", "state": "running", "background": []},
        NOTICE,
        *_compaction(),
    ]
