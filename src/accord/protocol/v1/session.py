"""Sessions: made, found again, listed, ended."""

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, Omittable, Sieved, Wire
from accord.protocol.v1.config import SessionConfigOption
from accord.protocol.v1.ids import SessionId
from accord.protocol.v1.mcp import McpServer
from accord.protocol.v1.mode import SessionModeState
from accord.protocol.v1.model import SessionModelState


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
    """cwd must be absolute and is used wherever the agent itself was started."""

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
