"""The history that a reference agent keeps of a session in v2, for a replay from the start.

It outlives the agent that made it: the next start finds it by the class of the agent.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

__all__ = ["KeptSession", "kept_by"]

Update = dict[str, Any]

_KEYS = {
    "user_message": "messageId",
    "agent_message": "messageId",
    "agent_thought": "messageId",
    "tool_call_update": "toolCallId",
    "terminal_update": "terminalId",
    "compaction_update": "compactionId",
    "session_info_update": "",
    "usage_update": "",
}
"""What is patched by later updates of the same kind, and by which id they find it."""

_KEPT: dict[type, dict[str, KeptSession]] = {}


def kept_by(agent: type) -> dict[str, KeptSession]:
    """The sessions that agents of a class have made, the oldest first."""
    return _KEPT.setdefault(agent, {})


class KeptSession:
    """One conversation, as it stands."""

    def __init__(self, id_: str, cwd: str, directories: list[str], values: dict[str, Any]) -> None:
        self.id = id_
        self.cwd = cwd
        self.directories = directories
        self.values = values
        """Of its config options."""
        self.title: str | None = None
        self._entries: dict[tuple[str, str], Update] = {}

    def keep(self, update: Update) -> None:
        """Remember an update, if it is of a kind that is told again: states, notices and lists are not."""
        kind = update["sessionUpdate"]
        if kind in _KEYS:
            key = (kind, str(update.get(_KEYS[kind], "")))
            self._entries[key] = {**self._entries.get(key, {}), **copy.deepcopy(update)}
        elif kind == "plan_update":
            self._entries[kind, str(update["plan"].get("planId"))] = copy.deepcopy(update)
        elif kind in _APPENDED:
            _APPENDED[kind](self, update)

    def history(self) -> list[Update]:
        """All of it, each thing whole."""
        return copy.deepcopy(list(self._entries.values()))

    def _entry(self, kind: str, id_name: str, update: Update) -> Update:
        id_ = update.get(id_name)
        return self._entries.setdefault((kind, str(id_)), {"sessionUpdate": kind, id_name: id_})

    def append_content(self, update: Update) -> None:
        kind = update["sessionUpdate"].removesuffix("_chunk")
        entry = self._entry(kind, "messageId", update)
        entry["content"] = [*entry.get("content", []), update["content"]]

    def append_to_tool(self, update: Update) -> None:
        entry = self._entry("tool_call_update", "toolCallId", update)
        entry["content"] = [*entry.get("content", []), update["content"]]

    def append_summary(self, update: Update) -> None:
        """A block for the summary of a compaction."""
        entry = self._entry("compaction_update", "compactionId", update)
        entry["summary"] = [*entry.get("summary", []), update["content"]]

    def append_output(self, update: Update) -> None:
        entry = self._entry("terminal_update", "terminalId", update)
        # Pieces are decoded one by one: base64 texts cannot be joined.
        before = base64.b64decode(entry.get("output", {}).get("data", ""))
        after = before + base64.b64decode(update["data"])
        entry["output"] = {"data": base64.b64encode(after).decode()}


_APPENDED: dict[str, Callable[[KeptSession, Update], None]] = {
    "user_message_chunk": KeptSession.append_content,
    "agent_message_chunk": KeptSession.append_content,
    "agent_thought_chunk": KeptSession.append_content,
    "tool_call_content_chunk": KeptSession.append_to_tool,
    "compaction_summary_chunk": KeptSession.append_summary,
    "terminal_output_chunk": KeptSession.append_output,
}
