"""One JSON-RPC message for tests: the plain dict, with properties for the usual fields."""

from __future__ import annotations

import json
from typing import Any

from accord.json_values import JsonValue

__all__ = ["JsonRpcMessage", "messages_of", "text_of"]


class JsonRpcMessage(dict[str, Any]):
    """A message as it was on the wire; the dict has all of its fields."""

    @property
    def id(self) -> JsonValue:
        """The id; None for a notification."""
        return self.get("id")

    @property
    def method(self) -> str:
        """The method, empty for an answer."""
        method = self.get("method")
        return method if isinstance(method, str) else ""

    @property
    def params(self) -> JsonValue:
        """The params; an empty dict where there are none."""
        return self.get("params", {})

    @property
    def result(self) -> JsonValue:
        """The result of an answer.

        Raises:
            KeyError: It is no answer, or it is an error.
        """
        return self["result"]

    @property
    def error(self) -> JsonValue:
        """The error object of an answer, or None."""
        return self.get("error")

    @property
    def session(self) -> str | None:
        """The session that it names."""
        session = self.params.get("sessionId") if isinstance(self.params, dict) else None
        return session if isinstance(session, str) else None

    @property
    def body(self) -> dict[str, Any]:
        """The body of a `session/update`; empty for everything else."""
        update = self.params.get("update") if isinstance(self.params, dict) else None
        return update if isinstance(update, dict) and self.method == "session/update" else {}

    @property
    def is_request(self) -> bool:
        """Whether it is a request: a method with an id."""
        return "method" in self and "id" in self

    @property
    def is_answer(self) -> bool:
        """Whether it is a response: an id without a method."""
        return "method" not in self and "id" in self

    @property
    def is_notification(self) -> bool:
        """Whether it is a notification: a method without an id."""
        return "method" in self and "id" not in self


def messages_of(text: bytes) -> list[JsonRpcMessage]:
    """The messages in a text: one, those of a batch, or none if it is something else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    values = value if isinstance(value, list) else [value]
    return [JsonRpcMessage(each) for each in values if isinstance(each, dict)]


def text_of(value: Any) -> bytes:
    """A text: bytes and strings unchanged, every other value as JSON on one line."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
