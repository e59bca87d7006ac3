"""The updates of v1: how an agent encodes a session's events, and how a client decodes them."""

from typing import Any, ClassVar

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.session.capability import ClientCapabilities
from accord.session.downgrade import JoinedPlans, downgrade_entry, restore_entry, restore_plan
from accord.session.editions.shared.decoder import EditionDecoder
from accord.session.editions.shared.encoder import RepeatingEncoder
from accord.session.editions.v1.content import BLOCKS, OPTIONS
from accord.session.editions.v1.messages import Messages, decode_chunk
from accord.session.editions.v1.tools import ITEMS, decode_tool, encode_tool
from accord.session.event import (
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Event,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    Noticed,
    PlanChanged,
    PlanEntry,
    Speaker,
    ToolChanged,
    ToolContentAdded,
)
from accord.session.mode import mode_option, with_mode
from accord.session.unset import or_unset

__all__ = ["V1Decoder", "V1Encoder"]

Updates = list[Any]


class V1Encoder(RepeatingEncoder):
    """One session's encoder in v1; what it writes depends on what the client can do."""

    types: ClassVar[Any] = v1
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    def __init__(self, capabilities: ClientCapabilities) -> None:
        super().__init__(capabilities)
        self._messages = Messages(self._ids)
        self._plans = JoinedPlans()
        self._current_mode: str | None = None

    def encode(self, event: Event) -> Updates:
        """The updates, in order, that tell an event."""
        if type(event) is MessageChunk:
            return self._messages.chunk(event)
        return self._methods[type(event)](self, event)

    def forget_messages(self) -> None:
        """The messages so far will not change any more."""
        self._messages.forget()

    # --- messages

    def _chunk(self, event: MessageChunk) -> Updates:
        return self._messages.chunk(event)

    def _message(self, event: MessageChanged) -> Updates:
        return self._messages.whole(event)

    def _notice(self, event: Noticed) -> Updates:
        # v1 rule 34: without the capability it is a message of the agent.
        return [self._encode_notice(event)] if self._capabilities.notices else super()._notice(event)

    # --- tool calls

    def _tool(self, event: ToolChanged) -> Updates:
        first = event.created or not self._tools.knows(event.id)
        fields = encode_tool(event, self._tools)
        if first:
            return [v1.ToolCall(event.id, **fields)]
        return [v1.ToolCallUpdated(event.id, **fields)] if fields else []

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        if not self._tools.knows(event.id):
            return self._tool(ToolChanged(event.id, content=[event.content], meta=or_unset(event.meta)))
        return [self._repeat(event.id, event.meta)] if self._tools.add(event) else []

    # --- the session

    def _plan(self, event: PlanChanged) -> Updates:
        plan = self._plans.join(event)
        entries = self._encode_entries([downgrade_entry(entry) for entry in plan.entries])
        return [v1.Plan(entries, plan.meta or UNSET)]

    def _config(self, event: ConfigChanged) -> Updates:
        self._options = event.options
        options = OPTIONS.encode(event.options, toggles=self._capabilities.toggles)
        updates: Updates = [v1.ConfigOptionUpdate(options, event.meta or UNSET)]
        option = mode_option(event.options)
        # v1 rule 55: the older modes and the option are kept in step.
        if option is not None and option.value != self._current_mode:
            self._current_mode = option.value
            updates.append(v1.CurrentModeUpdate(option.value))
        return updates

    def _mode(self, event: ModeChanged) -> Updates:
        self._current_mode = event.mode
        updates: Updates = [v1.CurrentModeUpdate(event.mode, event.meta or UNSET)]
        options = with_mode(self._options, event.mode)
        if options is not None:
            updates += self._config(ConfigChanged(options))
        return updates

    def _compaction(self, event: CompactionChanged) -> Updates:
        return super()._compaction(event) if self._capabilities.compaction else []

    def _compaction_chunk(self, event: CompactionChunk) -> Updates:
        return super()._compaction_chunk(event) if self._capabilities.compaction else []


class V1Decoder(EditionDecoder):
    """One session's decoder in v1: every update says all there is to know."""

    types: ClassVar[Any] = v1
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    @classmethod
    def _chunk(cls, speaker: Speaker, update: Any) -> Event:
        return decode_chunk(speaker, update)

    def decode_tool_call(self, update: v1.ToolCall) -> list[Event]:
        """A call, started anew."""
        return [decode_tool(update)]

    def decode_tool_call_update(self, update: v1.ToolCallUpdated) -> list[Event]:
        """What changed of a call."""
        return [decode_tool(update)]

    def decode_plan(self, update: v1.Plan) -> list[Event]:
        """The one plan."""
        return [restore_plan(PlanChanged(self._entries(update.entries), meta=update.meta or None))]

    def _entries(self, entries: list[Any]) -> list[PlanEntry]:
        return [restore_entry(entry) for entry in super()._entries(entries)]

    def decode_current_mode_update(self, update: v1.CurrentModeUpdate) -> list[Event]:
        """Another mode."""
        return [ModeChanged(update.current_mode_id, update.meta or None)]
