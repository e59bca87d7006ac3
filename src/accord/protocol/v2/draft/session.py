"""Unstable extras of a session: its methods, states, plans, subagents and updates."""

from typing import ClassVar, Literal, TypeAlias

from accord.protocol.draft_types import (
    SessionArchiveFilter,
    SessionStatus,
    SubagentSessionCapabilities,
    SystemPromptMode,
    Usage,
)
from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, Omittable, Open, Sieved, Wire
from accord.protocol.v2.config import AvailableCommand, AvailableCommandsUpdate, ConfigOptionUpdate, SessionConfigOption
from accord.protocol.v2.connection import AbsolutePath, Error, MessageId, PlanId, SessionId, SessionListCursor
from accord.protocol.v2.content import AgentMessage, AgentThought, ContentBlock, ContentChunk, UserMessage
from accord.protocol.v2.draft.connection import McpServer
from accord.protocol.v2.session import ReplayFrom, SessionInfoUpdate
from accord.protocol.v2.tools import TerminalOutputChunk, TerminalUpdate, ToolCallContentChunk, ToolCallUpdate
from accord.protocol.v2.updates import (
    BackgroundTerminal,
    BackgroundToolCall,
    CompactionSummaryChunk,
    CompactionUpdate,
    Notice,
    PlanItems,
    UsageUpdate,
)

# --- states


class BackgroundSubagent(Wire, tag_field="type", tag="subagent"):
    """Child session at work, announced earlier by subagent_update."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


BackgroundWork: TypeAlias = Open[BackgroundTerminal | BackgroundToolCall | BackgroundSubagent]


class RunningStateUpdate(Wire, tag_field="state", tag="running"):
    """Foreground work is going on, with or without a prompt that started it."""

    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str


class IdleStateUpdate(Wire, tag_field="state", tag="idle"):
    """Nothing runs in the foreground; stopReason, if given, tells how the last work ended."""

    stop_reason: Lenient[Maybe[StopReason]] = UNSET
    error: Lenient[Maybe[Error]] = UNSET
    usage: Lenient[Maybe[Usage]] = UNSET
    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class RequiresActionStateUpdate(Wire, tag_field="state", tag="requires_action"):
    """All foreground work waits for the user; running or idle must follow."""

    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class UnknownStateUpdate(Wire, tag_field="state", tag="unknown"):
    """The agent cannot tell what goes on; neither idle nor a reason to drop requests."""

    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


StateUpdate: TypeAlias = Open[RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate]


class StateUpdated(Wire, tag_field="sessionUpdate", tag="state_update"):
    """Whole foreground state in one flat object; stopReason and error only go with idle."""

    subtag: ClassVar[str] = "state"
    state: Literal["running", "idle", "requires_action", "unknown"]
    stop_reason: Lenient[Maybe[StopReason]] = UNSET
    error: Lenient[Maybe[Error]] = UNSET
    usage: Lenient[Maybe[Usage]] = UNSET
    background: Lenient[Maybe[list[BackgroundWork]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- messages


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """Adds a block to the user's message; echoed or replayed by the agent."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """Adds a block to the agent's reply to the user."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """Adds a block to the agent's reasoning, which is kept apart from the reply."""


class SessionMessage(Wire, tag_field="sessionUpdate", tag="session_message"):
    """Creates or patches a message between two sessions; given content replaces all of it."""

    message_id: MessageId
    sender_session_id: Lenient[Maybe[SessionId]] = UNSET
    recipient_session_id: Lenient[Maybe[SessionId]] = UNSET
    sender_message_id: Lenient[Maybe[MessageId]] = UNSET
    recipient_message_id: Lenient[Maybe[MessageId]] = UNSET
    content: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionMessageChunk(Wire, tag_field="sessionUpdate", tag="session_message_chunk"):
    """One block to append; sender and receiver are in session_message alone."""

    message_id: MessageId
    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- plans


class PlanFile(Wire, tag_field="type", tag="file"):
    """Plan kept in a file; only its address is sent."""

    plan_id: PlanId
    uri: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanMarkdown(Wire, tag_field="type", tag="markdown"):
    """Plan as one Markdown text, sent whole each time."""

    plan_id: PlanId
    content: str
    meta: Lenient[Maybe[Metadata]] = UNSET


PlanUpdateContent: TypeAlias = Open[PlanItems | PlanFile | PlanMarkdown]


class PlanUpdate(Wire, tag_field="sessionUpdate", tag="plan_update"):
    """Replaces the plan with the same id, or adds it if the id is new."""

    plan: PlanUpdateContent
    meta: Lenient[Maybe[Metadata]] = UNSET


class PlanRemoved(Wire, tag_field="sessionUpdate", tag="plan_removed"):
    """Takes the plan off display; other plans stay as they are."""

    plan_id: PlanId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- sessions


class SessionInfo(Wire):
    """Row of a session list; extra roots given here replace any known before."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    title: Lenient[Maybe[str]] = UNSET
    updated_at: Lenient[Maybe[str]] = UNSET
    archived: Lenient[Maybe[bool]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListSessionsResponse(Wire):
    """One page of sessions; no nextCursor means it was the last."""

    sessions: Lenient[Sieved[list[SessionInfo]]]
    next_cursor: Maybe[SessionListCursor] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ForkSessionResponse(Wire):
    """sessionId belongs to the copy; the original goes on under its own."""

    session_id: SessionId
    config_options: Lenient[Omittable[Sieved[list[SessionConfigOption]]]] = UNSET
    available_commands: Lenient[Omittable[Sieved[list[AvailableCommand]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionStatusResponse(Wire):
    """True only for the moment; the session may be dropped before the next call."""

    status: SessionStatus
    state: Lenient[Maybe[StateUpdate]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SystemPrompt(Wire):
    """The client's own instructions; an agent unable to apply them must fail the call."""

    mode: SystemPromptMode
    content: list[ContentBlock]
    meta: Lenient[Maybe[Metadata]] = UNSET


class NewSessionRequest(Wire):
    """cwd must be absolute; the directory in which the agent was started does not matter."""

    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    system_prompt: Maybe[SystemPrompt] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListSessionsRequest(Wire):
    """cwd must match exactly; cursor comes unchanged from the page before."""

    cwd: Maybe[AbsolutePath] = UNSET
    cursor: Maybe[SessionListCursor] = UNSET
    archived: Maybe[SessionArchiveFilter] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ForkSessionRequest(Wire):
    """Starts a new session from another's context; the other keeps its history as it is."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    system_prompt: Maybe[SystemPrompt] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ArchiveSessionRequest(Wire):
    """Leaves the session out of default lists but keeps it; an active one is closed first."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class UnarchiveSessionRequest(Wire):
    """Puts the session back into default lists; it is not loaded by this."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionStatusRequest(Wire):
    """Looks without side effects: nothing is loaded, attached or changed."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionTitleRequest(Wire):
    """Works on any listed session; the agent should not overwrite the title by itself."""

    session_id: SessionId
    title: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class ResumeSessionRequest(Wire):
    """Roots and servers are not remembered: send all again; no replay unless asked for."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    replay_from: Maybe[ReplayFrom] = UNSET
    system_prompt: Maybe[SystemPrompt] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- subagents


class SubagentUpdate(Wire, tag_field="sessionUpdate", tag="subagent_update"):
    """Sent in the parent's session; the first one for an id announces that child."""

    session_id: SessionId
    title: Lenient[Maybe[str]] = UNSET
    description: Lenient[Maybe[str]] = UNSET
    capabilities: Lenient[Maybe[SubagentSessionCapabilities]] = UNSET
    state: Lenient[Maybe[StateUpdate]] = UNSET
    cwd: Maybe[AbsolutePath] = UNSET
    additional_directories: Maybe[list[AbsolutePath]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- tool calls


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """Patches a known call; in the v2 drafts the first one for an id creates it."""


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
    | PlanRemoved
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
]


class UpdateSessionNotification(Wire):
    """May even come before the answer that tells the client its sessionId."""

    session_id: SessionId
    update: SessionUpdate
    meta: Lenient[Maybe[Metadata]] = UNSET
