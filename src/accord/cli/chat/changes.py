"""The changes of a transcript since the last repaint, so that a screen lays out those and nothing else.

The cost of an event does not depend on the length of the conversation. The layout is left to the screen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from accord.cli.show.presentation import Note
from accord.session.entry import Entry, Message, TerminalEntry, ToolCall
from accord.session.event import (
    CompactionChanged,
    CompactionChunk,
    Event,
    MessageChanged,
    MessageChunk,
    Speaker,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
)
from accord.session.tool import TerminalView, ToolContent
from accord.session.transcript import Transcript


@dataclass(slots=True)
class Changes:
    """New entries, and changed ones; a `rewritten` message does not begin with the text that is shown of it."""

    new: list[Entry | Note | TerminalEntry] = field(default_factory=list)
    changed: list[Entry] = field(default_factory=list)
    rewritten: list[Message] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.new or self.changed)


class ChangeTracker:
    """The changes of one transcript. Pass it every event after the transcript has folded it."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._position = 0
        self._new: list[Entry | Note | TerminalEntry] = []
        self._changed: dict[int, Entry] = {}
        self._rewritten: dict[int, Message] = {}
        self._messages: dict[tuple[Speaker, str], Message] = {}
        self._last: Message | None = None
        self._viewers: dict[str, dict[str, ToolCall]] = {}
        self._catch_up()

    def track(self, event: Event) -> None:
        self._catch_up()
        match event:
            case MessageChunk() | MessageChanged():
                self._track_message(event)
            case ToolChanged() | ToolContentAdded():
                self._change(self._transcript.tool_calls.get(event.id))
                self._view(event)
            case TerminalOutput() | TerminalChanged():
                self._changed |= {id(tool): tool for tool in self._viewers.get(event.id, {}).values()}
            case CompactionChanged() | CompactionChunk():
                self._change(self._transcript.compactions.get(event.id))
            case _:
                pass

    def _track_message(self, event: MessageChunk | MessageChanged) -> None:
        message = self._last if event.id is None else self._messages.get((event.speaker, event.id))
        self._change(message)
        if message is not None and isinstance(event, MessageChanged):
            self._rewritten[id(message)] = message

    def take(self) -> Changes:
        """The changes since the last call."""
        self._catch_up()
        taken = Changes(self._new, list(self._changed.values()), list(self._rewritten.values()))
        self._new, self._changed, self._rewritten = [], {}, {}
        return taken

    def add(self, item: Note | TerminalEntry) -> None:
        """Add a remark, or a shell command of the user, behind all entries so far."""
        self._catch_up()
        self._new.append(item)

    def add_terminals(self) -> None:
        """Add entries for terminals that no tool call shows, each once."""
        for terminal_id, terminal in self._transcript.terminals.items():
            if terminal_id not in self._viewers:
                self._viewers[terminal_id] = {}
                self._new.append(terminal)

    def _catch_up(self) -> None:
        timeline = self._transcript.timeline
        while self._position < len(timeline):
            entry = timeline[self._position]
            self._position += 1
            self._new.append(entry)
            if isinstance(entry, Message):
                self._last = entry
                if entry.id is not None:
                    self._messages[entry.speaker, entry.id] = entry
            elif isinstance(entry, ToolCall):
                self._register(entry, entry.content)

    def _change(self, entry: Entry | None) -> None:
        if entry is not None:
            self._changed[id(entry)] = entry

    def _view(self, event: ToolChanged | ToolContentAdded) -> None:
        tool = self._transcript.tool_calls.get(event.id)
        content = [event.content] if isinstance(event, ToolContentAdded) else event.content
        if tool is not None and isinstance(content, list):
            self._register(tool, content)

    def _register(self, tool: ToolCall, content: list[ToolContent]) -> None:
        for item in content:
            if isinstance(item, TerminalView):
                self._viewers.setdefault(item.terminal_id, {})[tool.id] = tool
