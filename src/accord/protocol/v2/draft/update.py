"""Everything an agent reports of a session."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Wire
from accord.protocol.v2.command import AvailableCommandsUpdate
from accord.protocol.v2.config import ConfigOptionUpdate
from accord.protocol.v2.draft.message import (
    AgentMessageChunk,
    AgentThoughtChunk,
    SessionMessage,
    SessionMessageChunk,
    UserMessageChunk,
)
from accord.protocol.v2.draft.plan import PlanRemoved, PlanUpdate
from accord.protocol.v2.draft.state import StateUpdated
from accord.protocol.v2.draft.subagent import SubagentUpdate
from accord.protocol.v2.draft.tool_call import ToolCallUpdated
from accord.protocol.v2.ids import SessionId
from accord.protocol.v2.message import AgentMessage, AgentThought, UserMessage
from accord.protocol.v2.notice import CompactionSummaryChunk, CompactionUpdate, Notice
from accord.protocol.v2.session import SessionInfoUpdate
from accord.protocol.v2.terminal import TerminalOutputChunk, TerminalUpdate
from accord.protocol.v2.tool_call import ToolCallContentChunk
from accord.protocol.v2.usage import UsageUpdate

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
