"""OpenAI's responses, as Codex uses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.interop.llm.script import Event, Speaker, Use, pieces

__all__ = ["Responses"]

USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 18,
}


class Responses:
    """A voice; see `Voice`."""

    def is_conversation(self, body: Any) -> bool:
        return bool(body.get("tools"))

    def results(self, body: Any) -> int:
        return sum(item.get("type", "").endswith("_output") for item in body["input"])

    def say(self, text: str, by: Speaker) -> Iterator[Event]:
        item = {"id": f"msg_{by.number}", "type": "message", "role": "assistant", "status": "in_progress"}
        yield _event("response.created", response=_response(by, "in_progress", []))
        yield _event("response.output_item.added", output_index=0, item={**item, "content": []})
        for piece in pieces(text):
            yield _event("response.output_text.delta", item_id=item["id"], output_index=0, content_index=0, delta=piece)
        content = [{"type": "output_text", "text": text, "annotations": []}]
        yield from _end(by, {**item, "status": "completed", "content": content})

    def use(self, step: Use, by: Speaker) -> Iterator[Event]:
        ids = {"id": f"fc_{by.number}", "call_id": f"call_{by.number}"}
        call = {**ids, "type": "function_call", "name": step.tool}
        yield _event("response.created", response=_response(by, "in_progress", []))
        yield _event("response.output_item.added", output_index=0, item={**call, "arguments": ""})
        yield from _end(by, {**call, "arguments": json.dumps(step.arguments), "status": "completed"})


def _end(by: Speaker, item: dict[str, Any]) -> Iterator[Event]:
    yield _event("response.output_item.done", output_index=0, item=item)
    yield _event("response.completed", response=_response(by, "completed", [item]))


def _event(name: str, **data: Any) -> Event:
    return name, {"type": name, **data}


def _response(by: Speaker, status: str, output: list[Any]) -> dict[str, Any]:
    head = {"id": f"resp_{by.number}", "object": "response", "model": by.model, "status": status}
    return {**head, "output": output, "usage": USAGE if status == "completed" else None}
