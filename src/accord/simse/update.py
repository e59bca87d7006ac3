"""Conversion of updates and prompts between the forms of simse's page and those of v1.

The page puts an update beside the session's id, v1 below it; the page tags it by `sessionUpdate` in one table and by
`type` in the others. All four are read. A prompt is one string on the page, and a list of blocks in v1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.dialects import Json

__all__ = ["PERMISSION", "TOOL_CALL", "notification", "notified", "prompt_text", "shown", "update_of", "v1_updates"]

PERMISSION = "request_permission"
TOOL_CALL = "tool_call"
METHOD = "session/update"
_TAGS = ("sessionUpdate", "type")


def notification(session_id: str, update: Json) -> Json:
    """An update for the client, as v1 has it."""
    return {"jsonrpc": "2.0", "method": METHOD, "params": {"sessionId": session_id, "update": update}}


def notified(message: Json, session_id: str, update: Json) -> Json:
    """A message of the agent with the update in v1's form; the other fields of a v1 message stay."""
    params = message["params"]
    if "update" not in params:
        return notification(session_id, update)
    beside = {name: value for name, value in params.items() if name not in _TAGS}
    return {**message, "params": {**beside, "update": update}}


def shown(text: str) -> list[Json]:
    """A text among the results of a tool."""
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def update_of(params: Json) -> tuple[str, Json] | None:
    """The tag and the rest of an update, in any of the forms; None where there is no tag."""
    nested = params.get("update")
    if isinstance(nested, dict):
        found = _tagged(nested)
        if found is not None:
            return found
        # The tag beside the session's id, and the rest below it.
        return _tagged({**{name: params[name] for name in _TAGS if name in params}, **nested})
    return _tagged({name: value for name, value in params.items() if name != "sessionId"})


def _tagged(update: Json) -> tuple[str, Json] | None:
    kind, tag = update.get("type"), update.get("sessionUpdate")
    if kind == PERMISSION:
        # In any form: the agent waits for an answer to it.
        tag = kind
    if not isinstance(tag, str):
        tag = kind
    if not isinstance(tag, str):
        return None
    rest = {name: value for name, value in update.items() if name != "sessionUpdate"}
    if kind == tag:
        del rest["type"]
    return tag, rest


def v1_updates(tag: str, fields: Json) -> list[Json]:
    """The updates of v1 for one of the page; unknown ones stay as they are, below their tag."""
    translate = _TRANSLATIONS.get(tag)
    fields_out = [fields] if translate is None else translate(fields)
    return [{"sessionUpdate": tag, **each} for each in fields_out]


def _chunks(fields: Json) -> list[Json]:
    """The chunks of a message, whose text may be in several places: the page does not specify one."""
    rest = {name: value for name, value in fields.items() if name not in ("content", "text", "type")}
    content = fields.get("content", fields.get("text"))
    blocks = content if isinstance(content, list) else [content]
    return [{**rest, "content": {"type": "text", "text": b} if isinstance(b, str) else b} for b in blocks]


def _tool_call(fields: Json) -> list[Json]:
    fields_out = _tool_fields(fields)
    if "toolName" in fields:
        fields_out = {"title": str(fields["toolName"]), "kind": "other", **fields_out}
    return [fields_out]


def _tool_call_update(fields: Json) -> list[Json]:
    return [_tool_fields(fields)]


def _tool_fields(fields: Json) -> Json:
    fields_out = {_NAMES.get(name, name): value for name, value in fields.items() if name != "error"}
    error, output = fields.get("error"), fields.get("output")
    if error is not None:
        # The page has no status for a failure, only this text.
        fields_out["status"] = "failed"
        fields_out.setdefault("content", shown(error if isinstance(error, str) else str(error)))
    elif isinstance(output, str):
        fields_out.setdefault("content", shown(output))
    return fields_out


_NAMES = {"toolName": "name", "input": "rawInput", "output": "rawOutput"}

_TRANSLATIONS: dict[str, Callable[[Json], list[Json]]] = {
    "agent_message_chunk": _chunks,
    "agent_thought_chunk": _chunks,
    "user_message_chunk": _chunks,
    TOOL_CALL: _tool_call,
    "tool_call_update": _tool_call_update,
}


def prompt_text(blocks: Any) -> Any:
    """The blocks, separated by newlines: texts unchanged, and a short description of each other block."""
    if not isinstance(blocks, list):
        return blocks
    return "\n".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource_link":
            return f"[{block.get('title') or block.get('name')}]({block.get('uri')})"
        case "resource":
            return _resource(block.get("resource"))
        case kind:
            return "[" + " ".join(str(part) for part in (kind, block.get("mimeType"), block.get("uri")) if part) + "]"


def _resource(resource: Any) -> str:
    if not isinstance(resource, dict):
        return "[resource]"
    uri, text = resource.get("uri"), resource.get("text")
    # A text fits into a string: the agent gets all of it.
    return f"[resource {uri}]" if text is None else f"[resource {uri}]\n{text}"
