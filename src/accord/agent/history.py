"""What a kept conversation is when it is opened again: how it is told, and what must be added where it broke off."""

from __future__ import annotations

from accord.session.event import (
    CompactionChanged,
    ConfigChanged,
    Event,
    StateChanged,
    TerminalChanged,
    TerminalExit,
    ToolChanged,
    WorkError,
)
from accord.session.transcript import Transcript

__all__ = ["healing", "retold"]


def retold(transcript: Transcript) -> list[Event]:
    """The conversation for one who was not there; the options are what the answer says, as they are today."""
    return [event for event in transcript.events(states=False) if not isinstance(event, ConfigChanged)]


def healing(transcript: Transcript) -> list[Event]:
    """What is missing at the end of a log whose process died in the middle of a turn: an end for what was going on."""
    reason = "The agent stopped before the turn was over"
    events: list[Event] = [
        TerminalChanged(terminal.id, exit=TerminalExit(), cancellable=False)
        for terminal in transcript.terminals.values()
        if terminal.exit is None
    ]
    events += [
        ToolChanged(call.id, status="failed", cancellable=False)
        for call in transcript.tool_calls.values()
        if not call.finished
    ]
    events += [
        CompactionChanged(compaction.id, "failed", error=reason)
        for compaction in transcript.compactions.values()
        if compaction.status == "in_progress"
    ]
    if transcript.state != "idle":
        events.append(StateChanged("idle", "error", WorkError(-32603, reason)))
    return events
