"""Tool calls, the permission for them, and the agent's terminals."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from accord.protocol.model import (
    UNSET,
    Extent,
    Int64,
    Lenient,
    LineNumber,
    Maybe,
    Metadata,
    NonEmpty,
    Open,
    Sieved,
    Wire,
)
from accord.protocol.v2.connection import (
    AbsolutePath,
    MediaType,
    PermissionOptionId,
    SessionId,
    TerminalCapabilities,
    TerminalId,
    ToolCallCapabilities,
    ToolCallId,
)
from accord.protocol.v2.content import ContentBlock

# --- tool calls

ToolKind: TypeAlias = (
    Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] | str
)
ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "paused", "completed", "failed", "cancelled"] | str


class Content(Wire, tag_field="type", tag="content"):
    """Wraps an ordinary block so that it can stand among a call's diffs and terminals."""

    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET


DiffFileType: TypeAlias = Literal["text", "binary", "directory", "symlink"] | str


class DiffPathChange(Wire):
    """Names the file that was added, deleted or modified."""

    path: AbsolutePath
    file_type: Lenient[Maybe[DiffFileType]] = UNSET
    mime_type: Lenient[Maybe[MediaType]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class AddChange(DiffPathChange, tag_field="operation", tag="add"):
    """The file did not exist before; path is where it was made."""


class DeleteChange(DiffPathChange, tag_field="operation", tag="delete"):
    """The file at path is gone; fileType and mimeType describe what it was."""


class ModifyChange(DiffPathChange, tag_field="operation", tag="modify"):
    """The file stays at path with other content."""


class DiffPathPairChange(Wire):
    """oldPath is where the file came from, path where it is afterwards."""

    old_path: AbsolutePath
    path: AbsolutePath
    file_type: Lenient[Maybe[DiffFileType]] = UNSET
    mime_type: Lenient[Maybe[MediaType]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class MoveChange(DiffPathPairChange, tag_field="operation", tag="move"):
    """The file left oldPath and is now at path."""


class CopyChange(DiffPathPairChange, tag_field="operation", tag="copy"):
    """The file at oldPath stays and path is its new copy."""


DiffChange: TypeAlias = Open[AddChange | DeleteChange | ModifyChange | MoveChange | CopyChange]
DiffPatchFormat: TypeAlias = Literal["git_patch"] | str


class DiffPatch(Wire):
    """Text to show; must agree with changes, which alone is binding."""

    format: DiffPatchFormat
    text: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class Diff(Wire, tag_field="type", tag="diff"):
    """The changes that a call made or would make to files; for display, the client applies nothing."""

    noted: ClassVar[frozenset[str]] = frozenset({"changes", "patch"})

    changes: Sieved[list[DiffChange]]
    patch: Lenient[Maybe[DiffPatch]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class Terminal(Wire, tag_field="type", tag="terminal"):
    """Shows a terminal among a call's results; only the id travels here, not the output."""

    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


ToolCallContent: TypeAlias = Open[Content | Diff | Terminal]


class ToolCallLocation(Wire):
    """File the agent is working on, so that an editor can follow; line counts from 1."""

    path: AbsolutePath
    line: Lenient[Maybe[LineNumber]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# The fields that say what a call is about to do.
NOTED = frozenset({"kind", "content", "locations"})


class ToolCallUpdate(Wire):
    """Patch for one call by id: absent keys keep their value, a given list replaces all."""

    noted: ClassVar[frozenset[str]] = NOTED

    tool_call_id: ToolCallId
    name: Lenient[Maybe[str]] = UNSET
    title: Lenient[Maybe[str]] = UNSET
    kind: Lenient[Maybe[ToolKind]] = UNSET
    status: Lenient[Maybe[ToolCallStatus]] = UNSET
    content: Lenient[Maybe[Sieved[list[ToolCallContent]]]] = UNSET
    locations: Lenient[Maybe[Sieved[list[ToolCallLocation]]]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    capabilities: Lenient[Maybe[ToolCallCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelToolCallResponse(Wire):
    """The wish was taken, no more; the final tool_call_update proves the end."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """Patches a known call; in the v2 drafts the first one for an id creates it."""


class ToolCallContentChunk(Wire, tag_field="sessionUpdate", tag="tool_call_content_chunk"):
    """One item to append to a call; a later update with content replaces them all."""

    tool_call_id: ToolCallId
    content: ToolCallContent
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelToolCallRequest(Wire):
    """Allowed only while the call's own cancel marker is set; else -32602."""

    session_id: SessionId
    tool_call_id: ToolCallId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- permission


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


# --- terminals


class CancelTerminalResponse(Wire):
    """The wish was taken, no more; an exitStatus proves the end."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutput(Wire):
    """Base64 of every byte to keep; all output known before is replaced."""

    data: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalExitStatus(Wire):
    """Its presence means the process ended; exitCode is empty if a signal ended it."""

    exit_code: Lenient[Maybe[Int64]] = UNSET
    signal: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalSize(Wire):
    """Width and height in character cells, as the program sees them."""

    cols: Extent
    rows: Extent
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalUpdate(Wire, tag_field="sessionUpdate", tag="terminal_update"):
    """Creates or patches a terminal of the agent; an exitStatus, even empty, means ended."""

    terminal_id: TerminalId
    command: Lenient[Maybe[str]] = UNSET
    cwd: Lenient[Maybe[AbsolutePath]] = UNSET
    output: Lenient[Maybe[TerminalOutput]] = UNSET
    exit_status: Lenient[Maybe[TerminalExitStatus]] = UNSET
    size: Lenient[Maybe[TerminalSize]] = UNSET
    capabilities: Lenient[Maybe[TerminalCapabilities]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutputChunk(Wire, tag_field="sessionUpdate", tag="terminal_output_chunk"):
    """Bytes to append; decode each base64 alone, as a character may be split between two."""

    terminal_id: TerminalId
    data: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelTerminalRequest(Wire):
    """Allowed only while the terminal's own cancel marker is set; else -32602."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET
