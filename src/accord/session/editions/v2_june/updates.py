"""The updates of the June draft: the agent's encoder and the client's decoder."""

from typing import Any, ClassVar

from accord.protocol import v2_june
from accord.protocol.model import UNSET
from accord.session.downgrade import downgrade_open_entry, restore_entry, restore_notice
from accord.session.editions.shared.decoder import EditionDecoder
from accord.session.editions.shared.encoder import RepeatingEncoder, chunk_types, message_types
from accord.session.editions.v2_june.tools import BLOCKS, ITEMS, OPTIONS, decode_tool, encode_tool
from accord.session.event import (
    CompactionChanged,
    CompactionChunk,
    Cost,
    Event,
    MessageChanged,
    MessageChunk,
    PlanChanged,
    PlanEntry,
    Speaker,
    ToolChanged,
    ToolContentAdded,
)
from accord.session.meta_original import MessageOriginal, keep, recall
from accord.session.unset import mapped, or_unset

__all__ = ["JuneDecoder", "JuneEncoder"]

Updates = list[Any]
CHUNKS = chunk_types(v2_june)
MESSAGES = message_types(v2_june)
encode_block = BLOCKS.encode


class JuneEncoder(RepeatingEncoder):
    """One session's encoder in the June draft, which has no capabilities of clients and no states of sessions."""

    types: ClassVar[Any] = v2_june
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS

    # --- messages

    def _chunk(self, event: MessageChunk) -> Updates:
        if event.id is None:
            message_id, meta = self._ids.unnamed(event.speaker), event.meta
        else:
            message_id, meta = self._ids.of(event.speaker, event.id), event.meta
            if message_id != event.id:
                meta = keep(meta, MessageOriginal(event.id))
        return [CHUNKS[event.speaker](encode_block(event.block), message_id, meta or UNSET)]

    def _message(self, event: MessageChanged) -> Updates:
        message_id = self._ids.of(event.speaker, event.id)
        meta = event.meta if message_id == event.id else or_unset(keep(event.meta, MessageOriginal(event.id)))
        return [MESSAGES[event.speaker](message_id, mapped(BLOCKS.encode_all, event.content), meta)]

    # --- tool calls

    def _tool(self, event: ToolChanged) -> Updates:
        self._ids.call(event, is_new=not self._tools.knows(event.id))
        return [v2_june.ToolCallUpdated(event.id, **encode_tool(event, self._tools))]

    def _tool_content(self, event: ToolContentAdded) -> Updates:
        if not self._tools.knows(event.id):
            # Chunks alone would do, but a terminal that has shown nothing yet is no chunk.
            return self._tool(ToolChanged(event.id, content=[event.content]))
        self._tools.append(event)
        return [
            v2_june.ToolCallContentChunk(event.id, item, event.meta or UNSET)
            for item in ITEMS.encode_all(self._tools.plain(event.content))
        ]

    # --- the session

    def _plan(self, event: PlanChanged) -> Updates:
        entries = self._encode_entries([downgrade_open_entry(entry) for entry in event.entries])
        return [v2_june.PlanUpdate(v2_june.PlanItems(event.id, entries), event.meta or UNSET)]

    def _encode_cost(self, cost: Cost) -> v2_june.Cost:
        return v2_june.Cost(cost.amount, cost.currency)

    def _compaction(self, _: CompactionChanged) -> Updates:
        return []

    def _compaction_chunk(self, _: CompactionChunk) -> Updates:
        return []


class JuneDecoder(EditionDecoder):
    types: ClassVar[Any] = v2_june
    blocks = BLOCKS
    options = OPTIONS
    items = ITEMS
    plan_id_field = "id"

    @classmethod
    def _chunk(cls, speaker: Speaker, update: Any) -> Event:
        meta, original = recall(update.meta, MessageOriginal)
        if notice := restore_notice(original, meta):
            return notice
        message_id = original.id if original is not None else None
        return MessageChunk(speaker, BLOCKS.decode(update.content), message_id or update.message_id, meta)

    def _message(self, speaker: Speaker, update: Any) -> Event:
        meta, original = recall(update.meta, MessageOriginal)
        if original is None or original.id is None:
            return super()._message(speaker, update)
        return MessageChanged(speaker, original.id, mapped(BLOCKS.decode_all, update.content), or_unset(meta))

    def decode_tool_call_update(self, update: v2_june.ToolCallUpdated) -> list[Event]:
        return [decode_tool(update)]

    def _entries(self, entries: list[Any]) -> list[PlanEntry]:
        return [restore_entry(entry) for entry in super()._entries(entries)]
