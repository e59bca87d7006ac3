"""One prompt, and stopping it."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Maybe, Metadata, Wire
from accord.protocol.v2_june.content import ContentBlock
from accord.protocol.v2_june.ids import SessionId

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] | str


class PromptResponse(Wire):
    """v1 and June: the turn is over; current v2: the message has its place, work may go on."""

    stop_reason: StopReason
    meta: Maybe[Metadata] = UNSET


class PromptRequest(Wire):
    """User input; holds only blocks the agent takes, commands are written as /name text."""

    session_id: SessionId
    prompt: list[ContentBlock]
    meta: Maybe[Metadata] = UNSET


class CancelNotification(Wire):
    """Stops the running turn; its prompt must still be answered, with cancelled."""

    session_id: SessionId
    meta: Maybe[Metadata] = UNSET
