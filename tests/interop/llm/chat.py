"""OpenAI's chat completions, which most other providers offer too, as OpenCode uses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.interop.llm.script import Event, Speaker, Use, pieces

__all__ = ["ChatCompletions"]

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


class ChatCompletions:
    """A voice; see `Voice`."""

    def is_conversation(self, body: Any) -> bool:
        return bool(body.get("tools"))

    def results(self, body: Any) -> int:
        return sum(message["role"] == "tool" for message in body["messages"])

    def say(self, text: str, by: Speaker) -> Iterator[Event]:
        for piece in pieces(text):
            yield None, _chunk(by, {"role": "assistant", "content": piece})
        yield from _end(by, "stop")

    def use(self, step: Use, by: Speaker) -> Iterator[Event]:
        function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
        call = {"index": 0, "id": f"call_{by.number}", "type": "function", "function": function}
        yield None, _chunk(by, {"role": "assistant", "content": None, "tool_calls": [call]})
        yield from _end(by, "tool_calls")


def _end(by: Speaker, reason: str) -> Iterator[Event]:
    yield None, {**_chunk(by, {}, reason), "usage": USAGE}
    yield None, "[DONE]"


def _chunk(by: Speaker, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": f"chat-{by.number}", "object": "chat.completion.chunk", "created": 1, "model": by.model}
    return {**head, "choices": [choice]}
