"""How an agent tells a session's events in v1."""

from collections.abc import Callable
from typing import Any, ClassVar

from accord.protocol import v1
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.board import Board
from accord.session.capability import ClientCapabilities
from accord.session.dialect_v1.content import block_out, blocks_out
from accord.session.dialect_v1.message import Messages, chunk_out
from accord.session.dialect_v1.option import commands_out, options_out
from accord.session.dialect_v1.tool import items_out, tool_out
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
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
)
from accord.session.mode import mode_option, with_mode
from accord.session.naming import Names
from accord.session.nearest import Plans, known_entry, plain_notice
from accord.session.option import ConfigOption
from accord.session.presence import given, mapped

__all__ = ["Voice"]

Updates = list[v1.SessionUpdate]


class Voice:
    """One session's voice in v1; what it says depends on what the client can do."""

    def __init__(self, capabilities: ClientCapabilities) -> None:
        self._capabilities = capabilities
        self._names = Names()
        self._messages = Messages(self._names)
        self._board = Board()
        self._plans = Plans()
        self._options: list[ConfigOption] = []
        self._mode: str | None = None
        self._cost: Maybe[Cost] = UNSET
        self.client_terminals = self._board.client_terminals

    def say(self, event: Event) -> Updates:
        """The updates, in order, that tell an event."""
        if type(event) is MessageChunk:
            return self._messages.chunk(event)
        return self._SAYERS[type(event)](self, event)

    def forget_messages(self) -> None:
        """The messages so far will not change any more."""
        self._messages.forget()

    def flush(self) -> Updates:
        """What was held back of growing tool calls."""
        return [self._repeat(call_id) for call_id in self._board.held()]

    # ── messages ──

    def _message(self, event: MessageChanged) -> Updates:
        return self._messages.whole(event)

    def _notice(self, event: Noticed) -> Updates:
        if self._capabilities.notices:
            title, description = event.title or event.severity, given(event.description)
            return [v1.Notice(event.severity, title, description, event.meta or UNSET)]
        # v1 rule 34: without the capability it is a message of the agent.
        text, meta = plain_notice(event)
        return [chunk_out("agent", text, self._names.fresh("notice"), meta)]

    # ── tool calls and terminals ──

    def _tool(self, event: ToolChanged) -> Updates:
        first = event.created or not self._board.knows(event.id)
        fields = tool_out(event, self._board)
        if first:
            return [v1.ToolCall(event.id, **fields)]
        return [v1.ToolCallUpdated(event.id, **fields)] if fields else []

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        if not self._board.knows(event.id):
            return self._tool(ToolChanged(event.id, content=[event.content], meta=given(event.meta)))
        return [self._repeat(event.id, event.meta)] if self._board.add(event) else []

    def _repeat(self, call_id: str, meta: dict[str, Any] | None = None) -> v1.SessionUpdate:
        return v1.ToolCallUpdated(call_id, content=items_out(self._board.show(call_id)), meta=meta or UNSET)

    def _terminal(self, event: TerminalChanged) -> Updates:
        return [self._repeat(call_id) for call_id in self._board.change_terminal(event)]

    def _terminal_output(self, event: TerminalOutput) -> Updates:
        return [self._repeat(call_id) for call_id in self._board.print(event)]

    # ── the session ──

    def _plan(self, event: PlanChanged) -> Updates:
        plan = self._plans.join(event)
        entries = [
            v1.PlanEntry(entry.content, entry.priority, entry.status, entry.meta or UNSET)
            for entry in map(known_entry, plan.entries)
        ]
        return [v1.Plan(entries, plan.meta or UNSET)]

    def _commands(self, event: CommandsChanged) -> Updates:
        return [v1.AvailableCommandsUpdate(commands_out(event.commands), event.meta or UNSET)]

    def _config(self, event: ConfigChanged) -> Updates:
        self._options = event.options
        options = options_out(event.options, toggles=self._capabilities.toggles)
        updates: Updates = [v1.ConfigOptionUpdate(options, event.meta or UNSET)]
        option = mode_option(event.options)
        # v1 rule 55: the older modes and the option are kept in step.
        if option is not None and option.value != self._mode:
            self._mode = option.value
            updates.append(v1.CurrentModeUpdate(option.value))
        return updates

    def _current_mode(self, event: ModeChanged) -> Updates:
        self._mode = event.mode
        updates: Updates = [v1.CurrentModeUpdate(event.mode, event.meta or UNSET)]
        options = with_mode(self._options, event.mode)
        if options is not None:
            updates += self._config(ConfigChanged(options))
        return updates

    def _info(self, event: InfoChanged) -> Updates:
        return [v1.SessionInfoUpdate(event.title, event.updated_at, event.meta)]

    def _usage(self, event: UsageChanged) -> Updates:
        # A report without a cost would count as one that has none: the last one is said again.
        if event.cost is not UNSET:
            self._cost = event.cost
        cost: Maybe[v1.Cost] = UNSET
        if self._cost is None:
            cost, self._cost = None, UNSET
        elif self._cost is not UNSET:
            cost = v1.Cost(self._cost.amount, self._cost.currency, self._cost.meta or UNSET)
        return [v1.UsageUpdate(event.used, event.size, cost, event.meta or UNSET)]

    def _compaction(self, event: CompactionChanged) -> Updates:
        if not self._capabilities.compaction:
            return []
        summary = mapped(blocks_out, event.summary)
        return [v1.CompactionUpdate(event.id, event.status, summary, event.error, event.meta)]

    def _compaction_chunk(self, event: CompactionChunk) -> Updates:
        if not self._capabilities.compaction:
            return []
        return [v1.CompactionSummaryChunk(event.id, block_out(event.block), event.meta or UNSET)]

    def _state(self, _: StateChanged) -> Updates:
        # A turn ends with the answer to its prompt; before that, nothing may be held back any more.
        return self.flush()

    def _unknown(self, event: UnknownUpdate) -> Updates:
        return [Unknown(event.tag, event.payload)]

    _SAYERS: ClassVar[dict[type, Callable[["Voice", Any], Updates]]] = {
        MessageChanged: _message,
        ToolChanged: _tool,
        ToolContentAdded: _tool_content,
        TerminalChanged: _terminal,
        TerminalOutput: _terminal_output,
        PlanChanged: _plan,
        CommandsChanged: _commands,
        ConfigChanged: _config,
        ModeChanged: _current_mode,
        InfoChanged: _info,
        UsageChanged: _usage,
        Noticed: _notice,
        CompactionChanged: _compaction,
        CompactionChunk: _compaction_chunk,
        StateChanged: _state,
        UnknownUpdate: _unknown,
    }
