"""Tool calls, permission requests, and the services of a client for its agent: text files and terminals."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from accord.protocol.model import (
    UNSET,
    Closed,
    Lenient,
    Maybe,
    Metadata,
    NullIsEmpty,
    Omittable,
    Open,
    Sieved,
    UInt32,
    UInt64,
    Wire,
)
from accord.protocol.v1.connection import PermissionOptionId, SessionId, TerminalId, ToolCallId
from accord.protocol.v1.content import ContentBlock
from accord.protocol.v1.session import EnvVariable

# --- tool calls

ToolKind: TypeAlias = Closed[
    Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] | str
]
ToolCallStatus: TypeAlias = Closed[Literal["pending", "in_progress", "completed", "failed"] | str]


class Content(Wire, tag_field="type", tag="content"):
    """Wraps an ordinary block so that it can stand among a call's diffs and terminals."""

    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET


class Diff(Wire, tag_field="type", tag="diff"):
    """The changes that a call made or would make to files; for display, the client applies nothing."""

    noted: ClassVar[frozenset[str]] = frozenset({"old_text"})

    path: str
    new_text: str
    old_text: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class Terminal(Wire, tag_field="type", tag="terminal"):
    """Shows a terminal among a call's results; only the id travels here, not the output."""

    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


ToolCallContent: TypeAlias = Open[Content | Diff | Terminal]


class ToolCallLocation(Wire):
    """File the agent is working on, so that an editor can follow; line counts from 1."""

    path: str
    line: Lenient[Maybe[UInt32]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# The fields that say what a call is about to do.
NOTED = frozenset({"kind", "content", "locations"})


class ToolCallUpdate(Wire):
    """Patch for one call by id: absent keys keep their value, a given list replaces all."""

    noted: ClassVar[frozenset[str]] = NOTED

    tool_call_id: ToolCallId
    kind: Lenient[Maybe[ToolKind]] = UNSET
    status: Lenient[Maybe[ToolCallStatus]] = UNSET
    title: Lenient[Maybe[str]] = UNSET
    name: Lenient[Maybe[str]] = UNSET
    content: Lenient[Maybe[Sieved[list[ToolCallContent]]]] = UNSET
    locations: Lenient[Maybe[Sieved[list[ToolCallLocation]]]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """Patches a known call; in the v2 drafts the first one for an id creates it."""


class ToolCall(Wire, tag_field="sessionUpdate", tag="tool_call"):
    """First report of a call; without status it is pending, without kind it is other."""

    noted: ClassVar[frozenset[str]] = NOTED

    tool_call_id: ToolCallId
    title: str
    name: Lenient[Maybe[str]] = UNSET
    kind: Lenient[Omittable[ToolKind]] = UNSET
    status: Lenient[Omittable[ToolCallStatus]] = UNSET
    content: Lenient[Omittable[Sieved[list[ToolCallContent]]]] = UNSET
    locations: Lenient[Omittable[Sieved[list[ToolCallLocation]]]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- permission

PermissionOptionKind: TypeAlias = Closed[Literal["allow_once", "allow_always", "reject_once", "reject_always"] | str]


class PermissionOption(Wire):
    """One button of the question; kind is a hint, and only optionId is sent back."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind
    meta: Lenient[Maybe[Metadata]] = UNSET


class RequestPermissionRequest(Wire):
    """The agent holds its action until the user, or a client policy, picks an option."""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: list[PermissionOption]
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelledPermissionOutcome(Wire, tag_field="outcome", tag="cancelled"):
    """Nothing was picked: the work was cancelled or the question dropped; not a yes."""


class SelectedPermissionOutcome(Wire, tag_field="outcome", tag="selected"):
    """An option was picked, by user or policy; it may well be a rejecting one."""

    option_id: PermissionOptionId
    meta: Lenient[Maybe[Metadata]] = UNSET


RequestPermissionOutcome: TypeAlias = Open[CancelledPermissionOutcome | SelectedPermissionOutcome]


class RequestPermissionResponse(Wire):
    """If the turn is stopped first, the client still answers, with the cancelled outcome."""

    outcome: RequestPermissionOutcome
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- files


class WriteTextFileRequest(Wire):
    """Replaces the whole file, creating it if missing; needs the client's writeTextFile flag."""

    session_id: SessionId
    path: str
    content: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class ReadTextFileRequest(Wire):
    """Sees unsaved editor text too; line counts from 1 and limit is a number of lines."""

    session_id: SessionId
    path: str
    line: Maybe[UInt32] = UNSET
    limit: Maybe[UInt32] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class WriteTextFileResponse(Wire):
    """Empty; the text is written, and some clients send null in its place."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ReadTextFileResponse(Wire):
    """The text asked for, with unsaved edits of the editor included."""

    content: str
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- terminals


class CreateTerminalRequest(Wire):
    """The client starts the command; past outputByteLimit the oldest output is dropped."""

    session_id: SessionId
    command: str
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[list[EnvVariable]] = []
    cwd: Maybe[str] = UNSET
    output_byte_limit: Maybe[UInt64] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutputRequest(Wire):
    """Reads what is there so far without waiting for the process to end."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class ReleaseTerminalRequest(Wire):
    """Kills the process if it still runs and makes the id invalid; owed for every terminal."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class WaitForTerminalExitRequest(Wire):
    """Stays pending until the process ends; answered at once if it already has."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class KillTerminalRequest(Wire):
    """Stops the process but keeps the id for reading output; release is still owed."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class CreateTerminalResponse(Wire):
    """Comes as soon as the command is started; the id must be released later."""

    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalExitStatus(Wire):
    """Its presence means the process ended; exitCode is empty if a signal ended it."""

    exit_code: Lenient[Maybe[UInt32]] = UNSET
    signal: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class TerminalOutputResponse(Wire):
    """truncated means the beginning is missing; no exitStatus means still running."""

    output: str
    truncated: bool
    exit_status: Lenient[Maybe[TerminalExitStatus]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ReleaseTerminalResponse(Wire):
    """Empty; the id is dead, but tool calls that show the terminal keep its output."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class WaitForTerminalExitResponse(Wire):
    """The process has ended: exitCode is null after a signal, signal is null otherwise."""

    exit_code: Lenient[Maybe[UInt32]] = UNSET
    signal: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class KillTerminalResponse(Wire):
    """Empty; output and exit status can still be read until release."""

    meta: Lenient[Maybe[Metadata]] = UNSET


KillTerminalCommandRequest: TypeAlias = KillTerminalRequest  # its name in the 2025 text
KillTerminalCommandResponse: TypeAlias = KillTerminalResponse  # its name in the 2025 text
