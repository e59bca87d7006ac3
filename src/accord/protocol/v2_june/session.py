"""Sessions: made, found again, listed, ended."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, Omittable, Sieved, Wire
from accord.protocol.v2_june.config import SessionConfigOption
from accord.protocol.v2_june.ids import SessionId
from accord.protocol.v2_june.mcp import McpServer


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
    """cwd must be absolute and is used wherever the agent itself was started."""

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
