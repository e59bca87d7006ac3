"""The requests that a client sends to an agent, and their answers, independent of the edition.

Each edition's dialect has a `Binding` for every request it knows. `agent_requests` has the other direction. `meta` is
the `_meta` of the message, kept whole.
"""

from typing import ClassVar, Literal

from accord.protocol.model import Unknown
from accord.session.capability import AgentCapabilities, ClientCapabilities, Implementation
from accord.session.content import Block, Part
from accord.session.event import Meta, StopReason, TokenUsage
from accord.session.option import MADE_FROM, Command, ConfigOption, Select, Toggle

__all__ = [
    "Cancel",
    "CancelTerminal",
    "CancelTool",
    "CloseSession",
    "DeleteSession",
    "Done",
    "ForkSession",
    "Initialize",
    "Initialized",
    "ListSessions",
    "Login",
    "Logout",
    "McpServer",
    "NewSession",
    "OptionsSet",
    "Prompt",
    "PromptAnswered",
    "ReopenSession",
    "SessionOpened",
    "SessionSummary",
    "SessionsListed",
    "SetMode",
    "SetModel",
    "SetOption",
    "setting_request",
]


class Done(Part):
    """An answer without a result of its own."""

    meta: Meta | None = None


# --- the handshake and the login


class Initialize(Part):
    """The handshake: the client and its capabilities."""

    client: Implementation | None
    capabilities: ClientCapabilities
    meta: Meta | None = None


class Initialized(Part):
    """The answer to the handshake: the agent and its capabilities."""

    agent: Implementation | None
    capabilities: AgentCapabilities
    meta: Meta | None = None


class Login(Part):
    """Log in by one of the agent's own methods."""

    method: str
    meta: Meta | None = None


class Logout(Part):
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
    """An existing session, with a replay of its conversation first (`replay`) or without one."""

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
    """A session can be used. `models` lets an edition that once had models of its own send both shapes."""

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

    id: str
    cwd: str
    additional_directories: list[str] = []
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
    session_id: str
    meta: Meta | None = None


# --- prompts and settings


class Prompt(Part):
    session_id: str
    content: list[Block]
    meta: Meta | None = None


class PromptAnswered(Part):
    """The end of the turn with its `stop_reason`, or the `message_id` of the inserted message.

    Which of the two it is, is an edition's rule of answering; the other is None.
    """

    stop_reason: StopReason | str | None = None
    message_id: str | None = None
    meta: Meta | None = None
    token_usage: TokenUsage | None = None


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
    """Another mode, in an edition that has a request for it beside config options; `FIELD` is its name there."""

    FIELD: ClassVar[str] = "modeId"

    session_id: str
    mode: str
    meta: Meta | None = None


class SetModel(Part):
    """Another model, in the request of the 2025 text; `FIELD` is its name there."""

    FIELD: ClassVar[str] = "modelId"

    session_id: str
    model: str
    meta: Meta | None = None


class CancelTool(Part):
    session_id: str
    tool_id: str
    meta: Meta | None = None


class CancelTerminal(Part):
    session_id: str
    terminal_id: str
    meta: Meta | None = None


def setting_request(session_id: str, option: Select | Toggle, value: str | bool) -> SetOption | SetMode | SetModel:  # noqa: FBT001 - the value of a toggle
    """The request for another value of an option; an older one where the agent sent the option in an older shape."""
    match (option.meta or {}).get(MADE_FROM):
        case "modes":
            return SetMode(session_id, str(value))
        case "models":
            return SetModel(session_id, str(value))
        case _:
            return SetOption(session_id, option.id, value)
