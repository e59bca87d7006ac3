"""One prompt, and stopping it."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Wire
from accord.protocol.v1.draft.usage import Usage
from accord.protocol.v1.prompt import StopReason


class PromptResponse(Wire):
    """v1 and June: the turn is over; current v2: the message has its place, work may go on."""

    stop_reason: StopReason
    usage: Lenient[Maybe[Usage]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
