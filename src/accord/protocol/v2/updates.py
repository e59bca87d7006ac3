"""The updates of a session: states, plans, usage, notices, compactions, and the union of all updates."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NonEmpty, Open, Sieved, UInt64, Wire
from accord.protocol.v2.config import AvailableCommandsUpdate, ConfigOptionUpdate
from accord.protocol.v2.connection import CompactionId, Error, PlanId, SessionId, TerminalId, ToolCallId
from accord.protocol.v2.content import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    ContentBlock,
    UserMessage,
    UserMessageChunk,
)
from accord.protocol.v2.session import SessionInfoUpdate
from accord.protocol.v2.tools import TerminalOutputChunk, TerminalUpdate, ToolCallContentChunk, ToolCallUpdated

# --- states


class BackgroundTerminal(Wire, tag_field="type", tag="terminal"):
    """Running process, listed only this way even if a tool call started it."""

    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class BackgroundToolCall(Wire, tag_field="type", tag="tool_call"):
    """Call that outlives the foreground; its final status comes before it is dropped."""

    tool_call_id: ToolCallId
    meta: Lenient[Maybe[Metadata]] = UNSET


BackgroundWork: TypeAlias = Open[BackgroundTerminal | BackgroundToolCall]


class RunningStateUpdate(Wire, tag_field="state", tag="running"):
    """Foreground work is going on, with or without a prompt that started it."""

    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ErrorStopReason(Wire, tag_field="stopReason", tag="error"):
    """The work failed; error absent or null means no details were given."""

    error: Lenient[Maybe[Error]] = UNSET


StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str


class IdleStateUpdate(Wire, tag_field="state", tag="idle"):
    """Nothing runs in the foreground; stopReason, if given, tells how the last work ended."""

    stop_reason: Lenient[Maybe[StopReason]] = UNSET
    error: Lenient[Maybe[Error]] = UNSET
    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class RequiresActionStateUpdate(Wire, tag_field="state", tag="requires_action"):
    """All foreground work waits for the user; running or idle must follow."""

    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


StateUpdate: TypeAlias = Open[RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate]


class StateUpdated(Wire, tag_field="sessionUpdate", tag="state_update"):
    """Whole foreground state in one flat object; stopReason and error only go with idle."""

    subtag: ClassVar[str] = "state"
    state: Literal["running", "idle", "requires_action"]
    stop_reason: Lenient[Maybe[StopReason]] = UNSET
    error: Lenient[Maybe[Error]] = UNSET
    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- plans

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"] | str
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"] | str


class PlanEntry(Wire):
    """One step of the plan, in words for the user; it has no id of its own."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus
    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanItems(Wire, tag_field="type", tag="items"):
    """Plan as a list of steps; all steps are sent each time."""

    plan_id: PlanId
    entries: Sieved[list[PlanEntry]]
    meta: Lenient[Maybe[Metadata]] = UNSET


PlanUpdateContent: TypeAlias = Open[PlanItems]


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """Replaces the plan with the same id, or adds it if the id is new."""

    plan: PlanUpdateContent
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
    | UserMessage
    | AgentMessageChunk
    | AgentMessage
    | AgentThoughtChunk
    | AgentThought
    | StateUpdated
    | ToolCallContentChunk
    | ToolCallUpdated
    | TerminalUpdate
    | TerminalOutputChunk
    | PlanUpdate
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
]


class UpdateSessionNotification(Wire):
    """May even come before the answer that tells the client its sessionId."""

    session_id: SessionId
    update: SessionUpdate
    meta: Lenient[Maybe[Metadata]] = UNSET
