"""Sessions: made, found again, listed, ended."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NullIsEmpty, Omittable, Sieved, Wire
from accord.protocol.v2.command import AvailableCommand
from accord.protocol.v2.config import SessionConfigOption
from accord.protocol.v2.content import ContentBlock
from accord.protocol.v2.draft.mcp import McpServer
from accord.protocol.v2.draft.state import StateUpdate
from accord.protocol.v2.ids import AbsolutePath, SessionId, SessionListCursor
from accord.protocol.v2.session import ReplayFrom


class SessionInfo(Wire):
    """Row of a session list; extra roots given here replace any known before."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    title: Lenient[Maybe[str]] = UNSET
    updated_at: Lenient[Maybe[str]] = UNSET
    archived: Lenient[Maybe[bool]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ListSessionsResponse(Wire):
    """One page of sessions; no nextCursor means it was the last."""

    sessions: Lenient[Sieved[list[SessionInfo]]]
    next_cursor: Maybe[SessionListCursor] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ForkSessionResponse(Wire):
    """sessionId belongs to the copy; the original goes on under its own."""

    session_id: SessionId
    config_options: Lenient[Omittable[Sieved[list[SessionConfigOption]]]] = UNSET
    available_commands: Lenient[Omittable[Sieved[list[AvailableCommand]]]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ArchiveSessionResponse(Wire):
    """Empty; also given if the session had been archived before."""

    meta: Lenient[Maybe[Metadata]] = UNSET


class UnarchiveSessionResponse(Wire):
    """Empty; the session is listed again but not loaded."""

    meta: Lenient[Maybe[Metadata]] = UNSET


SessionStatus: TypeAlias = Literal["open", "saved"] | str


class SessionStatusResponse(Wire):
    """True only for the moment; the session may be dropped before the next call."""

    status: SessionStatus
    state: Lenient[Maybe[StateUpdate]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionTitleResponse(Wire):
    """title is what was stored and should be shown; it may differ from the one sent."""

    title: str
    meta: Lenient[Maybe[Metadata]] = UNSET


SystemPromptMode: TypeAlias = Literal["append", "override"] | str


class SystemPrompt(Wire):
    """The client's own instructions; an agent unable to apply them must fail the call."""

    mode: SystemPromptMode
    content: list[ContentBlock]
    meta: Lenient[Maybe[Metadata]] = UNSET


class NewSessionRequest(Wire):
    """cwd must be absolute and is used wherever the agent itself was started."""

    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    system_prompt: Maybe[SystemPrompt] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str


class ListSessionsRequest(Wire):
    """cwd must match exactly; cursor comes unchanged from the page before."""

    cwd: Maybe[AbsolutePath] = UNSET
    cursor: Maybe[SessionListCursor] = UNSET
    archived: Maybe[SessionArchiveFilter] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ForkSessionRequest(Wire):
    """Starts a new session from another's context; the other keeps its history as it is."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    system_prompt: Maybe[SystemPrompt] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ArchiveSessionRequest(Wire):
    """Leaves the session out of default lists but keeps it; an active one is closed first."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class UnarchiveSessionRequest(Wire):
    """Puts the session back into default lists; it is not loaded by this."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class SessionStatusRequest(Wire):
    """Looks without side effects: nothing is loaded, attached or changed."""

    session_id: SessionId
    meta: Lenient[Maybe[Metadata]] = UNSET


class SetSessionTitleRequest(Wire):
    """Works on any listed session; the agent should not overwrite the title by itself."""

    session_id: SessionId
    title: str
    meta: Lenient[Maybe[Metadata]] = UNSET


class ResumeSessionRequest(Wire):
    """Roots and servers are not remembered: send all again; no replay unless asked for."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullIsEmpty[list[AbsolutePath]] = []
    mcp_servers: NullIsEmpty[list[McpServer]] = []
    replay_from: Maybe[ReplayFrom] = UNSET
    system_prompt: Maybe[SystemPrompt] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
