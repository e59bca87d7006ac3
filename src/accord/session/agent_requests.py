"""The requests that an agent sends to its client, and their answers; `client_requests` has the other direction."""

from typing import Any, Literal

from accord.session.content import Part
from accord.session.event import Meta, TerminalExit, ToolChanged
from accord.session.option import PermissionOption

__all__ = [
    "ANSWERED",
    "AwaitTerminal",
    "CommandSubject",
    "ElicitForm",
    "ElicitUrl",
    "ElicitationDone",
    "Elicited",
    "FileRead",
    "KillTerminal",
    "PermissionGiven",
    "ReadFile",
    "ReadTerminal",
    "ReleaseTerminal",
    "RequestPermission",
    "StartTerminal",
    "TerminalEnded",
    "TerminalRead",
    "TerminalStarted",
    "WriteFile",
]


# --- requests to the user

ANSWERED = "accord/answered"
"""The key in the `_meta` of `$/cancel_request` that has the answer of another client (docs/serving.md)."""


class CommandSubject(Part):
    """A command that the agent will run itself if it is permitted."""

    command: str
    cwd: str
    tool_id: str | None = None
    terminal_id: str | None = None
    meta: Meta | None = None


class RequestPermission(Part):
    """May the agent do this? `tool` is applied to the tool call like any other report of it, before the user is asked.

    An edition that knows tool calls alone makes one of a `command` or of a bare question; there `title` None means the
    tool call's own. `other` is a subject that no edition names yet. `originals` is that capability of the client.
    """

    session_id: str
    options: list[PermissionOption]
    title: str | None = None
    description: str | None = None
    tool: ToolChanged | None = None
    command: CommandSubject | None = None
    other: dict[str, Any] | None = None
    meta: Meta | None = None
    originals: bool = True


class PermissionGiven(Part):
    """The option that was chosen; None if none was, or if the answer is one that no edition names yet.

    Only an option that was offered approves of anything (v2 rule A75).
    """

    option: str | None
    meta: Meta | None = None


class ElicitForm(Part):
    """Ask the user to fill in a form: a flat JSON schema of an object, as plain JSON. Never for secrets."""

    message: str
    schema: dict[str, Any]
    session_id: str | None = None
    tool_id: str | None = None
    request_id: str | int | None = None
    meta: Meta | None = None


class ElicitUrl(Part):
    """Ask the user to visit an address; `elicitation_id` names it in the notification of its end."""

    message: str
    elicitation_id: str
    url: str
    session_id: str | None = None
    tool_id: str | None = None
    request_id: str | int | None = None
    meta: Meta | None = None


class Elicited(Part):
    """The action of the user; an action that no edition names yet counts as `cancel` (v2 rule A78)."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
    meta: Meta | None = None


class ElicitationDone(Part):
    """A notification: the elicitation at an address is finished."""

    elicitation_id: str
    meta: Meta | None = None


# --- requests to the client's machine


class ReadFile(Part):
    """The text of a file, `limit` lines from line `line` (from 1)."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None
    meta: Meta | None = None


class FileRead(Part):
    content: str
    meta: Meta | None = None


class WriteFile(Part):
    """Replace the text of a file, or create it."""

    session_id: str
    path: str
    content: str
    meta: Meta | None = None


class StartTerminal(Part):
    """Run a command."""

    session_id: str
    command: str
    args: list[str] = []
    env: list[tuple[str, str]] = []
    cwd: str | None = None
    output_byte_limit: int | None = None
    meta: Meta | None = None


class TerminalStarted(Part):
    terminal_id: str
    meta: Meta | None = None


class ReadTerminal(Part):
    """The output of a command so far."""

    session_id: str
    terminal_id: str
    meta: Meta | None = None


class TerminalRead(Part):
    """Its output; `truncated` if the beginning is missing, `exit` once it has ended."""

    output: str
    truncated: bool = False
    exit: TerminalExit | None = None
    meta: Meta | None = None


class AwaitTerminal(Part):
    session_id: str
    terminal_id: str
    meta: Meta | None = None


class TerminalEnded(Part):
    exit: TerminalExit
    meta: Meta | None = None


class KillTerminal(Part):
    """End a command; its output can still be read."""

    session_id: str
    terminal_id: str
    meta: Meta | None = None


class ReleaseTerminal(Part):
    """End a command and forget its terminal."""

    session_id: str
    terminal_id: str
    meta: Meta | None = None
