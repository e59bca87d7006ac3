"""How a client hears a session's updates in v1."""

from collections.abc import Callable
from typing import Any

from accord.protocol import v1
from accord.protocol.model import UNSET, Unknown
from accord.session.content import Text
from accord.session.dialect_v1.content import block_in, blocks_in
from accord.session.dialect_v1.message import chunk_in
from accord.session.dialect_v1.option import commands_in, options_in
from accord.session.dialect_v1.tool import tool_in
from accord.session.event import (
    CommandsChanged,
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Cost,
    Event,
    InfoChanged,
    MessageChunk,
    ModeChanged,
    Noticed,
    PlanChanged,
    PlanEntry,
    Speaker,
    UsageChanged,
)
from accord.session.nearest import meant_entry, meant_plan
from accord.session.presence import mapped, told
from accord.session.unheard import unheard

__all__ = ["Ear"]


class Ear:
    """One session's ear in v1; it remembers nothing, because every update says all there is to know."""

    def hear(self, update: v1.SessionUpdate) -> list[Event]:
        """The events that an update stands for."""
        chunk = _CHUNKS.get(type(update))
        if chunk is not None:
            return [chunk(update)]
        if isinstance(update, Unknown):
            return [unheard(update)]
        # By tag and not by class: the draft's updates have classes of their own and the same tags.
        hear = _HEARERS.get(type(update).__struct_config__.tag)
        return [hear(update) if hear is not None else unheard(update)]


def _chunk(speaker: Speaker) -> Callable[[v1.ContentChunk], Event]:
    def hear(update: v1.ContentChunk) -> Event:
        content = update.content
        if type(content) is v1.TextContent and not (update.meta or content.meta or content.annotations):
            # Nearly all that is ever said comes so.
            name = update.message_id
            return MessageChunk(speaker, Text(content.text), None if name is UNSET else name)
        return chunk_in(speaker, update)

    return hear


def _plan(update: v1.Plan) -> Event:
    entries = [
        meant_entry(PlanEntry(entry.content, entry.status, entry.priority, entry.meta or None))
        for entry in update.entries
    ]
    return meant_plan(PlanChanged(entries, meta=update.meta or None))


def _commands(update: v1.AvailableCommandsUpdate) -> Event:
    return CommandsChanged(commands_in(update.available_commands), update.meta or None)


def _mode(update: v1.CurrentModeUpdate) -> Event:
    return ModeChanged(update.current_mode_id, update.meta or None)


def _config(update: v1.ConfigOptionUpdate) -> Event:
    return ConfigChanged(options_in(update.config_options), update.meta or None)


def _info(update: v1.SessionInfoUpdate) -> Event:
    return InfoChanged(update.title, update.updated_at, update.meta)


def _usage(update: v1.UsageUpdate) -> Event:
    return UsageChanged(update.used, update.size, mapped(_cost, update.cost), update.meta or None)


def _cost(cost: v1.Cost) -> Cost:
    return Cost(cost.amount, cost.currency, cost.meta or None)


def _notice(update: v1.Notice) -> Event:
    return Noticed(update.title, update.severity, told(update.description), update.meta or None)


def _compaction(update: v1.CompactionUpdate) -> Event:
    summary = mapped(blocks_in, update.summary)
    return CompactionChanged(update.compaction_id, update.status, summary, update.error, update.meta)


def _compaction_chunk(update: v1.CompactionSummaryChunk) -> Event:
    return CompactionChunk(update.compaction_id, block_in(update.content), update.meta or None)


# What streams are made of.
_CHUNKS: dict[type[Any], Callable[[Any], Event]] = {
    v1.UserMessageChunk: _chunk("user"),
    v1.AgentMessageChunk: _chunk("agent"),
    v1.AgentThoughtChunk: _chunk("thought"),
}

_HEARERS: dict[str | int | None, Callable[[Any], Event]] = {
    **{kind.__struct_config__.tag: hear for kind, hear in _CHUNKS.items()},
    "tool_call": tool_in,
    "tool_call_update": tool_in,
    "plan": _plan,
    "available_commands_update": _commands,
    "current_mode_update": _mode,
    "config_option_update": _config,
    "session_info_update": _info,
    "usage_update": _usage,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _compaction_chunk,
}
