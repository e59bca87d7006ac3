"""Asking the user before something is done."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NonEmpty, Open, Wire
from accord.protocol.v2.ids import AbsolutePath, PermissionOptionId, SessionId, TerminalId, ToolCallId
from accord.protocol.v2.tool_call import ToolCallUpdate


class ToolCallPermissionSubject(Wire, tag_field="type", tag="tool_call"):
    """Applied to the stored call like a tool_call_update before the user is asked."""

    tool_call: ToolCallUpdate
    meta: Lenient[Maybe[Metadata]] = UNSET


class CommandPermissionSubject(Wire, tag_field="type", tag="command"):
    """Command the agent itself will run if allowed; the client never runs it."""

    command: str
    cwd: AbsolutePath
    tool_call_id: Lenient[Maybe[ToolCallId]] = UNSET
    terminal_id: Lenient[Maybe[TerminalId]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


RequestPermissionSubject: TypeAlias = Open[ToolCallPermissionSubject | CommandPermissionSubject]
PermissionOptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str


class PermissionOption(Wire):
    """One button of the question; kind is a hint, and only optionId is sent back."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind
    meta: Lenient[Maybe[Metadata]] = UNSET


class RequestPermissionRequest(Wire):
    """The agent holds its action until the user, or a client policy, picks an option."""

    session_id: SessionId
    title: str
    options: NonEmpty[list[PermissionOption]]
    description: Lenient[Maybe[str]] = UNSET
    subject: Maybe[RequestPermissionSubject] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelledPermissionOutcome(Wire, tag_field="outcome", tag="cancelled"):
    """Nothing was picked: the work was cancelled or the question dropped; not a yes."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SelectedPermissionOutcome(Wire, tag_field="outcome", tag="selected"):
    """An option was picked, by user or policy; it may well be a rejecting one."""

    option_id: PermissionOptionId
    meta: Lenient[Maybe[Metadata]] = UNSET


RequestPermissionOutcome: TypeAlias = Open[CancelledPermissionOutcome | SelectedPermissionOutcome]


class RequestPermissionResponse(Wire):
    """If the turn is stopped first, the client still answers, with the cancelled outcome."""

    outcome: RequestPermissionOutcome
    meta: Lenient[Maybe[Metadata]] = UNSET
