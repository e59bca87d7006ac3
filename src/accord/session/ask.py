"""What one side asks of the other, and what it answers, in no edition's words.

Each edition's dialect has a row (`Words`) for every ask it knows. Names follow the asker: a client asks an agent to
open, list and close sessions and to take prompts; an agent asks its client for permission, for facts, for files and for
terminals. `meta` is the `_meta` of the message, kept whole.
"""

from typing import Any, Literal, TypeAlias

from accord.protocol.model import Unknown
from accord.session.ability import AgentAbilities, ClientAbilities, Peer
from accord.session.content import Block, Part
from accord.session.event import Meta, StopReason, TerminalExit, ToolChanged
from accord.session.option import Command, ConfigOption, PermissionOption

__all__ = [
    "Answer",
    "Ask",
    "AskPermission",
    "AwaitTerminal",
    "Cancel",
    "CancelTerminal",
    "CancelTool",
    "CloseSession",
    "CommandSubject",
    "DeleteSession",
    "Done",
    "ElicitForm",
    "ElicitUrl",
    "ElicitationDone",
    "Elicited",
    "FileRead",
    "ForkSession",
    "Initialize",
    "Initialized",
    "KillTerminal",
    "ListSessions",
    "Login",
    "Logout",
    "McpServer",
    "NewSession",
    "OptionsSet",
    "PermissionGiven",
    "Prompt",
    "PromptAnswered",
    "ReadFile",
    "ReadTerminal",
    "ReleaseTerminal",
    "ReopenSession",
    "SessionOpened",
    "SessionSummary",
    "SessionsListed",
    "SetMode",
    "SetModel",
    "SetOption",
    "StartTerminal",
    "TerminalEnded",
    "TerminalRead",
    "TerminalStarted",
    "WriteFile",
]


class Done(Part):
    """The answer that says no more than that it was done."""

    meta: Meta | None = None


# --- the handshake and the login


class Initialize(Part):
    """Who the client is and what it lets its agent use."""

    client: Peer | None
    abilities: ClientAbilities
    meta: Meta | None = None


class Initialized(Part):
    """Who the agent is and what it serves."""

    agent: Peer | None
    abilities: AgentAbilities
    meta: Meta | None = None


class Login(Part):
    """Log in by one of the agent's own methods."""

    method: str
    meta: Meta | None = None


class Logout(Part):
    """Forget the login."""

    meta: Meta | None = None


# --- sessions


class McpServer(Part):
    """An MCP server that a session is to use: a program (`stdio`), or an address (`http`, `sse`).

    Pairs stay pairs and in order: of a variable that is named twice the last counts, headers may repeat.
    """

    name: str
    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: list[str] = []
    env: list[tuple[str, str]] = []
    url: str = ""
    headers: list[tuple[str, str]] = []
    meta: Meta | None = None


class NewSession(Part):
    """A new session; `cwd` and `roots`, which come beside it, are absolute."""

    cwd: str
    roots: list[str] = []
    servers: list[McpServer | Unknown] = []
    meta: Meta | None = None


class ReopenSession(Part):
    """A session from before, with its conversation told again first (`replay`) or not."""

    session_id: str
    cwd: str
    roots: list[str] = []
    servers: list[McpServer | Unknown] = []
    replay: bool = False
    meta: Meta | None = None


class ForkSession(Part):
    """A new session that begins as a copy of another."""

    session_id: str
    cwd: str
    roots: list[str] = []
    servers: list[McpServer | Unknown] = []
    meta: Meta | None = None


class SessionOpened(Part):
    """A session can be used. `models` asks an edition that once had models of its own to tell the option twice."""

    session_id: str
    options: list[ConfigOption] = []
    commands: list[Command] = []
    models: bool = False
    meta: Meta | None = None


class ListSessions(Part):
    """One page of the sessions, of exactly that `cwd` where one is given. An empty cursor is a real one."""

    cwd: str | None = None
    cursor: str | None = None
    meta: Meta | None = None


class SessionSummary(Part):
    """A session in a list; `updated_at` is in RFC 3339."""

    session_id: str
    cwd: str
    roots: list[str] = []
    title: str | None = None
    updated_at: str | None = None
    meta: Meta | None = None


class SessionsListed(Part):
    """Some sessions; `next_cursor` is None at the end."""

    sessions: list[SessionSummary]
    next_cursor: str | None = None
    meta: Meta | None = None


class CloseSession(Part):
    """Stop the session's work and free what it holds."""

    session_id: str
    meta: Meta | None = None


class DeleteSession(Part):
    """Forget the session."""

    session_id: str
    meta: Meta | None = None


# --- prompts and settings


class Prompt(Part):
    """What the user says."""

    session_id: str
    content: list[Block]
    meta: Meta | None = None


class PromptAnswered(Part):
    """The end of the turn with its `stop_reason`, or the `message_id` of a message that has its place.

    Which of the two it is, is an edition's rule of answering; the other is None.
    """

    stop_reason: StopReason | None = None
    message_id: str | None = None
    meta: Meta | None = None


class Cancel(Part):
    """Stop the session's work: a notification."""

    session_id: str
    meta: Meta | None = None


class SetOption(Part):
    """Give a config option another value: a choice's, or on and off."""

    session_id: str
    option: str
    value: str | bool
    meta: Meta | None = None


class OptionsSet(Part):
    """All config options as they are now."""

    options: list[ConfigOption]
    meta: Meta | None = None


class SetMode(Part):
    """Another mode, where an edition asks for that alone."""

    session_id: str
    mode: str
    meta: Meta | None = None


class SetModel(Part):
    """Another model, as only the 2025 text asks for it."""

    session_id: str
    model: str
    meta: Meta | None = None


class CancelTool(Part):
    """Stop one tool call."""

    session_id: str
    tool_id: str
    meta: Meta | None = None


class CancelTerminal(Part):
    """Stop one terminal of the agent."""

    session_id: str
    terminal_id: str
    meta: Meta | None = None


# --- what an agent asks of its user


class CommandSubject(Part):
    """A command that the agent will run itself if it may."""

    command: str
    cwd: str
    tool_id: str | None = None
    terminal_id: str | None = None
    meta: Meta | None = None


class AskPermission(Part):
    """May the agent do this? `tool` is applied to the tool call like any other report of it, before the user is asked.

    An edition that knows tool calls alone makes one of a `command` or of a bare question; there `title` None means the
    tool call's own. `other` is a subject that no edition names yet.
    """

    session_id: str
    options: list[PermissionOption]
    title: str | None = None
    description: str | None = None
    tool: ToolChanged | None = None
    command: CommandSubject | None = None
    other: dict[str, Any] | None = None
    meta: Meta | None = None


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
    """Ask the user to visit an address; `elicitation_id` is how its end may be told."""

    message: str
    elicitation_id: str
    url: str
    session_id: str | None = None
    tool_id: str | None = None
    request_id: str | int | None = None
    meta: Meta | None = None


class Elicited(Part):
    """What the user did; an action that no edition names yet counts as `cancel` (v2 rule A78)."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
    meta: Meta | None = None


class ElicitationDone(Part):
    """What was begun at an address is finished: a notification."""

    elicitation_id: str
    meta: Meta | None = None


# --- what an agent asks of its client's machine


class ReadFile(Part):
    """The text of a file, `limit` lines from line `line` (from 1)."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None
    meta: Meta | None = None


class FileRead(Part):
    """The text."""

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
    """It runs."""

    terminal_id: str
    meta: Meta | None = None


class ReadTerminal(Part):
    """What a command has written so far."""

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
    """Wait for the end of a command."""

    session_id: str
    terminal_id: str
    meta: Meta | None = None


class TerminalEnded(Part):
    """How it ended."""

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


Ask: TypeAlias = (
    Initialize
    | Login
    | Logout
    | NewSession
    | ReopenSession
    | ForkSession
    | ListSessions
    | CloseSession
    | DeleteSession
    | Prompt
    | SetOption
    | SetMode
    | SetModel
    | CancelTool
    | CancelTerminal
    | AskPermission
    | ElicitForm
    | ElicitUrl
    | ReadFile
    | WriteFile
    | StartTerminal
    | ReadTerminal
    | AwaitTerminal
    | KillTerminal
    | ReleaseTerminal
)
Answer: TypeAlias = (
    Done
    | Initialized
    | SessionOpened
    | SessionsListed
    | PromptAnswered
    | OptionsSet
    | PermissionGiven
    | Elicited
    | FileRead
    | TerminalStarted
    | TerminalRead
    | TerminalEnded
)
