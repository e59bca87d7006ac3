"""How an agent tells a session's events in v2_june."""

from collections.abc import Callable
from typing import Any, ClassVar

from accord.protocol import v2_june
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.board import Board
from accord.session.capability import ClientCapabilities
from accord.session.dialect_v2_june.content import block_out, blocks_out
from accord.session.dialect_v2_june.option import commands_out, options_out
from accord.session.dialect_v2_june.tool import items_out, tool_out
from accord.session.event import (
    CommandsChanged,
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Cost,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    Noticed,
    PlanChanged,
    Speaker,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
)
from accord.session.mode import with_mode
from accord.session.naming import Names
from accord.session.nearest import open_entry, plain_notice
from accord.session.option import ConfigOption
from accord.session.original import MessageOriginal, keep
from accord.session.presence import given, mapped

__all__ = ["Voice"]

Updates = list[v2_june.SessionUpdate]
CHUNKS: dict[Speaker, type[v2_june.UserMessageChunk | v2_june.AgentMessageChunk | v2_june.AgentThoughtChunk]] = {
    "user": v2_june.UserMessageChunk,
    "agent": v2_june.AgentMessageChunk,
    "thought": v2_june.AgentThoughtChunk,
}
MESSAGES: dict[Speaker, type[v2_june.UserMessage | v2_june.AgentMessage | v2_june.AgentThought]] = {
    "user": v2_june.UserMessage,
    "agent": v2_june.AgentMessage,
    "thought": v2_june.AgentThought,
}


class Voice:
    """One session's voice in the June draft, which knows no capabilities of clients and no states of sessions."""

    def __init__(self, capabilities: ClientCapabilities) -> None:  # noqa: ARG002 - the same for every edition
        self._names = Names()
        self._board = Board()
        self._options: list[ConfigOption] = []
        self._cost: Maybe[Cost] = UNSET
        self.client_terminals = self._board.client_terminals

    def say(self, event: Event) -> Updates:
        """The updates, in order, that tell an event."""
        return self._SAYERS[type(event)](self, event)

    def forget_messages(self) -> None:
        """The messages so far will not change any more."""

    def flush(self) -> Updates:
        """What was held back of growing tool calls."""
        return [self._repeat(call_id) for call_id in self._board.held()]

    # ── messages ──

    def _chunk(self, event: MessageChunk) -> Updates:
        if event.id is None:
            name, meta = self._names.unnamed(event.speaker), event.meta
        else:
            name = self._names.of(event.speaker, event.id)
            meta = keep(event.meta, None if name == event.id else MessageOriginal(event.id))
        return [CHUNKS[event.speaker](block_out(event.block), name, meta or UNSET)]

    def _message(self, event: MessageChanged) -> Updates:
        name = self._names.of(event.speaker, event.id)
        meta = event.meta if name == event.id else given(keep(event.meta, MessageOriginal(event.id)))
        return [MESSAGES[event.speaker](name, mapped(blocks_out, event.content), meta)]

    def _notice(self, event: Noticed) -> Updates:
        text, meta = plain_notice(event)
        return [v2_june.AgentMessageChunk(block_out(text), self._names.fresh("notice"), meta or UNSET)]

    # ── tool calls and terminals ──

    def _tool(self, event: ToolChanged) -> Updates:
        self._names.pause()
        return [v2_june.ToolCallUpdated(event.id, **tool_out(event, self._board))]

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        if not self._board.knows(event.id):
            # Chunks alone would do, but a terminal that has shown nothing yet is no chunk.
            return self._tool(ToolChanged(event.id, content=[event.content]))
        self._names.pause()
        self._board.append(event)
        return [
            v2_june.ToolCallContentChunk(event.id, item, event.meta or UNSET)
            for item in items_out(self._board.plain(event.content))
        ]

    def _repeat(self, call_id: str) -> v2_june.SessionUpdate:
        return v2_june.ToolCallUpdated(call_id, content=items_out(self._board.show(call_id)))

    def _terminal(self, event: TerminalChanged) -> Updates:
        return [self._repeat(call_id) for call_id in self._board.change_terminal(event)]

    def _terminal_output(self, event: TerminalOutput) -> Updates:
        return [self._repeat(call_id) for call_id in self._board.print(event)]

    # ── the session ──

    def _plan(self, event: PlanChanged) -> Updates:
        entries = [
            v2_june.PlanEntry(entry.content, entry.priority, entry.status, entry.meta or UNSET)
            for entry in map(open_entry, event.entries)
        ]
        return [v2_june.PlanUpdate(v2_june.PlanItems(event.id, entries), event.meta or UNSET)]

    def _commands(self, event: CommandsChanged) -> Updates:
        return [v2_june.AvailableCommandsUpdate(commands_out(event.commands), event.meta or UNSET)]

    def _config(self, event: ConfigChanged) -> Updates:
        self._options = event.options
        return [v2_june.ConfigOptionUpdate(options_out(event.options), event.meta or UNSET)]

    def _mode(self, event: ModeChanged) -> Updates:
        options = with_mode(self._options, event.mode)
        return [] if options is None else self._config(ConfigChanged(options, event.meta))

    def _info(self, event: InfoChanged) -> Updates:
        return [v2_june.SessionInfoUpdate(event.title, event.updated_at, event.meta)]

    def _usage(self, event: UsageChanged) -> Updates:
        # A report without a cost would count as one that has none: the last one is said again.
        if event.cost is not UNSET:
            self._cost = event.cost
        cost = mapped(_cost, self._cost)
        if self._cost is None:
            self._cost = UNSET
        return [v2_june.UsageUpdate(event.used, event.size, cost, event.meta or UNSET)]

    def _compaction(self, _: CompactionChanged | CompactionChunk) -> Updates:
        return []

    def _state(self, _: StateChanged) -> Updates:
        # A turn ends with the answer to its prompt; before that, nothing may be held back any more.
        self._names.pause()
        return self.flush()

    def _unknown(self, event: UnknownUpdate) -> Updates:
        return [Unknown(event.tag, event.payload)]

    _SAYERS: ClassVar[dict[type, Callable[["Voice", Any], Updates]]] = {
        MessageChunk: _chunk,
        MessageChanged: _message,
        ToolChanged: _tool,
        ToolContentAdded: _tool_content,
        TerminalChanged: _terminal,
        TerminalOutput: _terminal_output,
        PlanChanged: _plan,
        CommandsChanged: _commands,
        ConfigChanged: _config,
        ModeChanged: _mode,
        InfoChanged: _info,
        UsageChanged: _usage,
        Noticed: _notice,
        CompactionChanged: _compaction,
        CompactionChunk: _compaction,
        StateChanged: _state,
        UnknownUpdate: _unknown,
    }


def _cost(cost: Cost) -> v2_june.Cost:
    return v2_june.Cost(cost.amount, cost.currency)
