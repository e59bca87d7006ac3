"""The two wires that the model on loopback speaks: OpenAI's streaming chat, and Anthropic's streaming messages.

A wire writes answers as events, and reads a request into `Turns`: what every provider is told, in one form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

__all__ = ["WIRES", "AnthropicWire", "OpenAiWire", "Spoken", "Wire"]

Spoken = tuple[str, Any]
"""One thing that a request says: ("user", text), ("agent", text), ("call", (name, arguments)), ("result", text)."""


class Wire(Protocol):
    """One provider's interface."""

    def begin(self, number: int) -> Iterator[bytes]: ...

    def text(self, piece: str) -> Iterator[bytes]: ...

    def thought(self, piece: str) -> Iterator[bytes]: ...

    def call(self, index: int, call_id: str, name: str, arguments: str) -> Iterator[bytes]:
        """A call, its arguments in two pieces."""
        ...

    def end(self, finish: str, tokens: int) -> Iterator[bytes]:
        """`finish` in the words of OpenAI: stop, length, content_filter, tool_calls."""
        ...

    def error(self, message: str, code: str | None) -> bytes:
        """The body of a refusal; the code `context_length_exceeded` is said in the provider's own way."""
        ...

    def conversation(self, body: Any) -> list[Spoken]:
        """What a request says, in order, without the system text."""
        ...

    def system(self, body: Any) -> str: ...


class OpenAiWire:
    """OpenAI's chat, which most other providers offer too."""

    def __init__(self) -> None:
        self._number = 0

    def begin(self, number: int) -> Iterator[bytes]:
        self._number = number
        yield from ()

    def text(self, piece: str) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": piece})

    def thought(self, piece: str) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "reasoning_content": piece})

    def call(self, index: int, call_id: str, name: str, arguments: str) -> Iterator[bytes]:
        head = {"index": index, "id": call_id, "type": "function"}
        yield self._chunk({"tool_calls": [{**head, "function": {"name": name, "arguments": arguments[:4]}}]})
        yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[4:]}}]})

    def end(self, finish: str, tokens: int) -> Iterator[bytes]:
        usage = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
        yield self._chunk({}, finish, usage)
        yield b"data: [DONE]\n\n"

    def error(self, message: str, code: str | None) -> bytes:
        return json.dumps({"error": {"message": message, "type": "fake", "code": code, "param": None}}).encode()

    def conversation(self, body: Any) -> list[Spoken]:
        spoken: list[Spoken] = []
        for message in body["messages"]:
            content = message.get("content")
            match message["role"]:
                case "user":
                    spoken.append(("user", _plain(content)))
                case "assistant":
                    if content:
                        spoken.append(("agent", _plain(content)))
                    for call in message.get("tool_calls") or ():
                        function = call["function"]
                        spoken.append(("call", (function["name"], json.loads(function["arguments"]))))
                case "tool":
                    spoken.append(("result", _result(_plain(content))))
                case _:
                    continue  # the system text
        return spoken

    def system(self, body: Any) -> str:
        return "\n".join(_plain(each["content"]) for each in body["messages"] if each["role"] == "system")

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None) -> bytes:
        event: dict[str, Any] = {
            "id": f"chat-{self._number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "fake",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
        if usage is not None:
            event["usage"] = usage
        return b"data: " + json.dumps(event).encode() + b"\n\n"


class AnthropicWire:
    """Anthropic's messages: blocks that are begun, grow and are ended."""

    _STOPS: ClassVar = {
        "stop": "end_turn",
        "length": "max_tokens",
        "content_filter": "refusal",
        "tool_calls": "tool_use",
    }

    def __init__(self) -> None:
        self._block = -1
        self._open: str | None = None

    def begin(self, number: int) -> Iterator[bytes]:
        self._block, self._open = -1, None
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "fake", "content": []}
        usage = {"input_tokens": 1, "output_tokens": 1}
        yield _event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})

    def text(self, piece: str) -> Iterator[bytes]:
        yield from self._in_block("text", {"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": piece})

    def thought(self, piece: str) -> Iterator[bytes]:
        yield from self._in_block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta({"type": "thinking_delta", "thinking": piece})
        yield self._delta({"type": "signature_delta", "signature": "signed"})

    def call(self, index: int, call_id: str, name: str, arguments: str) -> Iterator[bytes]:
        yield from self._in_block(f"call {index}", {"type": "tool_use", "id": call_id, "name": name, "input": {}})
        yield self._delta({"type": "input_json_delta", "partial_json": arguments[:4]})
        yield self._delta({"type": "input_json_delta", "partial_json": arguments[4:]})

    def end(self, finish: str, tokens: int) -> Iterator[bytes]:
        yield from self._close_block()
        stop = {"stop_reason": self._STOPS.get(finish, finish), "stop_sequence": None}
        yield _event("message_delta", delta=stop, usage={"input_tokens": tokens, "output_tokens": 5})
        yield _event("message_stop")

    def error(self, message: str, code: str | None) -> bytes:
        if code == "context_length_exceeded":
            message = "prompt is too long: 210000 tokens > 200000 maximum"
        return json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).encode()

    def conversation(self, body: Any) -> list[Spoken]:
        spoken: list[Spoken] = []
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            speaker = "user" if message["role"] == "user" else "agent"
            for block in blocks:
                match block["type"]:
                    case "text":
                        spoken.append((speaker, block["text"]))
                    case "tool_use":
                        spoken.append(("call", (block["name"], block["input"])))
                    case "tool_result":
                        spoken.append(("result", _plain(block["content"])))
                    case _:
                        continue  # thoughts
        return spoken

    def system(self, body: Any) -> str:
        return _plain(body.get("system") or "")

    def _in_block(self, what: str, block: dict[str, Any]) -> Iterator[bytes]:
        if self._open != what:
            yield from self._close_block()
            self._block, self._open = self._block + 1, what
            yield _event("content_block_start", index=self._block, content_block=block)

    def _close_block(self) -> Iterator[bytes]:
        if self._open is not None:
            yield _event("content_block_stop", index=self._block)
            self._open = None

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._block, delta=delta)


WIRES: dict[str, type[Wire]] = {"/chat/completions": OpenAiWire, "/messages": AnthropicWire}
"""By the end of the path that a request names."""


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _result(text: str) -> str:
    """A result; one about a failure is wrapped, because this wire has no other mark for it."""
    try:
        wrapped = json.loads(text)
    except ValueError:
        return text
    return wrapped["error"] if isinstance(wrapped, dict) and list(wrapped) == ["error"] else text


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", f"[{part['type']}]") for part in content)
