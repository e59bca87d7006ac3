"""The common half of the update decoders: updates with the same meaning in every edition.

An update is found by its tag and not by its class, because the drafts' updates have classes of their own and the same
tags: the method `decode_usage_update` decodes what is tagged `usage_update`. Chunks of messages, of which a stream is
made nearly alone, are found by their class first.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from accord.protocol.model import UNSET, Unknown, wire_name
from accord.session.content import Text
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
    Noticed,
    PlanChanged,
    PlanEntry,
    Speaker,
    ToolContentAdded,
    UsageChanged,
)
from accord.session.unset import mapped, or_none, payload_of, unknown_update

__all__ = ["EditionDecoder"]

PREFIX = "decode_"


class EditionDecoder:
    """A client's decoder for one session; it is stateless, because the reader of the events folds them."""

    types: ClassVar[Any]
    blocks: ClassVar[BlockCodec]
    options: ClassVar[OptionCodec]
    items: ClassVar[ToolItemCodec]
    plan_id_field: ClassVar[str] = "plan_id"
    chunk_decoders: ClassVar[dict[type[Any], Callable[[Any], Event]]]
    _by_tag: ClassVar[dict[Any, Callable[[Any, Any], list[Event]]]]

    def __init_subclass__(cls) -> None:
        cls.chunk_decoders = {
            cls.types.UserMessageChunk: cls._chunk_decoder("user"),
            cls.types.AgentMessageChunk: cls._chunk_decoder("agent"),
            cls.types.AgentThoughtChunk: cls._chunk_decoder("thought"),
        }
        cls._by_tag = {
            **{kind.__struct_config__.tag: _listed(decode) for kind, decode in cls.chunk_decoders.items()},
            **{name.removeprefix(PREFIX): getattr(cls, name) for name in dir(cls) if name.startswith(PREFIX)},
        }

    def decode(self, update: Any) -> list[Event]:
        chunk = self.chunk_decoders.get(type(update))
        if chunk is not None:
            return [chunk(update)]
        if isinstance(update, Unknown):
            return [self._unknown(update)]
        decode = self._by_tag.get(type(update).__struct_config__.tag)
        return [unknown_update(update)] if decode is None else decode(self, update)

    # --- messages

    @classmethod
    def _chunk_decoder(cls, speaker: Speaker) -> Callable[[Any], Event]:
        plain, slow = cls.types.TextContent, cls._chunk

        def decode(update: Any) -> Event:
            content = update.content
            if type(content) is plain and not (update.meta or content.meta or content.annotations):
                # Nearly all chunks are so: this way takes a third of the other's time.
                message_id = update.message_id
                return MessageChunk(speaker, Text(content.text), None if message_id is UNSET else message_id)
            return slow(speaker, update)

        return decode

    @classmethod
    def _chunk(cls, speaker: Speaker, update: Any) -> Event:
        return MessageChunk(speaker, cls.blocks.decode(update.content), update.message_id, update.meta or None)

    def _message(self, speaker: Speaker, update: Any) -> Event:
        return MessageChanged(speaker, update.message_id, mapped(self.blocks.decode_all, update.content), update.meta)

    def decode_user_message(self, update: Any) -> list[Event]:
        return [self._message("user", update)]

    def decode_agent_message(self, update: Any) -> list[Event]:
        return [self._message("agent", update)]

    def decode_agent_thought(self, update: Any) -> list[Event]:
        return [self._message("thought", update)]

    def _unknown(self, update: Unknown) -> Event:
        return unknown_update(update)

    # --- tool calls

    def decode_tool_call_content_chunk(self, update: Any) -> list[Event]:
        """One item more of what a call shows."""
        meta = update.meta or None
        return [ToolContentAdded(update.tool_call_id, item, meta) for item in self.items.decode(update.content)]

    # --- the session

    def decode_plan_update(self, update: Any) -> list[Event]:
        plan = update.plan
        if isinstance(plan, self.types.PlanItems):
            meta = {**(plan.meta or {}), **(update.meta or {})} or None
            return [PlanChanged(self._entries(plan.entries), getattr(plan, self.plan_id_field), meta)]
        # v2 rule 60: a plan of another type replaces the entries under its id all the same.
        plan_id = payload_of(update)["plan"].get(wire_name(self.plan_id_field))
        replaced: list[Event] = [PlanChanged([], plan_id)] if isinstance(plan_id, str) else []
        return [*replaced, unknown_update(update)]

    def _entries(self, entries: list[Any]) -> list[PlanEntry]:
        return [PlanEntry(entry.content, entry.status, entry.priority, entry.meta or None) for entry in entries]

    def decode_available_commands_update(self, update: Any) -> list[Event]:
        return [CommandsChanged(self.options.decode_commands(update.available_commands), update.meta or None)]

    def decode_config_option_update(self, update: Any) -> list[Event]:
        return [ConfigChanged(self.options.decode(update.config_options), update.meta or None)]

    def decode_session_info_update(self, update: Any) -> list[Event]:
        return [InfoChanged(update.title, update.updated_at, update.meta)]

    def decode_usage_update(self, update: Any) -> list[Event]:
        return [UsageChanged(update.used, update.size, mapped(_cost, update.cost), update.meta or None)]

    def decode_notice(self, update: Any) -> list[Event]:
        return [Noticed(update.title, update.severity, or_none(update.description), update.meta or None)]

    def decode_compaction_update(self, update: Any) -> list[Event]:
        summary = mapped(self.blocks.decode_all, update.summary)
        return [CompactionChanged(update.compaction_id, update.status, summary, update.error, update.meta)]

    def decode_compaction_summary_chunk(self, update: Any) -> list[Event]:
        return [CompactionChunk(update.compaction_id, self.blocks.decode(update.content), update.meta or None)]


def _cost(cost: Any) -> Cost:
    return Cost(cost.amount, cost.currency, getattr(cost, "meta", None) or None)


def _listed(decode: Callable[[Any], Event]) -> Callable[[Any, Any], list[Event]]:
    return lambda _, update: [decode(update)]
