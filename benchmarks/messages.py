"""The messages whose encoding and decoding is measured alone: as JSON values, and which method each belongs to."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.contestants.meter import file_text

__all__ = ["SAMPLES", "Sample"]


class Sample(NamedTuple):
    """`part` is the member of the envelope that has a type, and `kind` that type's name in the schema of v1."""

    part: str
    kind: str
    envelope: dict[str, Any]


def _update(update: dict[str, Any]) -> Sample:
    params = {"sessionId": "sess_0123456789abcdef", "update": update}
    return Sample("params", "SessionNotification", {"jsonrpc": "2.0", "method": "session/update", "params": params})


def _request(id_: int, method: str, kind: str, params: dict[str, Any]) -> Sample:
    return Sample("params", kind, {"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


_CHUNK = "A piece of an answer, as long as a model's tokens get when an agent passes them on in groups of a few. "

SAMPLES = {
    "chunk": _update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": _CHUNK}}),
    "tool call with a diff": _update(
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "call_001",
            "title": "Edit src/module.py",
            "kind": "edit",
            "status": "pending",
            "locations": [{"path": "/home/user/project/src/module.py", "line": 42}],
            "rawInput": {"path": "/home/user/project/src/module.py", "old": "value", "new": "other"},
            "content": [
                {
                    "type": "diff",
                    "path": "/home/user/project/src/module.py",
                    "oldText": file_text(2000),
                    "newText": file_text(2400),
                }
            ],
        }
    ),
    "tool call update": _update(
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call_001",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "3 files were changed"}}],
            "rawOutput": {"exitCode": 0, "changed": 3},
        }
    ),
    "permission": _request(
        7,
        "session/request_permission",
        "RequestPermissionRequest",
        {
            "sessionId": "sess_0123456789abcdef",
            "toolCall": {"toolCallId": "call_001", "title": "Run the tests", "kind": "execute", "status": "pending"},
            "options": [
                {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "allow-always", "name": "Always allow", "kind": "allow_always"},
                {"optionId": "reject-once", "name": "Reject", "kind": "reject_once"},
            ],
        },
    ),
    "initialize": _request(
        0,
        "initialize",
        "InitializeRequest",
        {
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
            "clientInfo": {"name": "an-editor", "title": "An editor", "version": "1.2.3"},
        },
    ),
    "read of 1 MB": Sample(
        "result", "ReadTextFileResponse", {"jsonrpc": "2.0", "id": 12, "result": {"content": file_text(1_000_000)}}
    ),
}
