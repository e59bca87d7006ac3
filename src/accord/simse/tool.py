"""Tools that the client runs for the agent: the page's order, its run as a request, and the result on its way back."""

from __future__ import annotations

from typing import Any

from accord.dialects import Json
from accord.simse.update import METHOD, notification, shown

__all__ = ["TOOL_METHOD", "Order", "is_order"]

TOOL_METHOD = "_simse/tool"
"""The request by which the client is asked to run a tool: `sessionId`, `toolCallId`, `toolName`, `input`."""


def is_order(fields: Json) -> bool:
    """Whether a tool call is to be run here; one that names no tool, or runs already, is only told."""
    names = all(isinstance(fields.get(name), str) for name in ("toolName", "toolCallId"))
    return names and fields.get("status") in (None, "pending")


class Order:
    """One run of one tool."""

    def __init__(self, session_id: str, fields: Json) -> None:
        self.session_id = session_id
        self.call_id: str = fields["toolCallId"]
        self.name: str = fields["toolName"]
        self.input: Any = fields.get("input", {})

    def request(self, id_: str) -> Json:
        """The request for the client."""
        params = {
            "sessionId": self.session_id,
            "toolCallId": self.call_id,
            "toolName": self.name,
            "input": self.input,
        }
        return {"jsonrpc": "2.0", "id": id_, "method": TOOL_METHOD, "params": params}

    def started(self) -> Json:
        """For the agent: it runs."""
        return self._page({"status": "in_progress"})

    def completed(self, output: Any) -> tuple[Json, Json]:
        """How it ended, for the agent and for the client."""
        fields: Json = {"status": "completed", "rawOutput": output}
        if isinstance(output, str):
            fields["content"] = shown(output)
        return self._page({"status": "completed", "output": output}), self._v1_update(fields)

    def failed(self, error: str) -> tuple[Json, Json]:
        """That it failed, for the agent and for the client.

        The page knows no status but `completed` for what is over: there, the error is what tells.
        """
        return (
            self._page({"status": "completed", "error": error}),
            self._v1_update({"status": "failed", "content": shown(error)}),
        )

    def answered(self, answer: Json) -> tuple[Json, Json]:
        """What the client's answer says."""
        error = answer.get("error")
        if not isinstance(error, dict):
            return self.completed(answer.get("result"))
        data = error.get("data")
        correlation_id = data.get("correlationId") if isinstance(data, dict) else None
        message = str(error.get("message", "the tool failed"))
        return self.failed(message if correlation_id is None else f"{message} ({correlation_id})")

    def _page(self, fields: Json) -> Json:
        params = {"sessionId": self.session_id, "type": "tool_call_update", "toolCallId": self.call_id, **fields}
        return {"jsonrpc": "2.0", "method": METHOD, "params": params}

    def _v1_update(self, fields: Json) -> Json:
        update = {"sessionUpdate": "tool_call_update", "toolCallId": self.call_id, **fields}
        return notification(self.session_id, update)
