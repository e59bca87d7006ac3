"""The requests of sessions (create, load, resume, list, close), their MCP servers, and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.protocol.model import (
    UNSET,
    Closed,
    Lenient,
    Maybe,
    Metadata,
    NullIsEmpty,
    Omittable,
    Sieved,
    Unknown,
    Untagged,
    Wire,
)
from accord.protocol.v1.config import SessionConfigOption, SessionModelState, SessionModeState
from accord.protocol.v1.connection import SessionId
from accord.protocol.v1.content import ContentBlock

# --- MCP servers


class EnvVariable(Wire):
    """One name and value set for a process that is about to be started."""

    name: str
    value: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class HttpHeader(Wire):
    """Sent along with each call the agent makes to that MCP server."""

    name: str
    value: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerHttp(Wire, tag_field="type", tag="http"):
    """Server reached by URL; allowed only if the agent announced http."""

    name: str
    url: str
    headers: NullIsEmpty[list[HttpHeader]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerSse(Wire, tag_field="type", tag="sse"):
    """Deprecated transport; allowed only if the agent announced sse."""

    name: str
    url: str
    headers: NullIsEmpty[list[HttpHeader]]
    meta: Lenient[Maybe[Metadata]] = UNSET


class McpServerStdio(Wire):
    """The agent starts the program and talks MCP over its stdin and stdout."""

    name: str
    command: str
    args: NullIsEmpty[list[str]]
    env: NullIsEmpty[list[EnvVariable]]
    meta: Lenient[Maybe[Metadata]] = UNSET


if TYPE_CHECKING:
    McpServer: TypeAlias = McpServerHttp | McpServerSse | McpServerStdio | Unknown
else:

    class McpServer(Untagged):
        """How the agent reaches one MCP server; only transports it supports may be given."""

        tag_field = "type"
        tagged = {"http": McpServerHttp, "sse": McpServerSse, "stdio": McpServerStdio}
        plain = (McpServerStdio,)


# --- sessions


class NewSessionResponse(Wire):
    """Gives the id to use from now on, with the choices the session starts with."""

    session_id: SessionId
    modes: Lenient[Maybe[SessionModeState]] = UNSET
    config_options: Lenient[Maybe[Sieved[list[SessionConfigOption]]]] = UNSET
    models: Lenient[Maybe[SessionModelState]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class LoadSessionResponse(Wire):
    """Comes after the last replayed entry; some agents send null in its place."""

    modes: Lenient[Maybe[SessionModeState]] = UNSET
    config_options: Lenient[Maybe[Sieved[list[SessionConfigOption]]]] = UNSET
    models: Lenient[Maybe[SessionModelState]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionInfo(Wire):
    """Row of a session list; extra roots given here replace any known before."""

    session_id: SessionId
    cwd: str
    additional_directories: Lenient[Omittable[Sieved[list[str]]]] = UNSET
    title: Lenient[Maybe[str]] = UNSET
    updated_at: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListSessionsResponse(Wire):
    """One page of sessions; no nextCursor means it was the last."""

    sessions: Lenient[Sieved[list[SessionInfo]]]
    next_cursor: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class DeleteSessionResponse(Wire):
    """Empty; the session no longer shows up in lists."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class ResumeSessionResponse(Wire):
    """The session can be used again; it does not say that the session is idle."""

    modes: Lenient[Maybe[SessionModeState]] = UNSET
    config_options: Lenient[Maybe[Sieved[list[SessionConfigOption]]]] = UNSET
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

    cwd: str
    mcp_servers: NullIsEmpty[list[McpServer]]
    additional_directories: NullIsEmpty[list[str]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class LoadSessionRequest(Wire):
    """The whole conversation is replayed before the answer; servers must be given anew."""

    mcp_servers: NullIsEmpty[list[McpServer]]
    cwd: str
    session_id: SessionId
    additional_directories: NullIsEmpty[list[str]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListSessionsRequest(Wire):
    """cwd must match exactly; cursor comes unchanged from the page before."""

    cwd: Maybe[str] = UNSET
    cursor: Maybe[str] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class DeleteSessionRequest(Wire):
    """Takes the session off later lists; deleting a missing one should succeed."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class ResumeSessionRequest(Wire):
    """Roots and servers are not remembered: send all again; no replay unless asked for."""

    session_id: SessionId
    cwd: str
    additional_directories: NullIsEmpty[list[str]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    meta: Lenient[Maybe[Metadata]] = UNSET


class CloseSessionRequest(Wire):
    """Stops the session's work as a cancel would, then lets the agent free it."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


# --- prompts

StopReason: TypeAlias = Closed[Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] | str]


class PromptResponse(Wire):
    """v1 and June: the turn is over; current v2: the message is inserted, work may go on."""

    stop_reason: StopReason
    meta: Lenient[Maybe[Metadata]] = UNSET


class PromptRequest(Wire):
    """User input; holds only blocks the agent takes, commands are written as /name text."""

    session_id: SessionId
    prompt: list[ContentBlock]
    meta: Lenient[Maybe[Metadata]] = UNSET


class CancelNotification(Wire):
    """Stops the running turn; its prompt must still be answered, with cancelled."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET
