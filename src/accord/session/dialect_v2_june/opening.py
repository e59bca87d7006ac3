"""Sessions opened, found again and ended, in the June draft: load replays and resume does not; no forks."""

from typing import assert_never

from accord.errors import LocalProtocolError
from accord.protocol import v2_june
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.ask import (
    CloseSession,
    DeleteSession,
    ListSessions,
    McpServer,
    NewSession,
    ReopenSession,
    SessionOpened,
    SessionsListed,
    SessionSummary,
)
from accord.session.dialect_v2_june.option import options_in, options_out
from accord.session.event import CommandsChanged, Event
from accord.session.option import ConfigOption
from accord.session.presence import given, told

__all__ = [
    "close_in",
    "close_out",
    "delete_in",
    "delete_out",
    "left_over",
    "list_in",
    "list_out",
    "listed_in",
    "listed_out",
    "load_in",
    "load_out",
    "loaded_out",
    "new_in",
    "new_out",
    "opened_in",
    "opened_out",
    "reopened_in",
    "resume_in",
    "resume_out",
    "resumed_out",
]


# ── opening ──


def new_out(ask: NewSession) -> v2_june.NewSessionRequest:
    """A new session.

    Raises:
        LocalProtocolError: It is to use an MCP server over SSE.
    """
    return v2_june.NewSessionRequest(ask.cwd, _servers_out(ask.servers), ask.roots or UNSET, ask.meta or UNSET)


def new_in(params: v2_june.NewSessionRequest) -> NewSession:
    """A new session."""
    return NewSession(
        params.cwd, params.additional_directories or [], _servers_in(params.mcp_servers), params.meta or None
    )


def opened_out(answer: SessionOpened) -> v2_june.NewSessionResponse:
    """A new session's id and options; commands have no place (`left_over`)."""
    return v2_june.NewSessionResponse(answer.session_id, options_out(answer.options) or UNSET, answer.meta or UNSET)


def opened_in(result: v2_june.NewSessionResponse, _: NewSession) -> SessionOpened:
    """A new session's id and options."""
    return SessionOpened(result.session_id, _options_in(result.config_options), meta=result.meta or None)


def load_out(ask: ReopenSession) -> v2_june.LoadSessionRequest | None:
    """A session from before with its conversation; nothing where that is not wanted.

    Raises:
        LocalProtocolError: It is to use an MCP server over SSE.
    """
    if not ask.replay:
        return None
    return v2_june.LoadSessionRequest(
        _servers_out(ask.servers), ask.cwd, ask.session_id, ask.roots or UNSET, ask.meta or UNSET
    )


def load_in(params: v2_june.LoadSessionRequest) -> ReopenSession:
    """A session from before, with its conversation."""
    return ReopenSession(
        params.session_id,
        params.cwd,
        params.additional_directories or [],
        _servers_in(params.mcp_servers),
        replay=True,
        meta=params.meta or None,
    )


def resume_out(ask: ReopenSession) -> v2_june.ResumeSessionRequest | None:
    """A session from before without its conversation; nothing where that is wanted.

    Raises:
        LocalProtocolError: It is to use an MCP server over SSE.
    """
    if ask.replay:
        return None
    return v2_june.ResumeSessionRequest(
        ask.session_id, ask.cwd, ask.roots or UNSET, _servers_out(ask.servers), ask.meta or UNSET
    )


def resume_in(params: v2_june.ResumeSessionRequest) -> ReopenSession:
    """A session from before, without its conversation."""
    return ReopenSession(
        params.session_id,
        params.cwd,
        params.additional_directories or [],
        _servers_in(params.mcp_servers or []),
        meta=params.meta or None,
    )


def loaded_out(answer: SessionOpened) -> v2_june.LoadSessionResponse:
    """The options, after the last that was replayed."""
    return v2_june.LoadSessionResponse(options_out(answer.options) or UNSET, answer.meta or UNSET)


def resumed_out(answer: SessionOpened) -> v2_june.ResumeSessionResponse:
    """The options."""
    return v2_june.ResumeSessionResponse(options_out(answer.options) or UNSET, answer.meta or UNSET)


def reopened_in(
    result: v2_june.LoadSessionResponse | v2_june.ResumeSessionResponse, ask: ReopenSession
) -> SessionOpened:
    """The options of the session that was asked for: the answer does not repeat its id."""
    return SessionOpened(ask.session_id, _options_in(result.config_options), meta=result.meta or None)


def left_over(opened: SessionOpened) -> list[Event]:
    """The commands, which no answer has a place for."""
    return [CommandsChanged(opened.commands)] if opened.commands else []


def _options_in(options: Maybe[list[v2_june.SessionConfigOption]]) -> list[ConfigOption]:
    return options_in(options or [])


# ── MCP servers ──


def _servers_out(servers: list[McpServer | Unknown]) -> list[v2_june.McpServer]:
    return [server if isinstance(server, Unknown) else _server_out(server) for server in servers]


def _server_out(server: McpServer) -> v2_june.McpServer:
    meta = server.meta or UNSET
    match server.type:
        case "stdio":
            env = [v2_june.EnvVariable(name, value) for name, value in server.env]
            return v2_june.McpServerStdio(server.name, server.command, server.args, env, meta)
        case "http":
            headers = [v2_june.HttpHeader(name, value) for name, value in server.headers]
            return v2_june.McpServerHttp(server.name, server.url, headers, meta)
        case "sse":
            raise LocalProtocolError(
                "v2_june has no MCP servers over SSE", field="servers", expected="a server over stdio or http"
            )
        case _:
            assert_never(server.type)


def _servers_in(servers: list[v2_june.McpServer]) -> list[McpServer | Unknown]:
    return [server if isinstance(server, Unknown) else _server_in(server) for server in servers]


def _server_in(server: v2_june.McpServerStdio | v2_june.McpServerHttp) -> McpServer:
    meta = server.meta or None
    if isinstance(server, v2_june.McpServerStdio):
        env = [(variable.name, variable.value) for variable in server.env]
        return McpServer(server.name, command=server.command, args=server.args, env=env, meta=meta)
    headers = [(header.name, header.value) for header in server.headers]
    return McpServer(server.name, "http", url=server.url, headers=headers, meta=meta)


# ── lists, and the end ──


def list_out(ask: ListSessions) -> v2_june.ListSessionsRequest:
    """One page of the sessions."""
    return v2_june.ListSessionsRequest(given(ask.cwd), given(ask.cursor), ask.meta or UNSET)


def list_in(params: v2_june.ListSessionsRequest) -> ListSessions:
    """One page of the sessions."""
    return ListSessions(told(params.cwd), told(params.cursor), params.meta or None)


def listed_out(answer: SessionsListed) -> v2_june.ListSessionsResponse:
    """The sessions of one page."""
    sessions = [
        v2_june.SessionInfo(
            session.id,
            session.cwd,
            session.additional_directories or UNSET,
            given(session.title),
            given(session.updated_at),
            session.meta or UNSET,
        )
        for session in answer.sessions
    ]
    return v2_june.ListSessionsResponse(sessions, given(answer.next_cursor), answer.meta or UNSET)


def listed_in(result: v2_june.ListSessionsResponse, _: ListSessions) -> SessionsListed:
    """The sessions of one page."""
    sessions = [
        SessionSummary(
            session.session_id,
            session.cwd,
            session.additional_directories or [],
            told(session.title),
            told(session.updated_at),
            session.meta or None,
        )
        for session in result.sessions
    ]
    return SessionsListed(sessions, told(result.next_cursor), result.meta or None)


def close_out(ask: CloseSession) -> v2_june.CloseSessionRequest:
    """The end of a session's work."""
    return v2_june.CloseSessionRequest(ask.session_id, ask.meta or UNSET)


def close_in(params: v2_june.CloseSessionRequest) -> CloseSession:
    """The end of a session's work."""
    return CloseSession(params.session_id, params.meta or None)


def delete_out(ask: DeleteSession) -> v2_june.DeleteSessionRequest:
    """The end of a session."""
    return v2_june.DeleteSessionRequest(ask.session_id, ask.meta or UNSET)


def delete_in(params: v2_june.DeleteSessionRequest) -> DeleteSession:
    """The end of a session."""
    return DeleteSession(params.session_id, params.meta or None)
