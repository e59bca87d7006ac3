"""The common half of the update encoders: events that every edition writes in the same way.

`EditionEncoder` is the base of all editions, `RepeatingEncoder` of those in which a growing tool call and a cost can be
repeated only as a whole. The table from events to methods is made with the class of an edition: an event without a
method fails there and not when it first happens.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.capability import ClientCapabilities
from accord.session.downgrade import downgrade_notice
from accord.session.editions.shared.content import BlockCodec, OptionCodec
from accord.session.editions.shared.tools import ToolItemCodec
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
    PlanEntry,
    Speaker,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
)
from accord.session.option import ConfigOption, with_mode
from accord.session.tool_state import ToolStates
from accord.session.unset import mapped, or_unset

__all__ = ["EditionEncoder", "MessageIds", "RepeatingEncoder", "chunk_types", "message_types"]


_NOT_BEGUN = (UNSET, None, "pending")


class MessageIds:
    """The ids of messages on the wire of one session, where an edition cannot use the core's id or a message has none.

    The core's ids are unique per speaker. June and v1 want them unique across the session, June and v2 want one on
    every chunk. The same calls give the same names.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[Speaker, str], str] = {}
        """The names of messages that could not have their ids."""
        self._taken: dict[str, Speaker | None] = {}
        """Every name, and the speaker whose id it is."""
        self._open: tuple[Speaker, str] | None = None
        self._announced: set[str] = set()
        """The tool calls that came since the open message began."""

    def of(self, speaker: Speaker, message_id: str) -> str:
        """The name of a message: its id, unless another speaker has used that."""
        self._open = None
        # First the id that is new, as all of a replay are: no other lookup is needed for it.
        if message_id not in self._taken:
            self._taken[message_id] = speaker
            return message_id
        name = self._names.get((speaker, message_id))
        if name is None and self._taken[message_id] == speaker:
            return message_id
        return name or self.renew(speaker, message_id)

    def use(self, message_id: str) -> None:
        """Note an id that stays unchanged, because the edition's ids are unique per speaker."""
        self._open = None
        self._taken.setdefault(message_id, None)

    def renew(self, speaker: Speaker, message_id: str) -> str:
        """A new name for a message; chunks under it are not taken for more of the old one."""
        if message_id not in self._taken:
            self._taken[message_id] = speaker
            return message_id
        name = self._names[speaker, message_id] = self.fresh(f"{speaker}-{message_id}")
        return name

    def unnamed(self, speaker: Speaker) -> str:
        """The name for a chunk without an id: that of the chunk before, if nothing came between."""
        if self._open is None or self._open[0] != speaker:
            self._open = (speaker, self.fresh(speaker))
            self._announced.clear()
        return self._open[1]

    def pause(self) -> None:
        """Note another event: a later chunk without an id starts another message."""
        self._open = None

    def call(self, event: ToolChanged | ToolContentAdded, *, is_new: bool) -> None:
        """A tool call that begins separates the messages without ids around it, as in a transcript.

        An announcement does not, nor news of a call that was there before the message.
        """
        if is_new:
            self._announced.add(event.id)
        begins = type(event) is ToolChanged and event.status not in _NOT_BEGUN
        if begins and event.id in self._announced:
            self.pause()

    def fresh(self, stem: str) -> str:
        """An id that is not used yet."""
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._taken[name] = None
        return name


Updates = list[Any]

METHODS: dict[type, str] = {
    MessageChunk: "_chunk",
    MessageChanged: "_message",
    ToolChanged: "_tool",
    ToolContentAdded: "_tool_content",
    TerminalChanged: "_terminal",
    TerminalOutput: "_terminal_output",
    PlanChanged: "_plan",
    CommandsChanged: "_commands",
    ConfigChanged: "_config",
    ModeChanged: "_mode",
    InfoChanged: "_info",
    UsageChanged: "_usage",
    Noticed: "_notice",
    CompactionChanged: "_compaction",
    CompactionChunk: "_compaction_chunk",
    StateChanged: "_state",
    UnknownUpdate: "_unknown",
}


def chunk_types(types: Any) -> dict[Speaker, Any]:
    """The edition's types of message chunks, by speaker."""
    return {"user": types.UserMessageChunk, "agent": types.AgentMessageChunk, "thought": types.AgentThoughtChunk}


def message_types(types: Any) -> dict[Speaker, Any]:
    """The edition's types of whole messages, by speaker."""
    return {"user": types.UserMessage, "agent": types.AgentMessage, "thought": types.AgentThought}


class EditionEncoder:
    types: ClassVar[Any]
    blocks: ClassVar[BlockCodec]
    options: ClassVar[OptionCodec]
    items: ClassVar[ToolItemCodec]
    shows_states: ClassVar[bool] = True
    _methods: ClassVar[dict[type, Callable[[Any, Any], Updates]]]

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        if not abstract:
            cls._methods = {event: getattr(cls, name) for event, name in METHODS.items()}

    def __init__(self, capabilities: ClientCapabilities) -> None:
        self._capabilities = capabilities
        self._ids = MessageIds()
        self._options: list[ConfigOption] = []
        self.client_terminals: set[str] = set()

    def encode(self, event: Event) -> Updates:
        return self._methods[type(event)](self, event)

    def encode_into(self, updates: Updates, events: Iterator[Event]) -> None:
        """Append the updates of several events to a list."""
        for event in events:
            updates += self.encode(event)

    def forget_messages(self) -> None:
        """The messages so far will not change any more."""

    @property
    def holds_back(self) -> bool:
        """Whether updates are held back: never."""
        return False

    def flush(self) -> Updates:
        """The updates that were held back: none."""
        return []

    def _notice(self, event: Noticed) -> Updates:
        return [self._encode_notice(event)]

    def _encode_notice(self, event: Noticed) -> Any:
        title, description = event.title or event.severity, or_unset(event.description)
        return self.types.Notice(event.severity, title, description, event.meta or UNSET)

    def _commands(self, event: CommandsChanged) -> Updates:
        commands = self.options.encode_commands(event.commands)
        return [self.types.AvailableCommandsUpdate(commands, event.meta or UNSET)]

    def _config(self, event: ConfigChanged) -> Updates:
        self._options = event.options
        return [self.types.ConfigOptionUpdate(self.options.encode(event.options), event.meta or UNSET)]

    def _mode(self, event: ModeChanged) -> Updates:
        options = with_mode(self._options, event.mode)
        return [] if options is None else self._config(ConfigChanged(options, event.meta))

    def _info(self, event: InfoChanged) -> Updates:
        return [self.types.SessionInfoUpdate(event.title, event.updated_at, event.meta)]

    def _usage(self, event: UsageChanged) -> Updates:
        cost = mapped(self._encode_cost, event.cost)
        return [self.types.UsageUpdate(event.used, event.size, cost, event.meta or UNSET)]

    def _encode_cost(self, cost: Cost) -> Any:
        return self.types.Cost(cost.amount, cost.currency, cost.meta or UNSET)

    def _encode_entries(self, entries: list[PlanEntry]) -> list[Any]:
        kind = self.types.PlanEntry
        return [kind(entry.content, entry.priority, entry.status, entry.meta or UNSET) for entry in entries]

    def _compaction(self, event: CompactionChanged) -> Updates:
        summary = mapped(self.blocks.encode_all, event.summary)
        return [self.types.CompactionUpdate(event.id, event.status, summary, event.error, event.meta)]

    def _compaction_chunk(self, event: CompactionChunk) -> Updates:
        block = self.blocks.encode(event.block)
        return [self.types.CompactionSummaryChunk(event.id, block, event.meta or UNSET)]

    def _unknown(self, event: UnknownUpdate) -> Updates:
        return [Unknown(event.tag, event.payload)]


class RepeatingEncoder(EditionEncoder, abstract=True):
    """The encoder of an edition without terminals of the agent, where a call's content or a cost is repeated whole."""

    shows_states: ClassVar[bool] = False

    def __init__(self, capabilities: ClientCapabilities) -> None:
        super().__init__(capabilities)
        self._tools = ToolStates()
        self._cost: Maybe[Cost] = UNSET
        self.client_terminals = self._tools.client_terminals

    @property
    def holds_back(self) -> bool:
        """Whether something of a growing tool call is held back."""
        return self._tools.holds_back

    def flush(self) -> Updates:
        """The updates of growing tool calls that were held back."""
        return [self._repeat(call_id) for call_id in self._tools.held()]

    def _repeat(self, call_id: str, meta: dict[str, Any] | None = None) -> Any:
        items = self.items.encode_all(self._tools.show(call_id))
        return self.types.ToolCallUpdated(call_id, content=items, meta=meta or UNSET)

    def _notice(self, event: Noticed) -> Updates:
        text, meta = downgrade_notice(event)
        message_id = self._ids.fresh("notice")
        return [self.types.AgentMessageChunk(self.blocks.encode(text), message_id, meta or UNSET)]

    def _terminal(self, event: TerminalChanged) -> Updates:
        return [self._repeat(call_id) for call_id in self._tools.change_terminal(event)]

    def _terminal_output(self, event: TerminalOutput) -> Updates:
        return [self._repeat(call_id) for call_id in self._tools.print(event)]

    def _usage(self, event: UsageChanged) -> Updates:
        # A report without a cost would count as one that has none: the last one is repeated.
        if event.cost is not UNSET:
            self._cost = event.cost
        cost = mapped(self._encode_cost, self._cost)
        if self._cost is None:
            self._cost = UNSET
        return [self.types.UsageUpdate(event.used, event.size, cost, event.meta or UNSET)]

    def _state(self, _: StateChanged) -> Updates:
        # A turn ends with the answer to its prompt; before that, nothing may be held back any more.
        self._ids.pause()
        return self.flush()
