"""The replay of a long log page by page, in memory that does not grow with the log.

A log is read twice. The first reading makes an `Outline`: the state at the end, the settings, and which entries go on
from one page to a later one. The second reading folds page after page into a `Replay`, which gives away every entry as
soon as nothing more will happen to it. The events are those of `Transcript.events(states=False)` of the whole log,
except that terminals come right before the page that shows them and not all at the beginning.

An entry that goes on over many pages is held until it ends, and so are the entries behind it; a plan is not, because
its last report replaces all earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from accord.protocol.model import UNSET
from accord.session.entry import CompactionEntry, Entry, Message, Plan, ToolCall, entry_events, terminal_event
from accord.session.event import (
    CommandsChanged,
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    PlanChanged,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UsageChanged,
)
from accord.session.option import ConfigOption
from accord.session.tool import FINISHED, TerminalView
from accord.session.transcript import Transcript

__all__ = ["Outline", "Replay"]

Look: TypeAlias = Callable[[Any, Any], None]

_FACTS = (CommandsChanged, ConfigChanged, InfoChanged, ModeChanged, StateChanged, UsageChanged)


class Outline:
    """The result of one reading of a log, a few dozen bytes for each of its entries."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        """How many events each page has; the second reading must have the same pages."""
        self.length = 0
        self.has_unnamed = False
        """Whether there are chunks without an id: such a one may continue the message before it."""
        self.plans: dict[str, PlanChanged] = {}
        self.open_tools: dict[str, None] = {}
        self.open_terminals: dict[str, None] = {}
        self.open_compactions: dict[str, None] = {}
        self._facts = Transcript()
        # Keys are hashes: a collision makes an entry wait longer than it had to, and does no other harm.
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._plain: set[int] = set()
        """The ends of the pages on which every event is a whole message of its own."""

    def add(self, events: Sequence[Event]) -> None:
        end = self.length + len(events)
        known = len(self._first)
        plain = sum(map(_is_whole, events))
        for event in events:
            look = self._LOOKS.get(type(event))
            if look is not None:
                look(self, event)
            key = _key(event)
            # The position at which the entry's first page ends, and its last one if that is another.
            if key is not None and self._first.setdefault(key, end) != end:
                self._last[key] = end
        if plain == len(events) == len(self._first) - known:
            self._plain.add(end)
        self.pages.append(len(events))
        self.length = end

    def is_plain(self, page: Sequence[Event], end: int) -> bool:
        """Whether each event of a page is a whole message, to which nothing else ever happens."""
        if end not in self._plain or self.has_unnamed:
            return False
        return not self._last or not any(_key(event) in self._last for event in page)

    @property
    def config(self) -> list[ConfigOption]:
        return self._facts.config

    @property
    def is_idle(self) -> bool:
        """Whether the last turn came to its end."""
        return self._facts.state == "idle"

    def settings(self) -> list[Event]:
        """The events that a replay begins with."""
        return self._facts.events(states=False)

    def goes_on(self, key: int, position: int) -> bool:
        """Whether an event behind a position concerns an entry; that may be its first event."""
        return (self._last.get(key) or self._first.get(key, 0)) > position

    def _fact(self, event: Event) -> None:
        facts = self._facts
        facts.fold(event)
        if type(event) is StateChanged:
            facts.forget_turns()

    def _tool(self, event: ToolChanged) -> None:
        if event.status is UNSET:
            if event.created or _key(event) not in self._first:
                self.open_tools[event.id] = None
        elif event.status in FINISHED:
            self.open_tools.pop(event.id, None)
        else:
            self.open_tools[event.id] = None

    def _tool_content(self, event: ToolContentAdded) -> None:
        if _key(event) not in self._first:
            self.open_tools[event.id] = None

    def _terminal(self, event: TerminalChanged | TerminalOutput) -> None:
        ended = event.exit if type(event) is TerminalChanged else UNSET
        if ended is None or (ended is UNSET and _key(event) not in self._first):
            self.open_terminals[event.id] = None
        elif ended is not UNSET:
            self.open_terminals.pop(event.id, None)

    def _compaction(self, event: CompactionChanged | CompactionChunk) -> None:
        if type(event) is CompactionChanged:
            if event.status == "in_progress":
                self.open_compactions[event.id] = None
            else:
                self.open_compactions.pop(event.id, None)
        elif _key(event) not in self._first:
            self.open_compactions[event.id] = None

    def _plan(self, event: PlanChanged) -> None:
        self.plans[event.id] = event

    def _chunk(self, event: MessageChunk) -> None:
        if event.id is None:
            self.has_unnamed = True

    _LOOKS: ClassVar[dict[type, Look]] = {
        **dict.fromkeys(_FACTS, _fact),
        ToolChanged: _tool,
        ToolContentAdded: _tool_content,
        TerminalChanged: _terminal,
        TerminalOutput: _terminal,
        CompactionChanged: _compaction,
        CompactionChunk: _compaction,
        PlanChanged: _plan,
        MessageChunk: _chunk,
    }


class Replay(Transcript):
    """The part of a conversation that is not replayed yet."""

    def __init__(self, outline: Outline) -> None:
        super().__init__()
        self._outline = outline
        self._position = 0
        self._planned: set[str] = set()

    def add(self, page: Sequence[Event]) -> list[Event]:
        """Read the next page; the events that can be replayed now."""
        self._position += len(page)
        if not self.timeline and not self.terminals and self._outline.is_plain(page, self._position):
            # Most pages of a long log: folding complete messages would take half of the time.
            return [_whole(event) for event in page]
        for event in page:
            self.fold(event)
        return [*self._take_terminals(), *self._take_entries()]

    def fold(self, event: Event) -> None:
        """Fold one more event; a plan gets its final state at once."""
        if type(event) is PlanChanged:
            if event.id in self._planned:
                return
            self._planned.add(event.id)
            event = self._outline.plans[event.id]
        elif type(event) in _FACTS and type(event) is not StateChanged:
            return
        super().fold(event)

    def _take_terminals(self) -> list[Event]:
        over = [each for each in self.terminals.values() if not self._goes_on("terminal", each.id)]
        for terminal in over:
            del self.terminals[terminal.id]
        return [terminal_event(terminal) for terminal in over]

    def _take_entries(self) -> list[Event]:
        events: list[Event] = []
        count = 0
        is_end = self._position >= self._outline.length
        for entry in self.timeline:
            if not is_end and self._is_held(entry):
                break
            events += entry_events(entry)
            self._forget(entry)
            count += 1
        del self.timeline[:count]
        self.notices.clear()
        self.forget_turns()
        return events

    def _is_held(self, entry: Entry) -> bool:
        match entry:
            case Message():
                continued = entry is self._last and self._outline.has_unnamed
                return continued or (entry.id is not None and self._goes_on(entry.speaker, entry.id))
            case ToolCall():
                shown = (item.terminal_id for item in entry.content if isinstance(item, TerminalView))
                return self._goes_on("tool", entry.id) or any(self._goes_on("terminal", each) for each in shown)
            case CompactionEntry():
                return self._goes_on("compaction", entry.id)
            case _:
                return False

    def _forget(self, entry: Entry) -> None:
        match entry:
            case Message():
                if entry.id is not None:
                    del self._messages[entry.speaker, entry.id]
            case ToolCall():
                del self.tool_calls[entry.id]
            case Plan():
                del self.plans[entry.id]
            case CompactionEntry():
                del self.compactions[entry.id]
            case _:
                pass

    def _goes_on(self, kind: str, id_: str) -> bool:
        return self._outline.goes_on(hash((kind, id_)), self._position)


_KINDS: dict[type, str] = {
    ToolChanged: "tool",
    ToolContentAdded: "tool",
    TerminalChanged: "terminal",
    TerminalOutput: "terminal",
    CompactionChanged: "compaction",
    CompactionChunk: "compaction",
}


def _is_whole(event: Any) -> bool:
    """Whether the event alone is a complete message, if no other event concerns it."""
    kind = type(event)
    if kind is MessageChunk:
        return event.id is not None
    return kind is MessageChanged and bool(event.content) and event.meta is UNSET


def _whole(event: Any) -> Event:
    if type(event) is MessageChunk and event.id is not None:
        return MessageChanged(event.speaker, event.id, [event.block])
    message: MessageChanged = event
    return message


def _key(event: Any) -> int | None:
    """Which entry the event is about; None where that does not matter."""
    kind = type(event)
    if kind is MessageChunk or kind is MessageChanged:
        return None if event.id is None else hash((event.speaker, event.id))
    name = _KINDS.get(kind)
    return None if name is None else hash((name, event.id))
