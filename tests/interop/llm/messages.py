"""Anthropic's messages, as Claude uses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.interop.llm.script import Event, Speaker, Use, pieces

__all__ = ["Messages"]

USAGE = {"input_tokens": 11, "output_tokens": 7}


class Messages:
    """A voice; see `Voice`."""

    def is_conversation(self, body: Any) -> bool:
        return bool(body.get("tools"))

    def results(self, body: Any) -> int:
        contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
        return sum(block["type"] == "tool_result" for content in contents for block in content)

    def say(self, text: str, by: Speaker) -> Iterator[Event]:
        deltas = ({"type": "text_delta", "text": piece} for piece in pieces(text))
        yield from _message(by, {"type": "text", "text": ""}, deltas, "end_turn")

    def use(self, step: Use, by: Speaker) -> Iterator[Event]:
        block = {"type": "tool_use", "id": f"toolu_{by.number}", "name": step.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
        yield from _message(by, block, iter([delta]), "tool_use")


def _message(by: Speaker, block: dict[str, Any], deltas: Iterator[dict[str, Any]], stop_reason: str) -> Iterator[Event]:
    message = {"id": f"msg_{by.number}", "type": "message", "role": "assistant", "model": by.model, "content": []}
    yield _event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": USAGE})
    yield _event("content_block_start", index=0, content_block=block)
    for delta in deltas:
        yield _event("content_block_delta", index=0, delta=delta)
    yield _event("content_block_stop", index=0)
    yield _event("message_delta", delta={"stop_reason": stop_reason, "stop_sequence": None}, usage=USAGE)
    yield _event("message_stop")


def _event(name: str, **data: Any) -> Event:
    return name, {"type": name, **data}
