"""A transcript in values that are the same in every edition: the table of docs/editions.md, and nothing else.

What has no generated id, no terminal and no diff goes through unchanged.
"""

from __future__ import annotations

from typing import Any, assert_never

from accord.session.content import Text
from accord.session.entry import CompactionEntry, Entry, Message, Plan, ToolCall, UnknownEntry
from accord.session.option import Toggle
from accord.session.tool import Diff, Shown, TerminalView
from accord.session.tool_state import terminal_text
from accord.session.transcript import Transcript
from tests.session.folding import joined, triples

__all__ = ["normalised"]


def normalised(transcript: Transcript, *, states: bool = True) -> dict[str, Any]:
    """Everything that a transcript shows; without `states` what a replay can tell, which has none."""
    shown: dict[str, Any] = {
        "timeline": [_entry(entry, transcript) for entry in transcript.timeline],
        "commands": transcript.commands,
        # Toggles: only where the client can show them, and never in June.
        "options": [option for option in transcript.config if not isinstance(option, Toggle)],
        "mode": transcript.mode,
        "title": transcript.title,
        "updated_at": transcript.updated_at,
        "meta": transcript.meta,
        "usage": transcript.usage,
        "unknown": transcript.unknown,
    }
    if states:
        shown["turns"] = transcript.turns
        shown["state"] = (transcript.state, transcript.stop_reason, transcript.error)
    return shown


def _entry(entry: Entry, transcript: Transcript) -> Any:
    match entry:
        case Message():
            # Ids are made up, and a text is cut differently.
            return entry.speaker, joined(entry.content), entry.meta, entry.refused
        case ToolCall():
            return _tool(entry, transcript)
        case Plan():
            return entry
        case CompactionEntry() | UnknownEntry():
            raise AssertionError(f"the conversation has none: {entry}")
    assert_never(entry)


def _tool(call: ToolCall, transcript: Transcript) -> dict[str, Any]:
    return {
        "title": call.title,
        "kind": call.kind,
        "status": call.status,
        "name": call.name,
        "content": [shown for item in call.content for shown in _item(item, transcript)],
        "locations": call.locations,
        "raw_input": call.raw_input,
        "raw_output": call.raw_output,
        "meta": call.meta,
        "refused": call.refused,
    }


def _item(item: Any, transcript: Transcript) -> list[Any]:
    if isinstance(item, TerminalView):
        terminal = transcript.terminals[item.terminal_id]
        return [Shown(Text(terminal_text(terminal.output, terminal.exit)), item.meta)]
    return triples(item) if isinstance(item, Diff) else [item]
