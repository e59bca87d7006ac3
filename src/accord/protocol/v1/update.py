"""Everything an agent reports of a session."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Wire
from accord.protocol.v1.command import AvailableCommandsUpdate
from accord.protocol.v1.config import ConfigOptionUpdate
from accord.protocol.v1.ids import SessionId
from accord.protocol.v1.message import AgentMessageChunk, AgentThoughtChunk, UserMessageChunk
from accord.protocol.v1.mode import CurrentModeUpdate
from accord.protocol.v1.notice import CompactionSummaryChunk, CompactionUpdate, Notice
from accord.protocol.v1.plan import Plan
from accord.protocol.v1.session import SessionInfoUpdate
from accord.protocol.v1.tool_call import ToolCall, ToolCallUpdated
from accord.protocol.v1.usage import UsageUpdate

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
