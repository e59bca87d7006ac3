"""Tool calls, and the permission for them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Open, Sieved, UInt32, Wire
from accord.protocol.v2_june.connection import PermissionOptionId, SessionId, ToolCallId
from accord.protocol.v2_june.content import ContentBlock

# --- tool calls

ToolKind: TypeAlias = (
    Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] | str
)
ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"] | str


class Content(Wire, tag_field="type", tag="content"):
    """Wraps an ordinary block so that it can stand among a call's diffs and terminals."""

    content: ContentBlock
    meta: Maybe[Metadata] = UNSET


class Diff(Wire, tag_field="type", tag="diff"):
    """The changes that a call made or would make to files; for display, the client applies nothing."""

    path: str
    new_text: str
    old_text: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


ToolCallContent: TypeAlias = Open[Content | Diff]


class ToolCallLocation(Wire):
    """File the agent is working on, so that an editor can follow; line counts from 1."""

    path: str
    line: Maybe[UInt32] = UNSET
    meta: Maybe[Metadata] = UNSET


# The fields that say what a call is about to do.
NOTED = frozenset({"kind", "content", "locations"})


class ToolCallUpdate(Wire):
    """Patch for one call by id: absent keys keep their value, a given list replaces all."""

    noted: ClassVar[frozenset[str]] = NOTED

    tool_call_id: ToolCallId
    title: Maybe[str] = UNSET
    kind: Maybe[ToolKind] = UNSET
    status: Maybe[ToolCallStatus] = UNSET
    content: Lenient[Maybe[Sieved[list[ToolCallContent]]]] = UNSET
    locations: Lenient[Maybe[Sieved[list[ToolCallLocation]]]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: Maybe[Metadata] = UNSET


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """Patches a known call; in the v2 drafts the first one for an id creates it."""


class ToolCallContentChunk(Wire, tag_field="sessionUpdate", tag="tool_call_content_chunk"):
    """One item to append to a call; a later update with content replaces them all."""

    tool_call_id: ToolCallId
    content: ToolCallContent
    meta: Maybe[Metadata] = UNSET


# --- permission

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
