"""Sessions in v2: one call reopens them, with a cursor where their conversation is to be told again."""

from typing import Any

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol import v2
from accord.protocol.model import UNSET, Unknown
from accord.protocol.v2 import draft
from accord.session.ask import (
    CloseSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    McpServer,
    NewSession,
    ReopenSession,
    SessionOpened,
    SessionsListed,
    SessionSummary,
)
from accord.session.dialect_v2.option import commands_in, commands_out, options_in, options_out
from accord.session.presence import given, told
from accord.session.unheard import payload_of

__all__ = [
    "close_in",
    "close_out",
    "delete_in",
    "delete_out",
    "fork_in",
    "fork_out",
    "forked_out",
    "list_in",
    "list_out",
    "listed_in",
    "listed_out",
    "new_in",
    "new_out",
    "opened_in",
    "opened_out",
    "reopen_in",
    "reopen_out",
    "reopened_in",
    "reopened_out",
    "servers_in",
    "servers_out",
]


def servers_out(servers: list[McpServer | Unknown]) -> list[Any]:
    """The MCP servers.

    Raises:
        LocalProtocolError: One of them is reached by `sse`.
    """
    return [_server_out(server) for server in servers]


def _server_out(server: McpServer | Unknown) -> v2.McpServer:
    if isinstance(server, Unknown):
        return server
    meta = server.meta or UNSET
    if server.type == "stdio":
        env = [v2.EnvVariable(name, value) for name, value in server.env]
        return v2.McpServerStdio(server.name, server.command, list(server.args), env, meta)
    if server.type == "http":
        headers = [v2.HttpHeader(name, value) for name, value in server.headers]
        return v2.McpServerHttp(server.name, server.url, headers, meta)
    raise LocalProtocolError(
        f"v2 has no MCP servers that are reached by {server.type}", field="mcpServers.type", expected="stdio or http"
    )


def servers_in(servers: list[Any]) -> list[McpServer | Unknown]:
    """The MCP servers; one with another transport is kept, for the agent to refuse."""
    return [_server_in(server) for server in servers]


def _server_in(server: v2.McpServer) -> McpServer | Unknown:
    match server:
        case v2.McpServerStdio():
            env = [(variable.name, variable.value) for variable in server.env]
            return McpServer(server.name, "stdio", server.command, server.args, env, meta=server.meta or None)
        case v2.McpServerHttp():
            headers = [(header.name, header.value) for header in server.headers]
            return McpServer(server.name, "http", url=server.url, headers=headers, meta=server.meta or None)
        case Unknown():
            return server
        case _:
            # The draft names a further transport.
            payload = payload_of(server)
            return Unknown(str(payload["type"]), payload)


def new_out(ask: NewSession) -> v2.NewSessionRequest:
    """A new session."""
    return v2.NewSessionRequest(ask.cwd, list(ask.roots), servers_out(ask.servers), ask.meta or UNSET)


def new_in(params: v2.NewSessionRequest) -> NewSession:
    """A new session."""
    servers = servers_in(params.mcp_servers)
    return NewSession(params.cwd, params.additional_directories, servers, params.meta or None)


def opened_out(answer: SessionOpened) -> v2.NewSessionResponse:
    """The session is there."""
    return v2.NewSessionResponse(answer.session_id, **_opened_out(answer))


def opened_in(result: v2.NewSessionResponse | draft.ForkSessionResponse, _: NewSession | ForkSession) -> SessionOpened:
    """The session is there."""
    return _opened_in(result.session_id, result)


def reopen_out(ask: ReopenSession) -> v2.ResumeSessionRequest:
    """A session from before."""
    return v2.ResumeSessionRequest(
        ask.session_id,
        ask.cwd,
        list(ask.roots),
        servers_out(ask.servers),
        v2.ReplayFromStart() if ask.replay else UNSET,
        ask.meta or UNSET,
    )


def reopen_in(params: v2.ResumeSessionRequest) -> ReopenSession:
    """A session from before.

    Raises:
        InvalidParams: The replay should begin where this edition does not know.
    """
    # v2 rule 27: never a silent substitute.
    if isinstance(params.replay_from, Unknown):
        raise InvalidParams(data={"field": "replayFrom.type", "expected": "start"})
    return ReopenSession(
        params.session_id,
        params.cwd,
        params.additional_directories,
        servers_in(params.mcp_servers),
        replay=told(params.replay_from) is not None,
        meta=params.meta or None,
    )


def reopened_out(answer: SessionOpened) -> v2.ResumeSessionResponse:
    """The session can be used again."""
    return v2.ResumeSessionResponse(**_opened_out(answer))


def reopened_in(result: v2.ResumeSessionResponse, ask: ReopenSession) -> SessionOpened:
    """The session can be used again."""
    return _opened_in(ask.session_id, result)


def fork_out(ask: ForkSession) -> draft.ForkSessionRequest:
    """A copy of a session."""
    servers = servers_out(ask.servers)
    return draft.ForkSessionRequest(ask.session_id, ask.cwd, list(ask.roots), servers, meta=ask.meta or UNSET)


def fork_in(params: draft.ForkSessionRequest) -> ForkSession:
    """A copy of a session."""
    servers = servers_in(params.mcp_servers)
    return ForkSession(params.session_id, params.cwd, params.additional_directories, servers, params.meta or None)


def forked_out(answer: SessionOpened) -> draft.ForkSessionResponse:
    """The copy is there."""
    return draft.ForkSessionResponse(answer.session_id, **_opened_out(answer))


def _opened_out(answer: SessionOpened) -> dict[str, Any]:
    return {
        "config_options": options_out(answer.options) or UNSET,
        "available_commands": commands_out(answer.commands) or UNSET,
        "meta": answer.meta or UNSET,
    }


def _opened_in(
    session_id: str, result: v2.NewSessionResponse | v2.ResumeSessionResponse | draft.ForkSessionResponse
) -> SessionOpened:
    return SessionOpened(
        session_id,
        options_in(result.config_options or []),
        commands_in(result.available_commands or []),
        meta=result.meta or None,
    )


def list_out(ask: ListSessions) -> v2.ListSessionsRequest:
    """One page of the sessions."""
    return v2.ListSessionsRequest(given(ask.cwd), given(ask.cursor), ask.meta or UNSET)


def list_in(params: v2.ListSessionsRequest) -> ListSessions:
    """One page of the sessions."""
    return ListSessions(told(params.cwd), told(params.cursor), params.meta or None)


def listed_out(answer: SessionsListed) -> v2.ListSessionsResponse:
    """Some sessions."""
    sessions = [
        v2.SessionInfo(
            session.id,
            session.cwd,
            list(session.additional_directories),
            given(session.title),
            given(session.updated_at),
            session.meta or UNSET,
        )
        for session in answer.sessions
    ]
    return v2.ListSessionsResponse(sessions, given(answer.next_cursor), answer.meta or UNSET)


def listed_in(result: v2.ListSessionsResponse, _: ListSessions) -> SessionsListed:
    """Some sessions."""
    sessions = [
        SessionSummary(
            session.session_id,
            session.cwd,
            session.additional_directories,
            told(session.title),
            told(session.updated_at),
            session.meta or None,
        )
        for session in result.sessions
    ]
    return SessionsListed(sessions, told(result.next_cursor), result.meta or None)


def close_out(ask: CloseSession) -> v2.CloseSessionRequest:
    """Stop and free a session."""
    return v2.CloseSessionRequest(ask.session_id, ask.meta or UNSET)


def close_in(params: v2.CloseSessionRequest) -> CloseSession:
    """Stop and free a session."""
    return CloseSession(params.session_id, params.meta or None)


def delete_out(ask: DeleteSession) -> v2.DeleteSessionRequest:
    """Forget a session."""
    return v2.DeleteSessionRequest(ask.session_id, ask.meta or UNSET)


def delete_in(params: v2.DeleteSessionRequest) -> DeleteSession:
    """Forget a session."""
    return DeleteSession(params.session_id, params.meta or None)
