"""The transcript: events folded into messages, tool calls, plans, terminals, settings and turns.

Folding is linear: an event costs the same however long the conversation is, texts are joined when they are read.
A transcript takes the events of every edition, and does not know which one was spoken.

**Order.** The timeline holds entries by first appearance; later changes happen in place. Terminals are not in it,
because tool calls show them, nor are notices, which are shown once and never replayed.

**Messages without ids** (v1) continue the message before them if the same speaker said it. A tool call that begins, a
compaction, another message, and the begin or end of a turn part them; a plan, news of an older tool call, or a new call
that is only announced (`pending`) does not: agents announce calls while the model still speaks.

**Turns.** A turn begins with a user's message or with reported work, whichever is first, and ends with `idle`. User
messages that come while work is reported belong to it. Histories without states still part into turns: a user's message
begins a new one, and how the one before ended is then unknown. A repeated `idle` ends nothing (v2 rule A42).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeAlias, TypeVar

import msgspec

from accord.protocol.model import UNSET
from accord.session.entry import (
    CompactionEntry,
    Entry,
    Message,
    Plan,
    TerminalEntry,
    ToolCall,
    TurnSpan,
    UnknownEntry,
    entry_events,
    patched,
    patched_meta,
    terminal_event,
)
from accord.session.event import (
    Background,
    CommandsChanged,
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    Meta,
    ModeChanged,
    Noticed,
    PlanChanged,
    SessionState,
    Speaker,
    StateChanged,
    StopReason,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
    WorkError,
)
from accord.session.option import Command, ConfigOption, mode_option, with_mode
from accord.session.unset import or_unset

__all__ = ["Transcript"]

E = TypeVar("E", ToolCall, Plan, CompactionEntry)
FoldFunction: TypeAlias = Callable[[Any, Any], None]


class Transcript:
    """One session's conversation, folded from its events.

    The collections are the transcript's own: read them, do not change them. Two transcripts are equal if they show the
    same; the notices that were seen do not count.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.timeline: list[Entry] = []
        """Messages, tool calls, plans and compactions, by their first appearance."""
        self.turns: list[TurnSpan] = []
        """Where each turn begins and ends in the timeline."""
        self.tool_calls: dict[str, ToolCall] = {}
        """The tool calls by id."""
        self.plans: dict[str, Plan] = {}
        """The plans by id."""
        self.compactions: dict[str, CompactionEntry] = {}
        """The compactions by id."""
        self.terminals: dict[str, TerminalEntry] = {}
        """The terminals by id."""
        self.notices: list[Noticed] = []
        """The notices, which are shown once."""
        self.mode: str | None = None
        """The mode, where the edition reports it alone."""
        self.title: str | None = None
        """The title of the session."""
        self.updated_at: str | None = None
        """When the session was changed last, in RFC 3339."""
        self.meta: Meta = {}
        """The `_meta` of the session."""
        self.usage: UsageChanged | None = None
        """The use of the context, as it was last reported."""
        self._commands = CommandsChanged([])
        self._config = ConfigChanged([])
        self._messages: dict[tuple[Speaker, str], Message] = {}
        self._last: Message | None = None
        """The message that a chunk without an id would continue."""
        self._announced: set[str] = set()
        """The tool calls that came since the last message began."""
        self._state: StateChanged | None = None
        self._marks: list[tuple[int, StateChanged]] = []
        """The reports that began or ended a turn, and the newest, with the length of the timeline at their time."""
        self._passing = False
        """Whether the newest mark changed no turn, so that the next report takes its place."""
        for event in events:
            self.fold(event)

    def fold(self, event: Event) -> None:
        """Apply one more event."""
        if type(event) is MessageChunk:
            # Nearly all events are chunks of the message that is open: no look-up, and no call but one.
            last = self._last
            if last is not None and last.speaker == event.speaker and last.id == event.id:
                last.passage.append(event.block)
                return
        self._FOLDS[type(event)](self, event)

    def set_aside(self, place: int) -> Entry:
        """Take an entry out: what it stands before comes late, and is older."""
        self._last = None
        return self.timeline.pop(place)

    def put_back(self, entry: Entry, place: int | None = None) -> int:
        """Put an entry that was taken out to a place or to the end; returns the place behind it."""
        place = len(self.timeline) if place is None else place
        self.timeline.insert(place, entry)
        self._last = None
        return place + 1

    # --- reading

    @property
    def messages(self) -> list[Message]:
        """The messages of the user and the agent, in order."""
        return [entry for entry in self.timeline if isinstance(entry, Message) and entry.speaker != "thought"]

    @property
    def thoughts(self) -> list[Message]:
        """The thoughts of the agent, in order."""
        return [entry for entry in self.timeline if isinstance(entry, Message) and entry.speaker == "thought"]

    @property
    def last_message(self) -> Message | None:
        """The message that began last; thoughts are no messages."""
        messages = (
            entry for entry in reversed(self.timeline) if isinstance(entry, Message) and entry.speaker != "thought"
        )
        return next(messages, None)

    @property
    def text(self) -> str:
        """The text of all messages of the agent, with a blank line between messages."""
        return "\n\n".join(message.text for message in self.messages if message.speaker == "agent")

    @property
    def unknown(self) -> list[UnknownUpdate]:
        """The updates that no edition names yet."""
        return [entry.update for entry in self.timeline if isinstance(entry, UnknownEntry)]

    @property
    def commands(self) -> list[Command]:
        """The slash commands."""
        return self._commands.commands

    @property
    def config(self) -> list[ConfigOption]:
        """The config options with their values."""
        return self._config.options

    @property
    def state(self) -> SessionState:
        """The state of the session; idle until one is reported (v2 rule A24)."""
        return self._state.state if self._state else "idle"

    @property
    def stop_reason(self) -> StopReason | str | None:
        """Why the session is idle, if it said so."""
        return self._state.stop_reason if self._state else None

    @property
    def error(self) -> WorkError | None:
        """The error of the last turn, if it failed."""
        return self._state.error if self._state else None

    @property
    def background(self) -> list[Background] | None:
        """The work beside the turns; None where it is not reported."""
        return self._state.background if self._state and self._state.background is not UNSET else None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.timeline)

    def __len__(self) -> int:
        return len(self.timeline)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transcript) and self._facts() == other._facts()

    __hash__ = None  # type: ignore[assignment]  # it grows

    def _facts(self) -> tuple[object, ...]:
        settings = (self._commands, self._config, self.mode, self.title, self.updated_at, self.meta, self.usage)
        return self.timeline, self.turns, self.terminals, settings, self._state

    def __repr__(self) -> str:
        return f"<Transcript: {len(self.timeline)} entries, {len(self.turns)} turns, {self.state}>"

    def _repr_html_(self) -> str:
        from accord.session.notebook import conversation_html  # noqa: PLC0415 - for notebooks, and they have time

        return conversation_html(self.title or "Transcript", self.timeline, self.terminals)

    def _repr_markdown_(self) -> str:
        from accord.session.notebook import conversation_markdown  # noqa: PLC0415 - as above

        return conversation_markdown(self.title or "Transcript", self.timeline, self.terminals)

    # --- replay

    def events(self, *, states: bool = True) -> list[Event]:
        """The fewest events that fold into an equal transcript.

        Without `states` they are what a replay shows: the conversation, but not the turns that once ran, which a client
        could take for work that runs now.
        """
        events: list[Event] = [*self._settings(), *map(terminal_event, self.terminals.values())]
        reached = 0
        for position, state in self._marks if states else ():
            for entry in self.timeline[reached:position]:
                events += entry_events(entry)
            events.append(state)
            reached = position
        for entry in self.timeline[reached:]:
            events += entry_events(entry)
        return events

    def _settings(self) -> Iterator[Event]:
        info = InfoChanged(or_unset(self.title), or_unset(self.updated_at), self.meta or UNSET)
        if info != InfoChanged():
            yield info
        if self._commands != CommandsChanged([]):
            yield self._commands
        if self._config != ConfigChanged([]):
            yield self._config
        if self.mode is not None and mode_option(self.config) is None:
            yield ModeChanged(self.mode)
        if self.usage is not None:
            yield msgspec.structs.replace(self.usage, cost=or_unset(self.usage.cost))

    # --- messages

    def _message_chunk(self, event: MessageChunk) -> None:
        if event.id is not None:
            message = self._messages.get((event.speaker, event.id))
        elif self._last is not None and self._last.speaker == event.speaker:
            message = self._last
        else:
            message = None
        if message is None:
            message = self._begin_message(event.speaker, event.id)
        message.passage.append(event.block)

    def _message_changed(self, event: MessageChanged) -> None:
        message = self._messages.get((event.speaker, event.id)) or self._begin_message(event.speaker, event.id)
        message.change(event)

    def _begin_message(self, speaker: Speaker, id_: str | None) -> Message:
        if speaker == "user":
            self._prompted()
        message = self._last = Message(speaker, id_)
        self._announced.clear()
        self.timeline.append(message)
        if id_ is not None:
            self._messages[speaker, id_] = message
        return message

    # --- everything else that has a place or a view

    def _tool_changed(self, event: ToolChanged) -> None:
        call = self._tool_call(event.id)
        call.change(event)
        if call.begun and call.id in self._announced:
            self._last = None

    def _tool_content(self, event: ToolContentAdded) -> None:
        self._tool_call(event.id).content.append(event.content)

    def _tool_call(self, id_: str) -> ToolCall:
        if id_ not in self.tool_calls:
            self._announced.add(id_)
        return self._entry(self.tool_calls, id_, ToolCall)

    def _plan_changed(self, event: PlanChanged) -> None:
        self._entry(self.plans, event.id, Plan).change(event)

    def _compaction_changed(self, event: CompactionChanged) -> None:
        self._compaction(event.id).change(event)

    def _compaction_chunk(self, event: CompactionChunk) -> None:
        self._compaction(event.id).passage.append(event.block)

    def _compaction(self, id_: str) -> CompactionEntry:
        if id_ not in self.compactions:
            self._last = None
        return self._entry(self.compactions, id_, CompactionEntry)

    def _entry(self, entries: dict[str, E], id_: str, kind: Callable[[str], E]) -> E:
        entry = entries.get(id_)
        if entry is None:
            entry = entries[id_] = kind(id_)
            self.timeline.append(entry)
        return entry

    def _unknown(self, event: UnknownUpdate) -> None:
        self.timeline.append(UnknownEntry(event))

    def _terminal_changed(self, event: TerminalChanged) -> None:
        self._terminal(event.id).change(event)

    def _terminal_output(self, event: TerminalOutput) -> None:
        self._terminal(event.id).append(event.data)

    def _terminal(self, id_: str) -> TerminalEntry:
        # Not `setdefault`: a terminal is dear to make, and most output is for one that exists.
        terminal = self.terminals.get(id_)
        if terminal is None:
            terminal = self.terminals[id_] = TerminalEntry(id_)
        return terminal

    def _noticed(self, event: Noticed) -> None:
        self.notices.append(event)

    # --- settings

    def _commands_changed(self, event: CommandsChanged) -> None:
        self._commands = event

    def _config_changed(self, event: ConfigChanged) -> None:
        self._config = event
        option = mode_option(self.config)
        if option is not None:
            self.mode = option.value

    def _mode_changed(self, event: ModeChanged) -> None:
        # v1 rule 55: the mode and the option that stands for it are kept in step.
        self.mode = event.mode
        options = with_mode(self.config, event.mode)
        if options is not None:
            self._config = ConfigChanged(options, self._config.meta)

    def _info_changed(self, event: InfoChanged) -> None:
        self.title = patched(event.title, self.title, None)
        self.updated_at = patched(event.updated_at, self.updated_at, None)
        self.meta = patched_meta(event.meta, self.meta)

    def _usage_changed(self, event: UsageChanged) -> None:
        cost = patched(event.cost, self.usage.cost if self.usage else None, None)
        self.usage = msgspec.structs.replace(event, cost=cost)

    # --- turns

    def mark_cancelled(self) -> list[ToolCall]:
        """Show every unfinished tool call as cancelled, before the agent says so; the calls that this changed.

        For a client that has just sent a cancel. Background work is not stopped by that and stays as it is. Later
        reports of the agent still apply (v1 rule 37, v2 rule A51).
        """
        beside = {item.id for item in self.background or () if item.kind == "tool_call"}
        marked = [call for call in self.tool_calls.values() if not call.finished and call.id not in beside]
        for call in marked:
            call.status = "cancelled"
        return marked

    def forget_turns(self) -> None:
        """Drop all turns but the last one, for a caller that does not need them."""
        del self.turns[:-1]
        del self._marks[:-1]

    @property
    def _turn(self) -> TurnSpan | None:
        return self.turns[-1] if self.turns and self.turns[-1].end is None else None

    def _prompted(self) -> None:
        turn = self._turn
        if turn is not None and turn.worked:
            return
        if turn is not None:
            turn.end = len(self.timeline)
        self.turns.append(TurnSpan(len(self.timeline)))

    def _state_changed(self, event: StateChanged) -> None:
        turn = self._turn
        if event.state == "idle":
            matters = turn is not None
            if turn is not None:
                self._end(turn, event)
        else:
            # v2 rule A47: an unknown state is not idle.
            matters = turn is None or not turn.worked
            if turn is None:
                turn = TurnSpan(len(self.timeline))
                self.turns.append(turn)
                self._last = None
            turn.worked = True
        self._mark(event, matters=matters)

    def _end(self, turn: TurnSpan, event: StateChanged) -> None:
        turn.end, turn.stop_reason, turn.error = len(self.timeline), event.stop_reason, event.error
        turn.token_usage = event.token_usage
        self._last = None
        if turn.refused:
            for entry in self.timeline[turn.start :]:
                entry.refused = True

    def _mark(self, event: StateChanged, *, matters: bool) -> None:
        if self._passing:
            self._marks.pop()
        is_marked = bool(self._marks) and self._marks[-1][1] == event
        if matters or not is_marked:
            self._marks.append((len(self.timeline), event))
        self._passing = not matters and not is_marked
        self._state = event

    _FOLDS: ClassVar[dict[type, FoldFunction]] = {
        MessageChunk: _message_chunk,
        MessageChanged: _message_changed,
        ToolChanged: _tool_changed,
        ToolContentAdded: _tool_content,
        TerminalChanged: _terminal_changed,
        TerminalOutput: _terminal_output,
        PlanChanged: _plan_changed,
        CommandsChanged: _commands_changed,
        ConfigChanged: _config_changed,
        ModeChanged: _mode_changed,
        InfoChanged: _info_changed,
        UsageChanged: _usage_changed,
        Noticed: _noticed,
        CompactionChanged: _compaction_changed,
        CompactionChunk: _compaction_chunk,
        StateChanged: _state_changed,
        UnknownUpdate: _unknown,
    }
