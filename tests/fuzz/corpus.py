"""Valid messages of every edition, small and with every kind of part: what the mutator starts from.

Shapes are written here, not taken from anywhere; `test_corpus` proves that each one is valid in its edition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

HIDDEN = "kept-inside"
"""Stands in received values: an error that quotes one gives itself away."""

SESSIONS = ("s-1", "s-2", "s-3")
CWD = "/home/user/project"


class Corpus(NamedTuple):
    """What one side of one edition hears, by method."""

    requests: dict[str, list[dict[str, Any]]]
    notifications: dict[str, list[dict[str, Any]]]
    results: dict[str, dict[str, Any]]
    """What this side answers; the other side's answers are the results of its corpus."""


META = {"_meta": {"trace": HIDDEN, "n": 3, "deep": [{"a": None}, 1.5, True]}}
TEXT = {"type": "text", "text": f"say {HIDDEN} \U0001f680 \u00e9"}
IMAGE = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png", "uri": f"file:///{HIDDEN}.png"}
AUDIO = {"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "name": HIDDEN, "uri": "file:///a.txt", "size": 12, "title": "A"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": HIDDEN, "mimeType": "text/plain"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAAA"}, "annotations": {"priority": 0.5}}
BLOCKS = [TEXT, IMAGE, AUDIO, LINK, RESOURCE, BLOB]
OPTIONS = [
    {"optionId": "yes", "name": f"Allow {HIDDEN}", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
HTTP = {
    "type": "http",
    "name": "web",
    "url": f"https://example.test/{HIDDEN}",
    "headers": [{"name": "h", "value": "v"}],
}
STDIO = {"name": "tool", "command": "/bin/tool", "args": ["-x"], "env": [{"name": "KEY", "value": HIDDEN}]}
SESSION: dict[str, Any] = {"sessionId": SESSIONS[0]}


def _updates(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"sessionId": SESSIONS[index % 3], "update": update} for index, update in enumerate(updates)]


def _prompts() -> list[dict[str, Any]]:
    return [
        {"sessionId": SESSIONS[0], "prompt": [TEXT]},
        {"sessionId": SESSIONS[1], "prompt": BLOCKS, **META},
        {"sessionId": SESSIONS[2], "prompt": [TEXT, {"type": "text", "text": "x" * 9000}]},
    ]


def _chunks(**more: Any) -> list[dict[str, Any]]:
    names = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "agent_message_chunk")
    return [{"sessionUpdate": name, "content": block, **more} for name, block in zip(names, BLOCKS, strict=False)]


def _session_requests(servers: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    again = {**SESSION, "cwd": CWD, "mcpServers": servers}
    return {
        "session/new": [{"cwd": CWD, "mcpServers": []}, {"cwd": CWD, "mcpServers": servers, **META}],
        "session/list": [{}, {"cwd": CWD, "cursor": HIDDEN}],
        "session/delete": [SESSION],
        "session/resume": [again],
        "session/close": [SESSION],
        "session/prompt": _prompts(),
    }


_ROW = {"sessionId": SESSIONS[0], "cwd": CWD, "title": "T", "updatedAt": "2026-01-01T00:00:00Z"}
_SESSION_RESULTS: dict[str, dict[str, Any]] = {
    "session/new": {"sessionId": SESSIONS[0]},
    "session/list": {"sessions": [_ROW], "nextCursor": "n"},
    "session/delete": {},
    "session/resume": {},
    "session/close": {},
}
_TOOL = {
    "toolCallId": "t-1",
    "title": f"Read {HIDDEN}",
    "kind": "read",
    "status": "pending",
    "locations": [{"path": "/a.txt", "line": 3}],
    "rawInput": {"path": HIDDEN, "n": [1, None]},
}
_PERMISSION_RESULT = {"outcome": {"outcome": "selected", "optionId": "yes"}}


# --- v1


def _select(key: str) -> dict[str, Any]:
    flat = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
    return {"type": "select", key: "model", "name": "Model", "currentValue": "a", "options": flat, "category": "model"}


_V1_UPDATES = [
    *_chunks(),
    {"sessionUpdate": "tool_call", **_TOOL, "content": [{"type": "content", "content": TEXT}]},
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t-1",
        "status": "completed",
        "content": [{"type": "diff", "path": "/a.txt", "newText": HIDDEN}, {"type": "terminal", "terminalId": "x"}],
    },
    {"sessionUpdate": "plan", "entries": [{"content": HIDDEN, "priority": "high", "status": "pending"}]},
    {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "go", "description": HIDDEN}]},
    {"sessionUpdate": "current_mode_update", "currentModeId": "ask"},
    {"sessionUpdate": "config_option_update", "configOptions": [_select("id")]},
    {"sessionUpdate": "session_info_update", "title": None, "updatedAt": "2026-01-01T00:00:00Z"},
    {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.5, "currency": "EUR"}},
]
_ELICITATIONS: list[dict[str, Any]] = [
    {
        **SESSION,
        "mode": "form",
        "message": HIDDEN,
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer", "minimum": 0}},
            "required": ["name"],
        },
    },
    {**SESSION, "mode": "url", "message": "m", "elicitationId": "e", "url": "https://example.test/"},
]
_TERMINAL = {**SESSION, "terminalId": "term-1"}

V1_AGENT = Corpus(
    {
        "initialize": [{"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}, "terminal": True}}],
        "authenticate": [{"methodId": HIDDEN}],
        "logout": [{}],
        **_session_requests([HTTP, STDIO]),
        "session/load": [{**SESSION, "cwd": CWD, "mcpServers": [STDIO]}],
        "session/set_mode": [{**SESSION, "modeId": "ask"}],
        "session/set_model": [{**SESSION, "modelId": "m"}],
        "session/set_config_option": [{**SESSION, "configId": "model", "value": "b"}],
    },
    {"session/cancel": [SESSION], "$/cancel_request": [{"requestId": 7}, {"requestId": "r"}]},
    {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "authMethods": []},
        "authenticate": {},
        "logout": {},
        **_SESSION_RESULTS,
        "session/load": {},
        "session/set_mode": {},
        "session/set_model": {},
        "session/set_config_option": {"configOptions": [_select("id")]},
        "session/prompt": {"stopReason": "end_turn"},
    },
)
V1_CLIENT = Corpus(
    {
        "fs/read_text_file": [{**SESSION, "path": "/a.txt", "line": 1, "limit": 5}],
        "fs/write_text_file": [{**SESSION, "path": "/a.txt", "content": HIDDEN}],
        "session/request_permission": [{**SESSION, "toolCall": _TOOL, "options": OPTIONS}],
        "terminal/create": [{**SESSION, "command": "ls", "args": ["-l"], "env": [], "outputByteLimit": 1000}],
        "terminal/output": [_TERMINAL],
        "terminal/wait_for_exit": [_TERMINAL],
        "terminal/kill": [_TERMINAL],
        "terminal/release": [_TERMINAL],
        "elicitation/create": _ELICITATIONS,
    },
    {
        "session/update": _updates(_V1_UPDATES),
        "elicitation/complete": [{"elicitationId": "e"}],
        "$/cancel_request": [{"requestId": 7}],
    },
    {
        "fs/read_text_file": {"content": "text"},
        "fs/write_text_file": {},
        "session/request_permission": _PERMISSION_RESULT,
        "terminal/create": {"terminalId": "term-1"},
        "terminal/output": {"output": "o", "truncated": False, "exitStatus": {"exitCode": 0}},
        "terminal/wait_for_exit": {"exitCode": 0},
        "terminal/kill": {},
        "terminal/release": {},
        "elicitation/create": {"action": "accept", "content": {"name": "n"}},
    },
)

# --- v2

_V2_TOOL = {**_TOOL, "name": "read", "capabilities": {"cancel": {}}}
_MODIFY = {"operation": "modify", "path": "/a.txt", "fileType": "text"}
_MOVE = {"operation": "move", "oldPath": "/a.txt", "path": "/b.txt"}
_V2_UPDATES = [
    *_chunks(messageId="m-1"),
    {"sessionUpdate": "user_message", "messageId": "m-1", "content": [TEXT]},
    {"sessionUpdate": "agent_message", "messageId": "m-2", "content": None},
    {"sessionUpdate": "agent_thought", "messageId": "m-3"},
    {"sessionUpdate": "tool_call_update", **_V2_TOOL, "content": [{"type": "diff", "changes": [_MODIFY, _MOVE]}]},
    {
        "sessionUpdate": "tool_call_content_chunk",
        "toolCallId": "t-1",
        "content": {"type": "content", "content": TEXT},
    },
    {"sessionUpdate": "state_update", "state": "running", "background": [{"type": "terminal", "terminalId": "x"}]},
    {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
    {
        "sessionUpdate": "plan_update",
        "plan": {
            "type": "items",
            "planId": "p",
            "entries": [{"content": HIDDEN, "priority": "low", "status": "cancelled"}],
        },
    },
    {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"type": "command", "name": "go", "description": HIDDEN}],
    },
    {"sessionUpdate": "config_option_update", "configOptions": [_select("configId")]},
    {"sessionUpdate": "session_info_update", "title": None},
    {"sessionUpdate": "usage_update", "used": 10, "size": 100},
    {
        "sessionUpdate": "terminal_update",
        "terminalId": "x",
        "output": {"data": "AAAA"},
        "size": {"cols": 80, "rows": 25},
    },
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "AAAA"},
    {"sessionUpdate": "notice", "severity": "info", "title": HIDDEN},
    {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed", "summary": [TEXT]},
]
V2_AGENT = Corpus(
    {
        "initialize": [{"protocolVersion": 2, "info": {"name": HIDDEN, "version": "1"}, "capabilities": {}}],
        "auth/login": [{"methodId": HIDDEN}],
        "auth/logout": [{}],
        **_session_requests([HTTP, {"type": "stdio", **STDIO}]),
        "session/set_config_option": [{**SESSION, "configId": "model", "type": "id", "value": "b"}],
        "tool_call/cancel": [{**SESSION, "toolCallId": "t-1"}],
        "terminal/cancel": [_TERMINAL],
    },
    {"session/cancel": [SESSION], "$/cancel_request": [{"requestId": 7}, {"requestId": "r"}]},
    {
        "initialize": {
            "protocolVersion": 2,
            "info": {"name": "fuzzed", "version": "1"},
            "capabilities": {"session": {}},
        },
        "auth/login": {},
        "auth/logout": {},
        **_SESSION_RESULTS,
        "session/set_config_option": {"configOptions": [_select("configId")]},
        "session/prompt": {"messageId": "m-1"},
        "tool_call/cancel": {},
        "terminal/cancel": {},
    },
)
V2_CLIENT = Corpus(
    {
        "session/request_permission": [
            {**SESSION, "title": HIDDEN, "options": OPTIONS, "subject": {"type": "tool_call", "toolCall": _V2_TOOL}},
            {**SESSION, "title": "t", "options": OPTIONS, "subject": {"type": "command", "command": "ls", "cwd": CWD}},
        ],
        "elicitation/create": _ELICITATIONS,
    },
    {
        "session/update": _updates(_V2_UPDATES),
        "elicitation/complete": [{"elicitationId": "e"}],
        "$/cancel_request": [{"requestId": 7}],
    },
    {
        "session/request_permission": _PERMISSION_RESULT,
        "elicitation/create": {"action": "decline"},
    },
)

# --- v2 of June

_JUNE_UPDATES = [
    *_chunks(messageId="m-1"),
    {"sessionUpdate": "user_message", "messageId": "m-1", "content": [TEXT]},
    {"sessionUpdate": "agent_message", "messageId": "m-2", "content": None},
    {"sessionUpdate": "agent_thought", "messageId": "m-3"},
    {"sessionUpdate": "tool_call_update", **_TOOL, "content": [{"type": "diff", "path": "/a", "newText": HIDDEN}]},
    {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": {"type": "content", "content": TEXT}},
    {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "id": "p", "entries": [{"content": "c", "priority": "low", "status": "pending"}]},
    },
    {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "go", "description": "d", "input": {"hint": HIDDEN}}],
    },
    {"sessionUpdate": "config_option_update", "configOptions": [_select("id")]},
    {"sessionUpdate": "session_info_update", "title": None},
    {"sessionUpdate": "usage_update", "used": 10, "size": 100},
]
JUNE_AGENT = Corpus(
    {
        "initialize": [{"protocolVersion": 2, "clientInfo": {"name": HIDDEN, "version": "1"}, "capabilities": {}}],
        "authenticate": [{"methodId": HIDDEN}],
        "logout": [{}],
        **_session_requests([HTTP, {"type": "stdio", **STDIO}]),
        "session/load": [{**SESSION, "cwd": CWD, "mcpServers": []}],
        "session/set_config_option": [{**SESSION, "configId": "model", "value": "b"}],
    },
    {"session/cancel": [SESSION]},
    {
        "initialize": {"protocolVersion": 2, "capabilities": {"session": {}}},
        "authenticate": {},
        "logout": {},
        **_SESSION_RESULTS,
        "session/load": {},
        "session/set_config_option": {"configOptions": [_select("id")]},
        "session/prompt": {"stopReason": "end_turn"},
    },
)
JUNE_CLIENT = Corpus(
    {"session/request_permission": [{**SESSION, "toolCall": _TOOL, "options": OPTIONS}]},
    {"session/update": _updates(_JUNE_UPDATES)},
    {"session/request_permission": _PERMISSION_RESULT},
)

CORPORA: dict[tuple[str, str], Corpus] = {
    ("v1", "agent"): V1_AGENT,
    ("v1", "client"): V1_CLIENT,
    ("v2", "agent"): V2_AGENT,
    ("v2", "client"): V2_CLIENT,
    ("v2_june", "agent"): JUNE_AGENT,
    ("v2_june", "client"): JUNE_CLIENT,
}
