"""How a client hears a session's updates in v2."""

from collections.abc import Callable
from typing import Any

from accord.protocol import v2
from accord.protocol.model import Unknown
from accord.session.content import Text
from accord.session.dialect_v2.content import block_in, blocks_in
from accord.session.dialect_v2.option import commands_in, options_in
from accord.session.dialect_v2.state import state_in, unknown_state_in
from accord.session.dialect_v2.terminal import output_in, terminal_in
from accord.session.dialect_v2.tool import item_in, tool_in
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
from accord.session.presence import mapped, told
from accord.session.unheard import payload_of, unheard

__all__ = ["Ear"]

SPEAKERS: dict[str, Speaker] = {"user_message": "user", "agent_message": "agent", "agent_thought": "thought"}


class Ear:
    """One session's ear in v2; it remembers nothing, because patches are folded by whoever listens."""

    def hear(self, update: v2.SessionUpdate) -> list[Event]:
        """The events that an update stands for."""
        chunk = _CHUNKS.get(type(update))
        if chunk is not None:
            return [chunk(update)]
        if isinstance(update, Unknown):
            return [_unknown(update)]
        # By tag and not by class: the draft's updates have classes of their own and the same tags.
        tag = str(type(update).__struct_config__.tag)
        if tag == "plan_update":
            return _plan(update)  # type: ignore[arg-type]  # by its tag
        hear = _HEARERS.get(tag)
        return [hear(update) if hear is not None else unheard(update)]


def _unknown(update: Unknown) -> Event:
    # The state is a second tag: an unknown one makes the whole update unknown.
    if update.payload.get("sessionUpdate") == "state_update":
        return unknown_state_in(update.payload)
    return unheard(update)


def _chunk(speaker: Speaker) -> Callable[[v2.ContentChunk], Event]:
    def hear(update: v2.ContentChunk) -> Event:
        content = update.content
        if type(content) is v2.TextContent and not (update.meta or content.meta or content.annotations):
            # Nearly all that is ever said comes so.
            return MessageChunk(speaker, Text(content.text), update.message_id)
        return MessageChunk(speaker, block_in(update.content), update.message_id, update.meta or None)

    return hear


def _message(speaker: Speaker) -> Callable[[v2.UserMessage], Event]:
    def hear(update: v2.UserMessage) -> Event:
        return MessageChanged(speaker, update.message_id, mapped(blocks_in, update.content), update.meta)

    return hear


def _tool_content(update: v2.ToolCallContentChunk) -> Event:
    return ToolContentAdded(update.tool_call_id, item_in(update.content), update.meta or None)


def _plan(update: v2.PlanUpdate) -> list[Event]:
    plan = update.plan
    meta = {**(getattr(plan, "meta", None) or {}), **(update.meta or {})} or None
    if isinstance(plan, v2.PlanItems):
        entries = [PlanEntry(entry.content, entry.status, entry.priority, entry.meta or None) for entry in plan.entries]
        return [PlanChanged(entries, plan.plan_id, meta)]
    # v2 rule 60: a plan of another type replaces the entries under its id all the same.
    plan_id = payload_of(update)["plan"].get("planId")
    replaced: list[Event] = [PlanChanged([], plan_id)] if isinstance(plan_id, str) else []
    return [*replaced, unheard(update)]


def _commands(update: v2.AvailableCommandsUpdate) -> Event:
    return CommandsChanged(commands_in(update.available_commands), update.meta or None)


def _config(update: v2.ConfigOptionUpdate) -> Event:
    return ConfigChanged(options_in(update.config_options), update.meta or None)


def _info(update: v2.SessionInfoUpdate) -> Event:
    return InfoChanged(update.title, update.updated_at, update.meta)


def _usage(update: v2.UsageUpdate) -> Event:
    return UsageChanged(update.used, update.size, mapped(_cost, update.cost), update.meta or None)


def _cost(cost: v2.Cost) -> Cost:
    return Cost(cost.amount, cost.currency, cost.meta or None)


def _notice(update: v2.Notice) -> Event:
    return Noticed(update.title, update.severity, told(update.description), update.meta or None)


def _compaction(update: v2.CompactionUpdate) -> Event:
    summary = mapped(blocks_in, update.summary)
    return CompactionChanged(update.compaction_id, update.status, summary, update.error, update.meta)


def _compaction_chunk(update: v2.CompactionSummaryChunk) -> Event:
    return CompactionChunk(update.compaction_id, block_in(update.content), update.meta or None)


# What streams are made of.
_CHUNKS: dict[type[Any], Callable[[Any], Event]] = {
    v2.UserMessageChunk: _chunk("user"),
    v2.AgentMessageChunk: _chunk("agent"),
    v2.AgentThoughtChunk: _chunk("thought"),
}

_HEARERS: dict[str, Callable[[Any], Event]] = {
    **{str(kind.__struct_config__.tag): hear for kind, hear in _CHUNKS.items()},
    **{tag: _message(speaker) for tag, speaker in SPEAKERS.items()},
    "state_update": state_in,
    "tool_call_update": tool_in,
    "tool_call_content_chunk": _tool_content,
    "terminal_update": terminal_in,
    "terminal_output_chunk": output_in,
    "available_commands_update": _commands,
    "config_option_update": _config,
    "session_info_update": _info,
    "usage_update": _usage,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _compaction_chunk,
}
