"""A connected agent: its identity, its capabilities, its sessions; restarted if its process is lost."""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Any, Self

from accord.client.deadline import Deadlines
from accord.client.inbox import ExtensionCallback, Inbox, reopen
from accord.client.launch import AgentLauncher, absolute_path
from accord.client.login import LoginCallback, choose, method_of, run_in_terminal
from accord.client.negotiate import (
    AgentConnection,
    StartAttempt,
    loss_of,
    lost_session,
    negotiate,
    proposals_for_dialect,
)
from accord.client.repeated_request import before_sending, elsewhere
from accord.client.services import Serving, quirks_of
from accord.client.session import Session
from accord.connection import Connection, Observer
from accord.dialects import DialectPlugin
from accord.errors import AuthRequired, ConnectionLost, FrameError, LocalProtocolError, TransportError
from accord.json_values import JsonValue
from accord.session.capability import AgentCapabilities, AuthMethod, Implementation
from accord.session.client_requests import (
    Cancel,
    DeleteSession,
    ForkSession,
    ListSessions,
    Login,
    Logout,
    McpServer,
    NewSession,
    Prompt,
    ReopenSession,
    SessionOpened,
    SessionsListed,
    SessionSummary,
)
from accord.session.dialect import Dialect, proposals_for
from accord.telemetry import OperationSpan, call_span, extension_params
from accord.transport.remote import LinkReport

__all__ = ["ConnectedAgent"]

log = logging.getLogger("accord.client")


class ConnectedAgent:
    """An agent in the client author's API: `info`, `capabilities`, `edition`, its sessions. Made by `accord.connect`.

    As an async context it is opened and closed. If its program is lost it is started again, see `accord.connect`.
    """

    def __init__(  # noqa: PLR0913 - what `connect` decides
        self,
        launcher: AgentLauncher,
        *,
        edition: str,
        client: Implementation,
        serving: Serving,
        deadlines: Deadlines,
        login: LoginCallback | None,
        respawn: bool,
        strict: bool,
        observers: Sequence[Observer],
    ) -> None:
        self._launcher = launcher
        self._edition = edition
        self._plan = proposals_for(edition)
        self._client = client
        self._serving = serving
        self._deadlines = deadlines
        self._login_callback = login
        self._may_respawn = respawn
        self._strict = strict
        self._observers = list(observers)
        self._current: AgentConnection | None = None
        self._lost: ConnectionLost | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._inbox = Inbox(serving)
        self._start_attempt = StartAttempt()
        self._attended: dict[str, AgentConnection] = {}
        self._reviving = asyncio.Lock()
        self._is_closed = False
        self.info: Implementation | None = None
        """The name and version that the agent gave."""
        self.capabilities: AgentCapabilities = AgentCapabilities()
        """The capabilities that the agent declared."""
        self.respawns: int = 0
        """How often the agent's process had to be started again."""
        self.on_respawn: Callable[[ConnectionLost], None] = lambda _: None
        """Called with the reason when the agent was lost and a new process has taken its place."""
        self.on_link: Callable[[LinkReport], None] = lambda _: None
        """Called when the link to the agent's address breaks, is back, or is given up."""
        launcher.on_link = lambda report: self._inbox.report_link(report, self.on_link)

    def __repr__(self) -> str:
        name = "unknown" if self.info is None else f"{self.info.name} {self.info.version}"
        return f"<agent {name}, {self.edition or 'no edition yet'}>"

    def use_dialect(self, dialect: DialectPlugin) -> Self:
        """Speak a dialect with the agent: `async with accord.connect("backend").use_dialect(dialect) as agent:`.

        Call it before the agent is opened; a second dialect replaces the first. `observers` see the dialect's edition.

        Raises:
            LocalProtocolError: The agent is open already, or another edition was insisted on.
        """
        if self._current is not None:
            raise LocalProtocolError("the agent is open: choose the dialect before", field="dialect")
        self._plan = proposals_for_dialect(self._edition, dialect)
        self._inbox.dialect_requests = dialect.agent_requests()
        self._launcher.wrap = functools.partial(dialect.link_to_agent, start_seconds=self._deadlines.start_seconds)
        return self

    # --- life

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> Self:
        """Start the agent and agree on an edition; returns itself, and wants a `close` at the end.

        Raises:
            ConnectFailed: It could not be started.
            ConnectionLost: It ended at once; has its exit status and the end of its stderr.
            NegotiationFailed: There is no edition that both sides speak.
            DeadlineExceeded: It did not answer within `start_seconds`.
        """
        try:
            self._current = await self._start_attempt.run(self._connect(), self._deadlines.start_seconds)
        except TransportError:
            await self._launcher.close()
            if self._launcher.failure is not None:
                raise ConnectionLost("the agent in this process failed") from self._launcher.failure
            raise
        except BaseException:
            await self._launcher.close()
            raise
        self._watcher = asyncio.get_running_loop().create_task(self._watch(self._current))
        return self

    async def close(self) -> None:
        """End the connection, and the agent's program with it; bounded in time."""
        self._is_closed = True
        try:
            await self._inbox.close()
            await self._start_attempt.cancel()
        finally:
            await self._leave()
            await self._launcher.close()
            self._launcher.close_trace()

    async def _leave(self) -> None:
        if self._current is not None:
            await self._current.connection.close()
        if self._watcher is not None:
            await self._watcher

    async def _connect(self) -> AgentConnection:
        connection, dialect, answer = await negotiate(
            self._launcher,
            self._plan,
            self._client,
            self._serving.capabilities,
            self._inbox.listen,
            functools.partial(Connection, side="client", strict=self._strict),
            self._observers,
        )
        self.info, self.capabilities = answer.agent, answer.capabilities
        connected = AgentConnection(connection, dialect)
        self._inbox.facts = connected.facts
        return connected

    async def _watch(self, connected: AgentConnection) -> None:
        reason = await connected.connection.wait_closed()
        self._lost = loss_of(connected.connection, reason, we_closed=self._is_closed)
        # A turn whose prompt was answered (v2) ends as one whose prompt is open: a frame over the limit is no death.
        await self._inbox.lost(reason if isinstance(reason, FrameError) else self._lost)

    @property
    def edition(self) -> str | None:
        """The edition that is spoken: v1, v2 or v2_june."""
        return None if self._current is None else self._current.dialect.edition.name

    @property
    def _dialect(self) -> Dialect:
        return self._connected().dialect

    @property
    def can_reopen_sessions(self) -> bool:
        """Whether the agent can reopen earlier sessions: by load, or by resume."""
        return self.capabilities.load or self._dialect.can_resume(self.capabilities)

    @property
    def connection(self) -> Connection:
        """The connection, for typed calls of the edition that is spoken, and for observers."""
        return self._connected().connection

    def _connected(self) -> AgentConnection:
        if self._current is None:
            raise LocalProtocolError("the agent is not open: use `async with accord.connect(...)`")
        return self._current

    # --- sessions

    async def new_session(
        self,
        cwd: str | os.PathLike[str] = ".",
        *,
        additional_directories: Sequence[str | os.PathLike[str]] = (),
        mcp_servers: Sequence[McpServer] = (),
        meta: dict[str, Any] | None = None,
    ) -> Session:
        """A new session in a directory; `additional_directories` are further ones that it may use.

        Raises:
            AuthRequired: Log in first; `auth_methods` says how.
        """
        place, extra = absolute_path(cwd), [absolute_path(each) for each in additional_directories]
        request = NewSession(place, extra, list(mcp_servers), meta)
        opened = await elsewhere(self, lambda: self._begun(request))
        return self._begin(opened, place, extra, mcp_servers)

    async def load_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        additional_directories: Sequence[str | os.PathLike[str]] = (),
        mcp_servers: Sequence[McpServer] = (),
        key: str | None = None,
    ) -> Session:
        """Open an earlier session; its transcript has the whole conversation.

        `key` is the session's `key` from when it was created here: answers that were remembered for it apply again.

        Raises:
            LocalProtocolError: The agent cannot.
        """
        return await self._reopen(session_id, cwd, additional_directories, mcp_servers, key, replay=True)

    async def resume_session(
        self,
        session_id: str,
        cwd: str | os.PathLike[str] = ".",
        *,
        additional_directories: Sequence[str | os.PathLike[str]] = (),
        mcp_servers: Sequence[McpServer] = (),
        key: str | None = None,
    ) -> Session:
        """Open an earlier session without a replay of its conversation."""
        return await self._reopen(session_id, cwd, additional_directories, mcp_servers, key, replay=False)

    async def fork_session(self, session: Session) -> Session:
        """A new session that begins as a copy of another, where the agent has that (it is unstable)."""
        opened = await self._begun(
            ForkSession(session.id, session.cwd, list(session.additional_directories), [*session.mcp_servers])
        )
        return self._begin(opened, session.cwd, session.additional_directories, session.mcp_servers)

    def _begin(self, opened: SessionOpened, cwd: str, roots: Sequence[str], servers: Sequence[McpServer]) -> Session:
        session = self._make(opened.session_id, cwd, roots, servers)
        self._inbox.deliver_early(session)
        session._opened(opened)
        return session

    async def list_sessions(self, cwd: str | os.PathLike[str] | None = None) -> AsyncIterator[SessionSummary]:
        """All sessions that the agent knows, page by page, of one directory where that is given."""
        cursor: str | None = None
        cursors: set[str] = set()
        while True:
            page: SessionsListed = await self._begun(ListSessions(None if cwd is None else absolute_path(cwd), cursor))
            for summary in page.sessions:
                yield summary
            cursor = page.next_cursor
            if cursor is None or cursor in cursors:
                return
            cursors.add(cursor)

    async def delete_session(self, session_id: str) -> None:
        """Have the agent delete a session that is not open here; `Session.delete` is for one that is.

        Raises:
            LocalProtocolError: The agent cannot.
        """
        await self._begun(DeleteSession(session_id))

    async def _reopen(
        self,
        session_id: str,
        cwd: str | os.PathLike[str],
        roots: Sequence[str | os.PathLike[str]],
        servers: Sequence[McpServer],
        key: str | None,
        *,
        replay: bool,
    ) -> Session:
        place, extra = absolute_path(cwd), [absolute_path(root) for root in roots]

        async def ask() -> Session:
            await self._be_there()
            session = self._make(session_id, place, extra, servers, key)
            try:
                session._opened(await self._reopen_as_able(session, replay=replay))
            except BaseException:
                self._forget(session)
                raise
            return session

        return await elsewhere(self, ask)

    async def _reopen_as_able(self, session: Session, *, replay: bool) -> SessionOpened:
        request = ReopenSession(
            session.id, session.cwd, list(session.additional_directories), [*session.mcp_servers], replay
        )
        can_resume, can_load = self._dialect.can_resume(self.capabilities), self.capabilities.load
        session._is_reopening = True
        try:
            return await reopen(request, self._gated, self._inbox.muted, can_resume=can_resume, can_load=can_load)
        finally:
            session._is_reopening = False
            # Where the agent shows the prompts, it says which messages are theirs.
            session._late.is_possible = session._turns.rule == "end" and quirks_of(self.info).repeats_prompts

    def _make(
        self, session_id: str, cwd: str, roots: Sequence[str], servers: Sequence[Any], key: str | None = None
    ) -> Session:
        session = Session(self, session_id, cwd, roots, servers, self._deadlines)
        session.key = key or session.key
        self._inbox.add(session)
        self._attended[session_id] = self._connected()
        return session

    def session(self, session_id: str) -> Session | None:
        """The session of an id, while it is open here."""
        return self._inbox.find(session_id)

    def _forget(self, session: Session) -> None:
        self._attended.pop(session.id, None)
        self._inbox.remove(session)

    async def _begun(self, request: Any) -> Any:
        await self._be_there()
        return await self._gated(request)

    # --- loss and restart

    async def _attend(self, session: Session) -> None:
        """Ensure that the agent has the session open; restart the agent if it was lost, once for each loss.

        Raises:
            ConnectionLost: It is gone, and cannot be restarted.
        """
        connected = self._connected()
        if connected.connection.is_open and self._attended.get(session.id) is connected:
            return
        async with before_sending(self._reviving):
            await self._revive()
            connected = self._connected()
            if self._attended.get(session.id) is connected:
                return
            if not self.can_reopen_sessions:
                raise lost_session(self._lost)
            session._reopened(connected.dialect)
            self._inbox.add(session)
            session._opened(await self._reopen_as_able(session, replay=False))
            self._attended[session.id] = self._connected()  # a login in between may have started it once more

    async def _be_there(self) -> None:
        """Ensure that the agent is connected, for requests that need no open session."""
        if not self._connected().connection.is_open:
            async with before_sending(self._reviving):
                await self._revive()

    async def _revive(self) -> None:
        if self._connected().connection.is_open:
            return
        if self._watcher is not None:
            await self._watcher  # which gives the reason, and ends the services of the old process first
        reason = self._lost or ConnectionLost("the agent is gone")
        if self._is_closed or not self._may_respawn or not self._launcher.can_reopen:
            raise copy.copy(reason)
        log.warning("the agent is started again: %s", reason)
        await self.open()
        self.respawns += 1
        self.on_respawn(reason)

    # --- requests

    _elsewhere = elsewhere

    async def _request(self, request: Any, **options: Any) -> Any:
        """Send one of the requests of `accord.session.client_requests`: see `AgentConnection.request`."""
        return await self._connected().request(request, self.capabilities, **options)

    def _prompt_span(self, prompt: Prompt) -> OperationSpan:
        return self._connected().prompt_span(prompt)

    def _cancel(self, request: Cancel) -> None:
        connected = self._connected()
        try:
            connected.connection.post(connected.dialect.cancel, connected.dialect.encode_cancel(request))
        except TransportError:
            log.debug("a cancel was not sent: the agent is gone")

    async def _gated(self, request: Any) -> Any:
        try:
            return await self._request(request)
        except AuthRequired as error:
            method = await choose(self._login_callback, self.capabilities.auth_methods, error)
        await self._login(method)
        return await self._request(request)

    @property
    def auth_methods(self) -> list[AuthMethod]:
        """The ways to log in to the agent."""
        return self.capabilities.auth_methods

    async def login(self, method_id: str) -> None:
        """Log in by one of `auth_methods`: by a call, or on this terminal, after which the agent is started again.

        Raises:
            ValueError: There is no such method.
            ConnectFailed: The login program failed.
        """
        async with self._reviving:
            await self._login(method_of(self.auth_methods, method_id))

    async def _login(self, method: AuthMethod) -> None:
        if method.type != "terminal":
            await self._request(Login(method.id))
            return
        argv = self._launcher.argv
        if argv is None:
            raise LocalProtocolError("a login in a terminal needs an agent that is a program")
        await run_in_terminal(argv, method, self._launcher.env, self._launcher.program_cwd)
        await self._leave()
        await self.open()

    async def logout(self) -> None:
        """Forget the login."""
        await self._request(Logout())

    async def request(
        self, method: str, params: JsonValue = None, *, timeout_seconds: float | None = None
    ) -> JsonValue:
        """Call an extension method (`_name`); params and result are plain JSON."""
        connected = self._connected()
        connection = connected.connection
        with call_span("client", method, params, connected.facts, connection.next_request_id) as span:
            given = extension_params(span, params)
            return await connection.call_extension(method, given, timeout_seconds=timeout_seconds)

    async def notify(self, method: str, params: JsonValue = None) -> None:
        """Send an extension notification (`_name`)."""
        await self._connected().connection.notify_extension(method, params)

    def on_request(self, method: str, handler: ExtensionCallback) -> None:
        """Answer an extension request of the agent; register it before the agent is opened."""
        self._inbox.requests[method] = handler

    def on_notification(self, method: str, handler: ExtensionCallback) -> None:
        """Take an extension notification of the agent; register it before the agent is opened."""
        self._inbox.notifications[method] = handler
