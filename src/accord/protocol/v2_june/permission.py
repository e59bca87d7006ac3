"""Asking the user before something is done."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Maybe, Metadata, Open, Wire
from accord.protocol.v2_june.ids import PermissionOptionId, SessionId
from accord.protocol.v2_june.tool_call import ToolCallUpdate

PermissionOptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str


class PermissionOption(Wire):
    """One button of the question; kind is a hint, and only optionId is sent back."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind
    meta: Maybe[Metadata] = UNSET


class RequestPermissionRequest(Wire):
    """The agent holds its action until the user, or a client policy, picks an option."""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: list[PermissionOption]
    meta: Maybe[Metadata] = UNSET


class CancelledPermissionOutcome(Wire, tag_field="outcome", tag="cancelled"):
    """Nothing was picked: the work was cancelled or the question dropped; not a yes."""


class SelectedPermissionOutcome(Wire, tag_field="outcome", tag="selected"):
    """An option was picked, by user or policy; it may well be a rejecting one."""

    option_id: PermissionOptionId
    meta: Maybe[Metadata] = UNSET


RequestPermissionOutcome: TypeAlias = Open[CancelledPermissionOutcome | SelectedPermissionOutcome]


class RequestPermissionResponse(Wire):
    """If the turn is stopped first, the client still answers, with the cancelled outcome."""

    outcome: RequestPermissionOutcome
    meta: Maybe[Metadata] = UNSET
