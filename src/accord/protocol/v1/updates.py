"""The updates of a session: plans, usage, notices, compactions, and the union of all updates."""

from __future__ import annotations

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Closed, Lenient, Maybe, Metadata, NonEmpty, Open, Sieved, UInt64, Wire
from accord.protocol.v1.config import AvailableCommandsUpdate, ConfigOptionUpdate, CurrentModeUpdate
from accord.protocol.v1.connection import CompactionId, SessionId
from accord.protocol.v1.content import AgentMessageChunk, AgentThoughtChunk, ContentBlock, UserMessageChunk
from accord.protocol.v1.session import SessionInfoUpdate
from accord.protocol.v1.tools import ToolCall, ToolCallUpdated

# --- plans

PlanEntryPriority: TypeAlias = Closed[Literal["high", "medium", "low"] | str]
PlanEntryStatus: TypeAlias = Closed[Literal["pending", "in_progress", "completed"] | str]


class PlanEntry(Wire):
    """One step of the plan, in words for the user; it has no id of its own."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    meta: Lenient[Maybe[Metadata]] = UNSET


class Plan(Wire, tag_field="sessionUpdate", tag="plan"):
    """The whole list each time; the client drops what it had before."""

    entries: Lenient[Sieved[list[PlanEntry]]]
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- usage


class Cost(Wire):
    """Running total of the session, not of one turn; currency is usually an ISO 4217 code."""

    amount: float
    currency: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class UsageUpdate(Wire, tag_field="sessionUpdate", tag="usage_update"):
    """used and size are tokens of the context window; cost is the session's running total."""

    used: UInt64
    size: UInt64
    cost: Lenient[Maybe[Cost]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- notices and compactions

NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str


class Notice(Wire, tag_field="sessionUpdate", tag="notice"):
    """News for the user outside the transcript; may go unseen and is never replayed."""

    severity: NoticeSeverity
    title: NonEmpty[str]
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str


class CompactionUpdate(Wire, tag_field="sessionUpdate", tag="compaction_update"):
    """The first one for an id fixes its place in the history; later ones patch it."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    error: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class CompactionSummaryChunk(Wire, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """One block to append to the summary, only while it is in progress."""

    compaction_id: CompactionId
    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- updates

SessionUpdate: TypeAlias = Open[
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdated
    | Plan
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
]


class SessionNotification(Wire):
    """session/update from the agent; can also come while no prompt is pending."""

    session_id: SessionId
    update: SessionUpdate
    meta: Lenient[Maybe[Metadata]] = UNSET
