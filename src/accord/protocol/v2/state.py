"""What a session is doing now."""

from typing import ClassVar, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Wire
from accord.protocol.v2.error import Error
from accord.protocol.v2.ids import TerminalId, ToolCallId


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
