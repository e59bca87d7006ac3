"""How what a transcript holds is told again in the fewest events, for one who was not there.

Messages are told whole, tool calls and terminals as they stand, a compaction as one report (v2 rule A29).
"""

from __future__ import annotations

from typing import assert_never

from accord.protocol.model import UNSET
from accord.session.entry import CompactionEntry, Entry, Message, Plan, TerminalEntry, ToolCall, UnknownEntry
from accord.session.event import (
    CompactionChanged,
    Event,
    MessageChanged,
    MessageChunk,
    PlanChanged,
    TerminalChanged,
    ToolChanged,
)
from accord.session.unset import or_unset

__all__ = ["entry_events", "terminal_event"]


def entry_events(entry: Entry) -> list[Event]:
    """The events that make an entry what it is, wherever nothing is known of it yet."""
    match entry:
        case Message():
            return _message_events(entry)
        case ToolCall():
            return [_tool_event(entry)]
        case Plan():
            return [PlanChanged(entry.entries, entry.id, entry.meta)]
        case CompactionEntry():
            return [_compaction_event(entry)]
        case UnknownEntry():
            return [entry.update]
    assert_never(entry)


def terminal_event(terminal: TerminalEntry) -> TerminalChanged:
    """A terminal as one report."""
    return TerminalChanged(
        terminal.id,
        command=or_unset(terminal.command),
        cwd=or_unset(terminal.cwd),
        output=terminal.output or UNSET,
        exit=or_unset(terminal.exit),
        size=or_unset(terminal.size),
        cancellable=terminal.cancellable or UNSET,
        meta=terminal.meta or UNSET,
    )


def _message_events(message: Message) -> list[Event]:
    if message.id is None:
        # Only chunks go without an id. What parted this message from its neighbour is told again too.
        return [MessageChunk(message.speaker, block) for block in message.content]
    return [MessageChanged(message.speaker, message.id, message.content or UNSET, message.meta or UNSET)]


def _tool_event(call: ToolCall) -> ToolChanged:
    return ToolChanged(
        call.id,
        title=or_unset(call.title),
        kind=call.kind,
        status=call.status,
        name=or_unset(call.name),
        # Copies: the call goes on changing, an event does not.
        content=list(call.content) or UNSET,
        locations=list(call.locations) or UNSET,
        raw_input=or_unset(call.raw_input),
        raw_output=or_unset(call.raw_output),
        cancellable=call.cancellable or UNSET,
        created=True,
        meta=call.meta or UNSET,
    )


def _compaction_event(compaction: CompactionEntry) -> CompactionChanged:
    return CompactionChanged(
        compaction.id,
        compaction.status,
        summary=compaction.summary or UNSET,
        error=or_unset(compaction.error),
        meta=compaction.meta or UNSET,
    )
