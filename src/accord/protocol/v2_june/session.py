"""The requests of sessions (create, load, resume, list, close), their MCP servers, and prompts."""

from __future__ import annotations

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Open, Sieved, Wire
from accord.protocol.v2_june.config import SessionConfigOption
from accord.protocol.v2_june.connection import SessionId
from accord.protocol.v2_june.content import ContentBlock

# --- MCP servers


class HttpHeader(Wire):
    """Sent along with each call the agent makes to that MCP server."""

    name: str
    value: str
    meta: Maybe[Metadata] = UNSET


class McpServerHttp(Wire, tag_field="type", tag="http"):
    """Server reached by URL; allowed only if the agent announced http."""

    name: str
    url: str
    headers: list[HttpHeader]
    meta: Maybe[Metadata] = UNSET


class EnvVariable(Wire):
    """One name and value set for a process that is about to be started."""

    name: str
    value: str
    meta: Maybe[Metadata] = UNSET


class McpServerStdio(Wire, tag_field="type", tag="stdio"):
    """The agent starts the program and talks MCP over its stdin and stdout."""

    name: str
    command: str
    args: list[str]
    env: list[EnvVariable]
    meta: Maybe[Metadata] = UNSET


McpServer: TypeAlias = Open[McpServerHttp | McpServerStdio]


# --- sessions


class NewSessionResponse(Wire):
    """Gives the id to use from now on, with the choices the session starts with."""

    session_id: SessionId
    config_options: Lenient[Maybe[Sieved[list[SessionConfigOption]]]] = UNSET
    meta: Maybe[Metadata] = UNSET


class LoadSessionResponse(Wire):
    """Comes after the last replayed entry; some agents send null in its place."""

    config_options: Lenient[Maybe[Sieved[list[SessionConfigOption]]]] = UNSET
    meta: Maybe[Metadata] = UNSET


class SessionInfo(Wire):
    """Row of a session list; extra roots given here replace any known before."""

    session_id: SessionId
    cwd: str
    additional_directories: Omittable[list[str]] = UNSET
    title: Lenient[Maybe[str]] = UNSET
    updated_at: Lenient[Maybe[str]] = UNSET
    meta: Maybe[Metadata] = UNSET


class ListSessionsResponse(Wire):
    """One page of sessions; no nextCursor means it was the last."""

    sessions: Lenient[Sieved[list[SessionInfo]]]
    next_cursor: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


class DeleteSessionResponse(Wire):
    """Empty; the session no longer shows up in lists."""

    meta: Maybe[Metadata] = UNSET


class ResumeSessionResponse(Wire):
    """The session can be used again; it does not say that the session is idle."""

    config_options: Lenient[Maybe[Sieved[list[SessionConfigOption]]]] = UNSET
    meta: Maybe[Metadata] = UNSET


class CloseSessionResponse(Wire):
    """Empty; the session's work is stopped and its resources are free."""

    meta: Maybe[Metadata] = UNSET


class SessionInfoUpdate(Wire, tag_field="sessionUpdate", tag="session_info_update"):
    """Only what changed: absent keeps a field, null clears it."""

    title: Maybe[str] = UNSET
    updated_at: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


class NewSessionRequest(Wire):
    """cwd must be absolute; the directory in which the agent was started does not matter."""

    cwd: str
    mcp_servers: list[McpServer]
    additional_directories: Omittable[list[str]] = UNSET
    meta: Maybe[Metadata] = UNSET


class LoadSessionRequest(Wire):
    """The whole conversation is replayed before the answer; servers must be given anew."""

    mcp_servers: list[McpServer]
    cwd: str
    session_id: SessionId
    additional_directories: Omittable[list[str]] = UNSET
    meta: Maybe[Metadata] = UNSET


class ListSessionsRequest(Wire):
    """cwd must match exactly; cursor comes unchanged from the page before."""

    cwd: Maybe[str] = UNSET
    cursor: Maybe[str] = UNSET
    meta: Maybe[Metadata] = UNSET


class DeleteSessionRequest(Wire):
    """Takes the session off later lists; deleting a missing one should succeed."""

    session_id: SessionId
    meta: Maybe[Metadata] = UNSET


class ResumeSessionRequest(Wire):
    """Roots and servers are not remembered: send all again; no replay unless asked for."""

    session_id: SessionId
    cwd: str
    additional_directories: Omittable[list[str]] = UNSET
    mcp_servers: Omittable[list[McpServer]] = UNSET
    meta: Maybe[Metadata] = UNSET


class CloseSessionRequest(Wire):
    """Stops the session's work as a cancel would, then lets the agent free it."""

    session_id: SessionId
    meta: Maybe[Metadata] = UNSET


# --- prompts

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] | str


class PromptResponse(Wire):
    """v1 and June: the turn is over; current v2: the message is inserted, work may go on."""

    stop_reason: StopReason
    meta: Maybe[Metadata] = UNSET


class PromptRequest(Wire):
    """User input; holds only blocks the agent takes, commands are written as /name text."""

    session_id: SessionId
    prompt: list[ContentBlock]
    meta: Maybe[Metadata] = UNSET


class CancelNotification(Wire):
    """Stops the running turn; its prompt must still be answered, with cancelled."""

    session_id: SessionId
    meta: Maybe[Metadata] = UNSET
