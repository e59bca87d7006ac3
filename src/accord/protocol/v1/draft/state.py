"""What a session is doing now."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Wire
from accord.protocol.v1.draft.usage import Usage
from accord.protocol.v1.error import Error


class RunningStateUpdate(Wire, tag_field="state", tag="running"):
    """Foreground work is going on, with or without a prompt that started it."""

    meta: Lenient[Maybe[Metadata]] = UNSET


IdleStopReason: TypeAlias = (
    Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str
)


class IdleStateUpdate(Wire, tag_field="state", tag="idle"):
    """Nothing runs in the foreground; stopReason, if given, tells how the last work ended."""

    stop_reason: Lenient[Maybe[IdleStopReason]] = UNSET
    error: Lenient[Maybe[Error]] = UNSET
    usage: Lenient[Maybe[Usage]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class RequiresActionStateUpdate(Wire, tag_field="state", tag="requires_action"):
    """All foreground work waits for the user; running or idle must follow."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class UnknownStateUpdate(Wire, tag_field="state", tag="unknown"):
    """The agent cannot tell what goes on; neither idle nor a reason to drop requests."""

    meta: Lenient[Maybe[Metadata]] = UNSET


StateUpdate: TypeAlias = Open[RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate]


class ErrorStopReason(Wire, tag_field="stopReason", tag="error"):
    """The work failed; error absent or null means no details were given."""

    error: Lenient[Maybe[Error]] = UNSET
