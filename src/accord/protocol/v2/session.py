"""The requests of sessions (create, load, resume, list, close), their MCP servers, and prompts."""

from __future__ import annotations

from typing import TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NonEmpty, NullIsEmpty, Omittable, Open, Sieved, Wire
from accord.protocol.v2.config import AvailableCommand, SessionConfigOption
from accord.protocol.v2.connection import AbsolutePath, EnvVariable, MessageId, SessionId, SessionListCursor
from accord.protocol.v2.content import ContentBlock

# --- MCP servers


class HttpHeader(Wire):
    """Sent along with each call the agent makes to that MCP server."""

    name: str
    value: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerHttp(Wire, tag_field="type", tag="http"):
    """Server reached by URL; allowed only if the agent announced http."""

    name: str
    url: str
    headers: NullIsEmpty[list[HttpHeader]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerStdio(Wire, tag_field="type", tag="stdio"):
    """The agent starts the program and talks MCP over its stdin and stdout."""

    name: str
    command: AbsolutePath
    args: NullIsEmpty[list[str]] = []
    env: NullIsEmpty[list[EnvVariable]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


McpServer: TypeAlias = Open[McpServerHttp | McpServerStdio]


# --- sessions


class NewSessionResponse(Wire):
    """Gives the id to use from now on, with the choices the session starts with."""

    session_id: SessionId
    config_options: Lenient[Omittable[Sieved[list[SessionConfigOption]]]] = UNSET
    available_commands: Lenient[Omittable[Sieved[list[AvailableCommand]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionInfo(Wire):
    """Row of a session list; extra roots given here replace any known before."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    title: Lenient[Maybe[str]] = UNSET
    updated_at: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListSessionsResponse(Wire):
    """One page of sessions; no nextCursor means it was the last."""

    sessions: Lenient[Sieved[list[SessionInfo]]]
    next_cursor: Maybe[SessionListCursor] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class DeleteSessionResponse(Wire):
    """Empty; the session no longer shows up in lists."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ResumeSessionResponse(Wire):
    """The session can be used again; it does not say that the session is idle."""

    config_options: Lenient[Omittable[Sieved[list[SessionConfigOption]]]] = UNSET
    available_commands: Lenient[Omittable[Sieved[list[AvailableCommand]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class CloseSessionResponse(Wire):
    """Empty; the session's work is stopped and its resources are free."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionInfoUpdate(Wire, tag_field="sessionUpdate", tag="session_info_update"):
    """Only what changed: absent keeps a field, null clears it."""

    title: Lenient[Maybe[str]] = UNSET
    updated_at: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class NewSessionRequest(Wire):
    """cwd must be absolute; the directory in which the agent was started does not matter."""

    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListSessionsRequest(Wire):
    """cwd must match exactly; cursor comes unchanged from the page before."""

    cwd: Maybe[AbsolutePath] = UNSET
    cursor: Maybe[SessionListCursor] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class DeleteSessionRequest(Wire):
    """Takes the session off later lists; deleting a missing one should succeed."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class ReplayFromStart(Wire, tag_field="type", tag="start"):
    """All history the agent still has, sent before the resume answer."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class _ReplayFromNowhere(Wire, tag_field="type", tag="_nowhere"):
    """Never sent: with a second variant the tag is required, so that a cursor without a tag is refused (rule A27)."""


ReplayFrom: TypeAlias = Open[ReplayFromStart | _ReplayFromNowhere]


class ResumeSessionRequest(Wire):
    """Roots and servers are not remembered: send all again; no replay unless asked for."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    replay_from: Maybe[ReplayFrom] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class CloseSessionRequest(Wire):
    """Stops the session's work as a cancel would, then lets the agent free it."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- prompts


class PromptResponse(Wire):
    """v1 and June: the turn is over; current v2: the message is inserted, work may go on."""

    message_id: MessageId
    meta: Lenient[Maybe[Metadata]] = UNSET


class PromptRequest(Wire):
    """User input; holds only blocks the agent takes, commands are written as /name text."""

    session_id: SessionId
    prompt: NonEmpty[list[ContentBlock]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelSessionNotification(Wire):
    """Stops the foreground and prompts not yet inserted; background work goes on."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET
