"""How a client hears a session's updates in v2_june."""

from collections.abc import Callable
from typing import Any

from accord.protocol import v2_june
from accord.protocol.model import Unknown
from accord.session.content import Text
from accord.session.dialect_v2_june.content import block_in, blocks_in
from accord.session.dialect_v2_june.option import commands_in, options_in
from accord.session.dialect_v2_june.tool import item_in, tool_in
from accord.session.event import (
    CommandsChanged,
    ConfigChanged,
    Cost,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    PlanChanged,
    PlanEntry,
    Speaker,
    ToolContentAdded,
    UsageChanged,
)
from accord.session.nearest import meant_entry, meant_notice
from accord.session.original import MessageOriginal, recall
from accord.session.presence import given, mapped
from accord.session.unheard import unheard

__all__ = ["Ear"]


class Ear:
    """One session's ear in the June draft; it remembers nothing, because patches are folded by whoever listens."""

    def hear(self, update: v2_june.SessionUpdate) -> list[Event]:
        """The events that an update stands for."""
        return [unheard(update)] if isinstance(update, Unknown) else _HEARERS[type(update)](update)


def _chunk(speaker: Speaker) -> Callable[[v2_june.ContentChunk], list[Event]]:
    def hear(update: v2_june.ContentChunk) -> list[Event]:
        content = update.content
        if type(content) is v2_june.TextContent and not (update.meta or content.meta or content.annotations):
            # Nearly all that is ever said comes so.
            return [MessageChunk(speaker, Text(content.text), update.message_id)]
        meta, original = recall(update.meta, MessageOriginal)
        if notice := meant_notice(original, meta):
            return [notice]
        message_id = original.id if original is not None else None
        return [MessageChunk(speaker, block_in(update.content), message_id or update.message_id, meta)]

    return hear


def _message(speaker: Speaker) -> Callable[[v2_june.UserMessage], list[Event]]:
    def hear(update: v2_june.UserMessage) -> list[Event]:
        meta, original = recall(update.meta, MessageOriginal)
        content = mapped(blocks_in, update.content)
        if original is not None and original.id is not None:
            return [MessageChanged(speaker, original.id, content, given(meta))]
        return [MessageChanged(speaker, update.message_id, content, update.meta)]

    return hear


def _tool(update: v2_june.ToolCallUpdated) -> list[Event]:
    return [tool_in(update)]


def _tool_content(update: v2_june.ToolCallContentChunk) -> list[Event]:
    meta = update.meta or None
    return [ToolContentAdded(update.tool_call_id, item, meta) for item in item_in(update.content)]


def _plan(update: v2_june.PlanUpdate) -> list[Event]:
    plan = update.plan
    if isinstance(plan, v2_june.PlanItems):
        entries = [
            meant_entry(PlanEntry(entry.content, entry.status, entry.priority, entry.meta or None))
            for entry in plan.entries
        ]
        meta = {**(plan.meta or {}), **(update.meta or {})}
        return [PlanChanged(entries, plan.id, meta or None)]
    # As in v2 rule 60: a plan of another type replaces the entries under its id all the same.
    plan_id = plan.payload.get("id")
    replaced: list[Event] = [PlanChanged([], plan_id)] if isinstance(plan_id, str) else []
    return [*replaced, unheard(update)]


def _commands(update: v2_june.AvailableCommandsUpdate) -> list[Event]:
    return [CommandsChanged(commands_in(update.available_commands), update.meta or None)]


def _config(update: v2_june.ConfigOptionUpdate) -> list[Event]:
    return [ConfigChanged(options_in(update.config_options), update.meta or None)]


def _info(update: v2_june.SessionInfoUpdate) -> list[Event]:
    return [InfoChanged(update.title, update.updated_at, update.meta)]


def _usage(update: v2_june.UsageUpdate) -> list[Event]:
    return [UsageChanged(update.used, update.size, mapped(_cost, update.cost), update.meta or None)]


def _cost(cost: v2_june.Cost) -> Cost:
    return Cost(cost.amount, cost.currency)


_HEARERS: dict[type, Callable[[Any], list[Event]]] = {
    v2_june.UserMessageChunk: _chunk("user"),
    v2_june.AgentMessageChunk: _chunk("agent"),
    v2_june.AgentThoughtChunk: _chunk("thought"),
    v2_june.UserMessage: _message("user"),
    v2_june.AgentMessage: _message("agent"),
    v2_june.AgentThought: _message("thought"),
    v2_june.ToolCallUpdated: _tool,
    v2_june.ToolCallContentChunk: _tool_content,
    v2_june.PlanUpdate: _plan,
    v2_june.AvailableCommandsUpdate: _commands,
    v2_june.ConfigOptionUpdate: _config,
    v2_june.SessionInfoUpdate: _info,
    v2_june.UsageUpdate: _usage,
}
