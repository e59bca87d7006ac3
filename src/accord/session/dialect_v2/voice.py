"""How an agent tells a session's events in v2."""

from collections.abc import Callable
from typing import Any, ClassVar

from accord.protocol import v2
from accord.protocol.model import UNSET, Unknown
from accord.session.capability import ClientCapabilities
from accord.session.dialect_v2.content import block_out, blocks_out
from accord.session.dialect_v2.option import commands_out, options_out
from accord.session.dialect_v2.state import draft_state_out, state_out
from accord.session.dialect_v2.terminal import output_out, terminal_out
from accord.session.dialect_v2.tool import item_out, tool_out
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
from accord.session.option import ConfigOption
from accord.session.presence import given, mapped

__all__ = ["DraftVoice", "Voice"]

Updates = list[v2.SessionUpdate]
CHUNKS: dict[Speaker, type[v2.UserMessageChunk | v2.AgentMessageChunk | v2.AgentThoughtChunk]] = {
    "user": v2.UserMessageChunk,
    "agent": v2.AgentMessageChunk,
    "thought": v2.AgentThoughtChunk,
}
MESSAGES: dict[Speaker, type[v2.UserMessage | v2.AgentMessage | v2.AgentThought]] = {
    "user": v2.UserMessage,
    "agent": v2.AgentMessage,
    "thought": v2.AgentThought,
}


class Voice:
    """One session's voice in v2, which asks for no capabilities: every client shows everything."""

    def __init__(self, capabilities: ClientCapabilities) -> None:  # noqa: ARG002 - the same for every edition
        self._names = Names()
        self._calls: set[str] = set()
        self._options: list[ConfigOption] = []
        self.client_terminals: set[str] = set()

    def say(self, event: Event) -> Updates:
        """The updates, in order, that tell an event."""
        return self._SAYERS[type(event)](self, event)

    def forget_messages(self) -> None:
        """The messages so far will not change any more."""

    def flush(self) -> Updates:
        """Nothing: what grows is told piece by piece."""
        return []

    # ── messages ──

    def _chunk(self, event: MessageChunk) -> Updates:
        if event.id is None:
            name = self._names.unnamed(event.speaker)
        else:
            name = event.id
            self._names.use(name)
        return [CHUNKS[event.speaker](name, block_out(event.block), event.meta or UNSET)]

    def _message(self, event: MessageChanged) -> Updates:
        self._names.use(event.id)
        return [MESSAGES[event.speaker](event.id, mapped(blocks_out, event.content), event.meta)]

    def _notice(self, event: Noticed) -> Updates:
        title, description = event.title or event.severity, given(event.description)
        return [v2.Notice(event.severity, title, description, event.meta or UNSET)]

    # ── tool calls and terminals ──

    def _tool(self, event: ToolChanged) -> Updates:
        self._names.pause()
        fields = tool_out(event, known=event.id in self._calls)
        self._calls.add(event.id)
        return [v2.ToolCallUpdated(event.id, **fields)]

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        self._names.pause()
        self._calls.add(event.id)
        return [v2.ToolCallContentChunk(event.id, item_out(event.content), event.meta or UNSET)]

    def _terminal(self, event: TerminalChanged) -> Updates:
        return [terminal_out(event)]

    def _terminal_output(self, event: TerminalOutput) -> Updates:
        return [output_out(event)]

    # ── the session ──

    def _plan(self, event: PlanChanged) -> Updates:
        entries = [
            v2.PlanEntry(entry.content, entry.priority, entry.status, entry.meta or UNSET) for entry in event.entries
        ]
        return [v2.PlanUpdate(v2.PlanItems(event.id, entries), event.meta or UNSET)]

    def _commands(self, event: CommandsChanged) -> Updates:
        return [v2.AvailableCommandsUpdate(commands_out(event.commands), event.meta or UNSET)]

    def _config(self, event: ConfigChanged) -> Updates:
        self._options = event.options
        return [v2.ConfigOptionUpdate(options_out(event.options), event.meta or UNSET)]

    def _mode(self, event: ModeChanged) -> Updates:
        options = with_mode(self._options, event.mode)
        return [] if options is None else self._config(ConfigChanged(options, event.meta))

    def _info(self, event: InfoChanged) -> Updates:
        return [v2.SessionInfoUpdate(event.title, event.updated_at, event.meta)]

    def _usage(self, event: UsageChanged) -> Updates:
        return [v2.UsageUpdate(event.used, event.size, mapped(_cost, event.cost), event.meta or UNSET)]

    def _compaction(self, event: CompactionChanged) -> Updates:
        summary = mapped(blocks_out, event.summary)
        return [v2.CompactionUpdate(event.id, event.status, summary, event.error, event.meta)]

    def _compaction_chunk(self, event: CompactionChunk) -> Updates:
        return [v2.CompactionSummaryChunk(event.id, block_out(event.block), event.meta or UNSET)]

    def _state(self, event: StateChanged) -> Updates:
        self._names.pause()
        return [state_out(event)]

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
        CompactionChunk: _compaction_chunk,
        StateChanged: _state,
        UnknownUpdate: _unknown,
    }


class DraftVoice(Voice):
    """The same where the unstable text is spoken: a state tells the token usage of the turn that ended."""

    def say(self, event: Event) -> Updates:
        """The updates, in order, that tell an event."""
        if isinstance(event, StateChanged):
            self._names.pause()
            return [draft_state_out(event)]  # type: ignore[list-item]  # a state as the unstable text has it
        return super().say(event)


def _cost(cost: Cost) -> v2.Cost:
    return v2.Cost(cost.amount, cost.currency, cost.meta or UNSET)
