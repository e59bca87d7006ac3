"""Everything an agent reports of a session."""

from typing import TypeAlias

from accord.protocol.model import UNSET, Maybe, Metadata, Open, Wire
from accord.protocol.v2_june.command import AvailableCommandsUpdate
from accord.protocol.v2_june.config import ConfigOptionUpdate
from accord.protocol.v2_june.ids import SessionId
from accord.protocol.v2_june.message import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    UserMessage,
    UserMessageChunk,
)
from accord.protocol.v2_june.plan import PlanUpdate
from accord.protocol.v2_june.session import SessionInfoUpdate
from accord.protocol.v2_june.tool_call import ToolCallContentChunk, ToolCallUpdated
from accord.protocol.v2_june.usage import UsageUpdate

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
