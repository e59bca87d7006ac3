"""Sessions in v1: made, loaded with their conversation or resumed without, forked, listed, closed, deleted.

Toggles that a client cannot show are the agent's to leave out: nothing here knows the client.
"""

from typing import Literal, TypeAlias, assert_never

from accord.protocol import v1
from accord.protocol.model import UNSET, Unknown, UnsetType
from accord.protocol.v1 import draft
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
from accord.session.dialect_v1.mirror import mirrored_in, models_out, modes_out
from accord.session.dialect_v1.option import options_in, options_out
from accord.session.event import CommandsChanged, Event
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
    "server_in",
    "server_out",
]

Opened: TypeAlias = (
    v1.NewSessionResponse | v1.LoadSessionResponse | v1.ResumeSessionResponse | draft.ForkSessionResponse
)


# --- MCP servers


def server_out(server: McpServer | Unknown) -> v1.McpServer:
    """One server; a program has no type in v1."""
    if isinstance(server, Unknown):
        return server
    meta = server.meta or UNSET
    if server.type == "stdio":
        env = [v1.EnvVariable(name, value) for name, value in server.env]
        return v1.McpServerStdio(server.name, server.command, server.args, env, meta)
    kind = v1.McpServerHttp if server.type == "http" else v1.McpServerSse
    return kind(server.name, server.url, [v1.HttpHeader(name, value) for name, value in server.headers], meta)


def server_in(server: v1.McpServer | draft.McpServer) -> McpServer | Unknown:
    """One server; what is reached in a way that the core does not know is kept as it came."""
    match server:
        case v1.McpServerStdio():
            env = [(variable.name, variable.value) for variable in server.env]
            return McpServer(server.name, "stdio", server.command, server.args, env, meta=server.meta or None)
        case v1.McpServerHttp() | v1.McpServerSse():
            headers = [(header.name, header.value) for header in server.headers]
            kind: Literal["http", "sse"] = "http" if isinstance(server, v1.McpServerHttp) else "sse"
            return McpServer(server.name, kind, url=server.url, headers=headers, meta=server.meta or None)
        case draft.McpServerAcp():
            return Unknown("acp", payload_of(server))
        case Unknown():
            return server
        case _:
            assert_never(server)


def _servers_out(servers: list[McpServer | Unknown]) -> list[v1.McpServer]:
    return [server_out(server) for server in servers]


def _servers_in(servers: list[v1.McpServer] | list[draft.McpServer]) -> list[McpServer | Unknown]:
    return [server_in(server) for server in servers]


# --- opening


def new_out(ask: NewSession) -> v1.NewSessionRequest:
    """A new session."""
    return v1.NewSessionRequest(ask.cwd, _servers_out(ask.servers), ask.roots, ask.meta or UNSET)


def new_in(params: v1.NewSessionRequest) -> NewSession:
    """A new session."""
    servers = _servers_in(params.mcp_servers)
    return NewSession(params.cwd, params.additional_directories, servers, params.meta or None)


def load_out(ask: ReopenSession) -> v1.LoadSessionRequest | None:
    """A session with its conversation told again; nothing where that is not wanted."""
    if not ask.replay:
        return None
    servers = _servers_out(ask.servers)
    return v1.LoadSessionRequest(servers, ask.cwd, ask.session_id, ask.roots, ask.meta or UNSET)


def load_in(params: v1.LoadSessionRequest) -> ReopenSession:
    """A session with its conversation told again."""
    return _reopen_in(params, replay=True)


def resume_out(ask: ReopenSession) -> v1.ResumeSessionRequest | None:
    """A session as it is; nothing where its conversation is wanted."""
    if ask.replay:
        return None
    servers = _servers_out(ask.servers)
    return v1.ResumeSessionRequest(ask.session_id, ask.cwd, ask.roots, servers, ask.meta or UNSET)


def resume_in(params: v1.ResumeSessionRequest) -> ReopenSession:
    """A session as it is."""
    return _reopen_in(params, replay=False)


def _reopen_in(params: v1.LoadSessionRequest | v1.ResumeSessionRequest, *, replay: bool) -> ReopenSession:
    servers = _servers_in(params.mcp_servers)
    roots, meta = params.additional_directories, params.meta or None
    return ReopenSession(params.session_id, params.cwd, roots, servers, replay=replay, meta=meta)


def fork_out(ask: ForkSession) -> draft.ForkSessionRequest:
    """A copy of a session; only the draft has it."""
    servers: list[draft.McpServer] = [server_out(server) for server in ask.servers]
    return draft.ForkSessionRequest(ask.session_id, ask.cwd, ask.roots, servers, meta=ask.meta or UNSET)


def fork_in(params: draft.ForkSessionRequest) -> ForkSession:
    """A copy of a session."""
    servers = _servers_in(params.mcp_servers)
    return ForkSession(params.session_id, params.cwd, params.additional_directories, servers, params.meta or None)


# --- what is answered


def _options_out(answer: SessionOpened) -> list[v1.SessionConfigOption] | UnsetType:
    return options_out(answer.options, toggles=True) or UNSET


def _models_out(answer: SessionOpened) -> v1.SessionModelState | UnsetType:
    return models_out(answer.options) if answer.models else UNSET


def opened_out(answer: SessionOpened) -> v1.NewSessionResponse:
    """The answer to a new session."""
    return v1.NewSessionResponse(
        answer.session_id,
        modes_out(answer.options),
        _options_out(answer),
        _models_out(answer),
        answer.meta or UNSET,
    )


def loaded_out(answer: SessionOpened) -> v1.LoadSessionResponse:
    """The answer to a loaded session."""
    return v1.LoadSessionResponse(
        modes_out(answer.options), _options_out(answer), _models_out(answer), answer.meta or UNSET
    )


def resumed_out(answer: SessionOpened) -> v1.ResumeSessionResponse:
    """The answer to a resumed session; newer than the models."""
    return v1.ResumeSessionResponse(modes_out(answer.options), _options_out(answer), answer.meta or UNSET)


def forked_out(answer: SessionOpened) -> draft.ForkSessionResponse:
    """The answer to a fork; newer than the models."""
    options = _options_out(answer)
    return draft.ForkSessionResponse(answer.session_id, modes_out(answer.options), options, answer.meta or UNSET)


def opened_in(result: v1.NewSessionResponse | draft.ForkSessionResponse, _: object) -> SessionOpened:
    """A session that has got its id now."""
    return _opened_in(result.session_id, result)


def reopened_in(result: v1.LoadSessionResponse | v1.ResumeSessionResponse, ask: ReopenSession) -> SessionOpened:
    """A session that had its id before."""
    return _opened_in(ask.session_id, result)


def _opened_in(session_id: str, result: Opened) -> SessionOpened:
    models = result.models if isinstance(result, v1.NewSessionResponse | v1.LoadSessionResponse) else UNSET
    options = mirrored_in(options_in(result.config_options or []), result.modes, models)
    return SessionOpened(session_id, options, models=bool(models), meta=result.meta or None)


def left_over(opened: SessionOpened) -> list[Event]:
    """The commands, for which no answer has a place."""
    return [CommandsChanged(opened.commands)] if opened.commands else []


# --- listing and ending


def list_out(ask: ListSessions) -> v1.ListSessionsRequest:
    """One page of sessions."""
    return v1.ListSessionsRequest(given(ask.cwd), given(ask.cursor), ask.meta or UNSET)


def list_in(params: v1.ListSessionsRequest) -> ListSessions:
    """One page of sessions."""
    return ListSessions(told(params.cwd), told(params.cursor), params.meta or None)


def listed_out(answer: SessionsListed) -> v1.ListSessionsResponse:
    """The page."""
    sessions = [_summary_out(session) for session in answer.sessions]
    return v1.ListSessionsResponse(sessions, given(answer.next_cursor), answer.meta or UNSET)


def _summary_out(session: SessionSummary) -> v1.SessionInfo:
    return v1.SessionInfo(
        session.id,
        session.cwd,
        session.additional_directories or UNSET,
        given(session.title),
        given(session.updated_at),
        session.meta or UNSET,
    )


def listed_in(result: v1.ListSessionsResponse, _: object) -> SessionsListed:
    """The page."""
    sessions = [
        SessionSummary(
            info.session_id,
            info.cwd,
            info.additional_directories or [],
            told(info.title),
            told(info.updated_at),
            info.meta or None,
        )
        for info in result.sessions
    ]
    return SessionsListed(sessions, told(result.next_cursor), result.meta or None)


def close_out(ask: CloseSession) -> v1.CloseSessionRequest:
    """Stop a session."""
    return v1.CloseSessionRequest(ask.session_id, ask.meta or UNSET)


def close_in(params: v1.CloseSessionRequest) -> CloseSession:
    """Stop a session."""
    return CloseSession(params.session_id, params.meta or None)


def delete_out(ask: DeleteSession) -> v1.DeleteSessionRequest:
    """Forget a session."""
    return v1.DeleteSessionRequest(ask.session_id, ask.meta or UNSET)


def delete_in(params: v1.DeleteSessionRequest) -> DeleteSession:
    """Forget a session."""
    return DeleteSession(params.session_id, params.meta or None)
