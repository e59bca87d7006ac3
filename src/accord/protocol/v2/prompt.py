"""One prompt, and stopping it."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NonEmpty, Wire
from accord.protocol.v2.content import ContentBlock
from accord.protocol.v2.ids import MessageId, SessionId


class PromptResponse(Wire):
    """v1 and June: the turn is over; current v2: the message has its place, work may go on."""

    message_id: MessageId
    meta: Lenient[Maybe[Metadata]] = UNSET


class PromptRequest(Wire):
    """User input; holds only blocks the agent takes, commands are written as /name text."""

    session_id: SessionId
    prompt: NonEmpty[list[ContentBlock]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelSessionNotification(Wire):
    """Stops the foreground and prompts not yet inserted; background work goes on."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET
