"""What a session is doing now."""

from typing import ClassVar, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Wire
from accord.protocol.v2.draft.usage import Usage
from accord.protocol.v2.error import Error
from accord.protocol.v2.ids import SessionId
from accord.protocol.v2.state import BackgroundTerminal, BackgroundToolCall


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
