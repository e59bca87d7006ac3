"""The updates of a session: plans, usage, and the union of all updates."""

from __future__ import annotations

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Sieved, UInt64, Wire
from accord.protocol.v2_june.config import AvailableCommandsUpdate, ConfigOptionUpdate
from accord.protocol.v2_june.connection import PlanId, SessionId
from accord.protocol.v2_june.content import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    UserMessage,
    UserMessageChunk,
)
from accord.protocol.v2_june.session import SessionInfoUpdate
from accord.protocol.v2_june.tools import ToolCallContentChunk, ToolCallUpdated

# --- plans

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"] | str
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"] | str


class PlanEntry(Wire):
    """One step of the plan, in words for the user; it has no id of its own."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    meta: Maybe[Metadata] = UNSET


class PlanItems(Wire, tag_field="type", tag="items"):
    """Plan as a list of steps; all steps are sent each time."""

    id: PlanId
    entries: Lenient[Sieved[list[PlanEntry]]]
    meta: Maybe[Metadata] = UNSET


PlanUpdateContent: TypeAlias = Open[PlanItems]


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """Replaces the plan with the same id, or adds it if the id is new."""

    plan: PlanUpdateContent
    meta: Maybe[Metadata] = UNSET


# --- usage


class Cost(Wire):
    """Running total of the session, not of one turn; currency is usually an ISO 4217 code."""

    amount: float
    currency: str


class UsageUpdate(Wire, tag_field="sessionUpdate", tag="usage_update"):
    """used and size are tokens of the context window; cost is the session's running total."""

    used: UInt64
    size: UInt64
    cost: Lenient[Maybe[Cost]] = UNSET
    meta: Maybe[Metadata] = UNSET


# --- updates

SessionUpdate: TypeAlias = Open[
    UserMessageChunk
    | UserMessage
    | AgentMessageChunk
    | AgentMessage
    | AgentThoughtChunk
    | AgentThought
    | ToolCallContentChunk
    | ToolCallUpdated
    | PlanUpdate
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
]


class SessionNotification(Wire):
    """session/update from the agent; can also come while no prompt is pending."""

    session_id: SessionId
    update: SessionUpdate
    meta: Maybe[Metadata] = UNSET
