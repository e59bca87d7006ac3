"""Google's `generateContent`, as Gemini CLI uses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.interop.llm.script import Event, Speaker, Use, pieces

__all__ = ["Google"]

USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}


class Google:
    """A voice; see `Voice`."""

    def is_conversation(self, body: Any) -> bool:
        return bool(body.get("tools"))

    def results(self, body: Any) -> int:
        parts = [part for content in body["contents"] for part in content.get("parts", [])]
        return sum("functionResponse" in part for part in parts)

    def say(self, text: str, by: Speaker) -> Iterator[Event]:
        for piece in pieces(text):
            yield None, _answer(by.model, [{"text": piece}])
        yield None, _answer(by.model, [{"text": ""}], finishReason="STOP")

    def use(self, step: Use, by: Speaker) -> Iterator[Event]:
        call = {"name": step.tool, "args": dict(step.arguments)}
        yield None, _answer(by.model, [{"functionCall": call}], finishReason="STOP")


def _answer(model: str, parts: list[dict[str, Any]], **more: str) -> dict[str, Any]:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **more}
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": model}
