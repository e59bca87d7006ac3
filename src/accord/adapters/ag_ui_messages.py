"""The conversation and the state in the form of AG-UI, put together from the events of runs.

Agents report changes of their state by JSON Patch (RFC 6902).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accord.adapters.framework_run import NOT_FINISHED
from accord.adapters.prompt_parts import Media, PromptPart
from accord.adapters.tool_description import decoded
from accord.agent.session import new_id
from accord.json_values import JsonValue

__all__ = ["AguiMessages", "OpenCall", "patched"]


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call without a result."""

    id: str
    name: str
    arguments: Any


class AguiMessages:
    """Messages as plain JSON: those of the user, of the assistant with its tool calls, and the results of tools."""

    def __init__(self, messages: Iterable[Any] = ()) -> None:
        self._messages: list[dict[str, Any]] = [dict(message) for message in messages]

    def plain(self) -> list[dict[str, Any]]:
        """The messages as they are."""
        return list(self._messages)

    def answered(self) -> list[dict[str, Any]]:
        """The messages, with a result for every call that has none: providers refuse a history without it."""
        whole = list(self._messages)
        for place, call in reversed(self._open()):
            whole.insert(place + 1, _result(call["id"], NOT_FINISHED))
        return whole

    def _open(self) -> list[tuple[int, dict[str, Any]]]:
        """The calls without a result, each with the place of its message."""
        found: dict[str, tuple[int, dict[str, Any]]] = {}
        for place, message in enumerate(self._messages):
            found.update((call["id"], (place, call)) for call in message.get("toolCalls") or ())
            if message.get("role") == "tool":
                found.pop(message["toolCallId"], None)
        return list(found.values())

    def open_calls(self) -> list[OpenCall]:
        """The calls without a result, in order."""
        return [
            OpenCall(call["id"], call["function"]["name"], decoded(call["function"]["arguments"] or "{}"))
            for _, call in self._open()
        ]

    def has_whole_arguments(self, call_id: str) -> bool:
        """Whether the arguments of a call are a whole JSON object already."""
        found = (call for message in self._messages for call in message.get("toolCalls") or () if call["id"] == call_id)
        text = next((call["function"]["arguments"] for call in found), "")
        return text.rstrip().endswith("}") and isinstance(decoded(text), dict)

    def results(self) -> list[dict[str, Any]]:
        return [message for message in self._messages if message.get("role") == "tool"]

    # --- changes

    def replace(self, messages: Sequence[Any]) -> None:
        """Take the agent's own list: it may have shortened the conversation.

        A result stays one: LlamaIndex has the results of earlier runs as messages of the user, under their ids.
        """
        results = {message["id"]: message for message in self.results()}
        self._messages = [dict(results.get(message.get("id"), message)) for message in messages]

    def add_prompt(self, parts: Sequence[PromptPart]) -> None:
        """Add the user's message."""
        content: Any = [_part(part) for part in parts]
        if len(parts) == 1 and isinstance(parts[0], str):
            content = parts[0]
        self._messages.append({"id": new_id("message"), "role": "user", "content": content})

    def start(self, message_id: str) -> None:
        """Begin a message of the assistant."""
        if self._find(message_id) is None:
            self._add(message_id)["content"] = ""

    def append(self, message_id: str | None, text: str) -> None:
        """Add a piece of text to a message; without an id to the last one of the assistant."""
        message = self._last_answer() if message_id is None else self._find(message_id)
        if message is None:
            message = self._add(message_id)
        message["content"] = (message.get("content") or "") + text

    def start_call(self, call_id: str, name: str, parent_id: str | None = None) -> None:
        """Begin a tool call in its message, or in a message of its own."""
        message = self._find(parent_id) or self._last_answer() or self._add(parent_id)
        calls = message.setdefault("toolCalls", [])
        calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}})

    def append_arguments(self, call_id: str | None, text: str) -> None:
        """Add a piece to the arguments of a call; without an id to those of the last one."""
        calls = [call for message in self._messages for call in message.get("toolCalls") or ()]
        for call in reversed(calls):
            if call_id in {None, call["id"]}:
                call["function"]["arguments"] += text
                return

    def add_result(self, call_id: str, content: Any, message_id: str | None = None) -> None:
        self._messages.append(_result(call_id, content, message_id))

    def _add(self, message_id: str | None) -> dict[str, Any]:
        self._messages.append({"id": message_id or new_id("message"), "role": "assistant"})
        return self._messages[-1]

    def _last_answer(self) -> dict[str, Any] | None:
        """The last message, if it is one of the assistant."""
        last = self._messages[-1] if self._messages else {}
        return last if last.get("role") == "assistant" else None

    def _find(self, message_id: str | None) -> dict[str, Any] | None:
        if message_id is None:
            return None
        return next((message for message in self._messages if message["id"] == message_id), None)


def _result(call_id: str, content: Any, message_id: str | None = None) -> dict[str, Any]:
    return {"id": message_id or new_id("message"), "role": "tool", "toolCallId": call_id, "content": content}


def _part(part: PromptPart) -> dict[str, Any]:
    if isinstance(part, Media):
        kind = "document" if part.kind == "file" else part.kind
        return {"type": kind, "source": {"type": "data", "value": part.data, "mimeType": part.mime_type}}
    return {"type": "text", "text": part}


class PatchFailed(ValueError):
    """The patch does not fit the document; nothing was changed."""


def patched(document: JsonValue, patch: Sequence[Mapping[str, Any]]) -> JsonValue:
    """A copy of the document with all operations of the patch applied in order.

    Raises:
        PatchFailed: An operation does not fit.
    """
    holder = {"": copy.deepcopy(document)}
    try:
        for operation in patch:
            _apply(holder, operation)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise PatchFailed("the patch does not fit the document") from error
    return holder[""]


def _apply(holder: dict[str, Any], operation: Mapping[str, Any]) -> None:
    path = _parts(operation["path"])
    match operation["op"]:
        case "add":
            _add(holder, path, copy.deepcopy(operation["value"]))
        case "replace":
            _remove(holder, path)
            _add(holder, path, copy.deepcopy(operation["value"]))
        case "remove":
            _remove(holder, path)
        case "move":
            _add(holder, path, _remove(holder, _parts(operation["from"])))
        case "copy":
            _add(holder, path, copy.deepcopy(_get(holder, _parts(operation["from"]))))
        case "test":
            if _get(holder, path) != operation["value"]:
                raise ValueError("a test failed")
        case unknown:
            raise ValueError(f"there is no operation {unknown!r}")


def _parts(pointer: str) -> list[str]:
    """The steps of a JSON pointer; the first leads from the holder to the document."""
    if pointer and not pointer.startswith("/"):
        raise ValueError("a pointer begins with a slash")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]


def _get(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        value = value[_index(value, part)] if isinstance(value, list) else value[part]
    return value


def _index(items: list[Any], part: str) -> int:
    if not part.isdigit() or (part != "0" and part.startswith("0")) or int(part) >= len(items):
        raise IndexError(part)
    return int(part)


def _add(holder: Any, path: Sequence[str], value: Any) -> None:
    place, last = _get(holder, path[:-1]), path[-1]
    if isinstance(place, list):
        place.insert(len(place) if last in {"-", str(len(place))} else _index(place, last), value)
    else:
        place[last] = value


def _remove(holder: Any, path: Sequence[str]) -> Any:
    place, last = _get(holder, path[:-1]), path[-1]
    return place.pop(_index(place, last) if isinstance(place, list) else last)
