"""The requests about sessions (open, list, end) and their MCP servers."""

from typing import Any

from accord.errors import LocalProtocolError
from accord.protocol.method import RequestMethod
from accord.protocol.model import UNSET, Unknown
from accord.session.client_requests import (
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
from accord.session.dialect import Binding
from accord.session.editions.shared.bindings import SESSION, bind, decoder, encoder, names
from accord.session.editions.shared.content import OptionCodec
from accord.session.event import CommandsChanged, Event
from accord.session.unset import or_none, or_unset, payload_of

__all__ = ["SessionCodec", "leftover_commands"]

PAGE = names("cwd", "cursor")


class SessionCodec:
    """An edition's sessions; without overrides, those of June, which are v1's without modes."""

    def __init__(self, types: Any, options: OptionCodec) -> None:
        self.types = types
        self.options = options
        self._sse: Any = getattr(types, "McpServerSse", None)

    # --- bindings

    def bindings(self) -> tuple[Binding, ...]:
        """Every request about sessions, each with the capability that it needs."""
        types = self.types
        return (
            self._bind_new(),
            Binding(
                ReopenSession,
                types.SESSION_LOAD,
                self.decode_load,
                self.encode_load,
                self.encode_loaded,
                self.decode_reopened,
                needs="load",
            ),
            Binding(
                ReopenSession,
                types.SESSION_RESUME,
                self.decode_resume,
                self.encode_resume,
                self.encode_resumed,
                self.decode_reopened,
                needs="resume",
            ),
            self._bind_list(needs="listing"),
            bind(CloseSession, types.SESSION_CLOSE, SESSION, needs="close"),
            bind(DeleteSession, types.SESSION_DELETE, SESSION, needs="delete"),
        )

    def _bind_new(self) -> Binding:
        opened = (self.encode_opened, self.decode_opened)
        return Binding(NewSession, self.types.SESSION_NEW, self.decode_new, self.encode_new, *opened)

    def _bind_list(self, *, needs: str = "") -> Binding:
        return Binding(
            ListSessions,
            self.types.SESSION_LIST,
            decoder(ListSessions, PAGE),
            encoder(self.types.ListSessionsRequest, PAGE),
            self.encode_listed,
            self.decode_listed,
            needs=needs,
        )

    def bind_fork(self, method: RequestMethod[Any, Any]) -> Binding:
        """The fork of a session, which only the drafts have."""

        def encode(request: ForkSession) -> Any:
            return method.params(session_id=request.session_id, **self.encode_place(request))

        def decode(params: Any) -> ForkSession:
            return ForkSession(params.session_id, **self.decode_place(params))

        def encode_result(answer: SessionOpened) -> Any:
            return method.result(session_id=answer.session_id, **self.opened_fields(answer))

        return Binding(ForkSession, method, decode, encode, encode_result, self.decode_opened, needs="fork")

    # --- requests

    def encode_new(self, request: NewSession) -> Any:
        return self.types.NewSessionRequest(**self.encode_place(request))

    def decode_new(self, params: Any) -> NewSession:
        return NewSession(**self.decode_place(params))

    def encode_load(self, request: ReopenSession) -> Any:
        """The request for a session with a replay of its conversation; None where no replay is wanted."""
        if not request.replay:
            return None
        return self.types.LoadSessionRequest(session_id=request.session_id, **self.encode_place(request))

    def decode_load(self, params: Any) -> ReopenSession:
        return ReopenSession(params.session_id, replay=True, **self.decode_place(params))

    def encode_resume(self, request: ReopenSession) -> Any:
        """The request for a session without a replay; None where a replay is wanted."""
        if request.replay:
            return None
        return self.types.ResumeSessionRequest(session_id=request.session_id, **self.encode_place(request))

    def decode_resume(self, params: Any) -> ReopenSession:
        return ReopenSession(params.session_id, **self.decode_place(params))

    def encode_place(self, request: NewSession | ReopenSession | ForkSession) -> dict[str, Any]:
        """The directories and MCP servers of a session.

        Raises:
            LocalProtocolError: A server is reached in a way that the edition does not have.
        """
        servers = [self._encode_server(server) for server in request.servers]
        place: dict[str, Any] = {"cwd": request.cwd, "mcp_servers": servers, "meta": request.meta or UNSET}
        return {**place, "additional_directories": list(request.roots)} if request.roots else place

    def decode_place(self, params: Any) -> dict[str, Any]:
        """The directories and MCP servers of a session."""
        return {
            "cwd": params.cwd,
            "roots": params.additional_directories or [],
            "servers": [self._decode_server(server) for server in params.mcp_servers or []],
            "meta": params.meta or None,
        }

    # --- MCP servers

    def _encode_server(self, server: McpServer | Unknown) -> Any:
        if isinstance(server, Unknown):
            return server
        types, meta = self.types, server.meta or UNSET
        if server.type == "stdio":
            env = [types.EnvVariable(name, value) for name, value in server.env]
            return types.McpServerStdio(server.name, server.command, list(server.args), env, meta)
        kind = types.McpServerHttp if server.type == "http" else self._sse
        if kind is None:
            edition = types.__name__.rpartition(".")[2]
            raise LocalProtocolError(
                f"{edition} has no MCP servers over {server.type}", field="servers", expected="stdio or http"
            )
        return kind(server.name, server.url, [types.HttpHeader(name, value) for name, value in server.headers], meta)

    def _decode_server(self, server: Any) -> McpServer | Unknown:
        types = self.types
        if isinstance(server, types.McpServerStdio):
            env = [(variable.name, variable.value) for variable in server.env]
            return McpServer(server.name, "stdio", server.command, server.args, env, meta=server.meta or None)
        is_sse = self._sse is not None and isinstance(server, self._sse)
        if is_sse or isinstance(server, types.McpServerHttp):
            headers = [(header.name, header.value) for header in server.headers]
            kind: Any = "sse" if is_sse else "http"
            return McpServer(server.name, kind, url=server.url, headers=headers, meta=server.meta or None)
        if isinstance(server, Unknown):
            return server
        # The drafts name a further transport; it is kept, for the agent to refuse.
        payload = payload_of(server)
        return Unknown(str(payload["type"]), payload)

    # --- results

    def opened_fields(self, answer: SessionOpened) -> dict[str, Any]:
        """The fields of every response that opens a session; commands have no place (`leftover_commands`)."""
        return {"config_options": self.options.encode(answer.options) or UNSET, "meta": answer.meta or UNSET}

    def decode_session(self, session_id: str, result: Any) -> SessionOpened:
        """A session that is open, from any of the answers."""
        options = self.options.decode(result.config_options or [])
        return SessionOpened(session_id, options, meta=result.meta or None)

    def encode_opened(self, answer: SessionOpened) -> Any:
        return self.types.NewSessionResponse(session_id=answer.session_id, **self.opened_fields(answer))

    def encode_loaded(self, answer: SessionOpened) -> Any:
        return self.types.LoadSessionResponse(**self.opened_fields(answer))

    def encode_resumed(self, answer: SessionOpened) -> Any:
        return self.types.ResumeSessionResponse(**self.opened_fields(answer))

    def decode_opened(self, result: Any, _: object) -> SessionOpened:
        """A new session, whose id is in the answer."""
        return self.decode_session(result.session_id, result)

    def decode_reopened(self, result: Any, request: ReopenSession) -> SessionOpened:
        """A reopened session: the answer does not repeat its id."""
        return self.decode_session(request.session_id, result)

    # --- lists

    def encode_listed(self, answer: SessionsListed) -> Any:
        sessions = [self._encode_summary(session) for session in answer.sessions]
        return self.types.ListSessionsResponse(sessions, or_unset(answer.next_cursor), answer.meta or UNSET)

    def _encode_summary(self, session: SessionSummary) -> Any:
        directories = session.additional_directories
        return self.types.SessionInfo(
            session.id,
            session.cwd,
            title=or_unset(session.title),
            updated_at=or_unset(session.updated_at),
            meta=session.meta or UNSET,
            **({"additional_directories": list(directories)} if directories else {}),
        )

    def decode_listed(self, result: Any, _: object) -> SessionsListed:
        sessions = [
            SessionSummary(
                session.session_id,
                session.cwd,
                session.additional_directories or [],
                or_none(session.title),
                or_none(session.updated_at),
                session.meta or None,
            )
            for session in result.sessions
        ]
        return SessionsListed(sessions, or_none(result.next_cursor), result.meta or None)


def leftover_commands(opened: SessionOpened) -> list[Event]:
    """The commands, for which no answer has a place in v1 and June."""
    return [CommandsChanged(opened.commands)] if opened.commands else []
