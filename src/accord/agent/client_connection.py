"""The agent's end of one connection: the handshake, the client's sessions and every request that the client may send.

A request arrives as one of `accord.session.client_requests`, in every edition; a table names the method of
`ClientConnection` that serves it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, cast

from accord.agent.client import Client
from accord.agent.open_prompt import EarlyPrompt, OpenPrompt
from accord.agent.registrations import LoginGate, Registrations, called
from accord.agent.request_errors import answerable
from accord.agent.session import Session
from accord.agent.session_registry import InUse, SessionRegistry
from accord.agent.settings import OptionValue, Settings
from accord.agent.shared_sessions import SharedSessions
from accord.agent.turn_runner import TurnRunner
from accord.connection import Connection, Handlers, current_request
from accord.errors import InvalidParams, LocalProtocolError, StoreError
from accord.json_values import JsonValue
from accord.session.capability import AgentCapabilities, ClientCapabilities
from accord.session.client_requests import (
    CancelTerminal,
    CancelTool,
    CloseSession,
    DeleteSession,
    Done,
    ForkSession,
    Initialize,
    Initialized,
    ListSessions,
    Login,
    Logout,
    NewSession,
    OptionsSet,
    Prompt,
    ReopenSession,
    SessionOpened,
    SessionsListed,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.dialect import DIALECTS, Binding, Dialect, DialectLoader
from accord.session.turn_io import CancelRequested
from accord.stores.interface import Store
from accord.telemetry import NO_SPAN, LinkFacts, call_span, note_answer, served_span, with_context
from accord.transport import Transport

__all__ = ["ClientConnection", "Extension"]

log = logging.getLogger("accord.agent")

# The reasons of a store that are no trouble of the store.
CLIENTS_FAULTS = frozenset({"unknown_session", "in_use", "not_owned", "bad_cursor", "lost"})
# Pages of sessions may be large: so many are made at once, see `Handlers.on`.
LISTS_AT_ONCE = 4


class Extension:
    """A call of an extension method. Made for each call and given to its handler."""

    __slots__ = ("client", "params", "session")

    def __init__(self, params: Any, client: Client, session: Session | None) -> None:
        self.params: JsonValue = params
        """The parameters, plain JSON."""
        self.client: Client = client
        """The client that called."""
        self.session: Session | None = session
        """The session that the parameters name, if it is open."""


class ClientConnection:
    def __init__(  # noqa: PLR0913 - what an agent has, passed on
        self,
        transport: Transport,
        registrations: Registrations,
        store: Store | None,
        gate: LoginGate,
        *,
        strict: bool,
        drafts: bool,
        cancel_grace_seconds: float,
        in_use: InUse = "error",
        shared: SharedSessions | None = None,
        principal: str | None = None,
    ) -> None:
        self._registrations = registrations
        self._gate = gate
        self._drafts = drafts
        self._served: AgentCapabilities = registrations.capabilities(stored=store is not None, drafts=drafts)
        self.capabilities = ClientCapabilities()
        handlers = Handlers()
        editions = [loader.edition(drafts=drafts) for loader in DIALECTS]
        self.connection = Connection(transport, "agent", handlers, editions=editions, strict=strict)
        self._handlers = handlers
        for loader in DIALECTS:
            handlers.offer(loader.edition(drafts=drafts), functools.partial(self._bind, loader))
        for name in registrations.requests:
            handlers.on_extension_request(
                name, functools.partial(self._extension, registrations.threads.call, registrations.requests[name])
            )
        for name in registrations.notifications:
            # They come one after the other: without `async` they stay on the loop, as listeners do.
            handler = functools.partial(self._extension, called, registrations.notifications[name])
            handlers.on_extension_notification(name, handler)
        self._dialect: Dialect | None = None
        self._client: Client | None = None
        self._early: dict[str, list[EarlyPrompt]] = {}
        """The prompts that wait for the opening of their sessions, in the order of their arrival."""
        self._sessions = SessionRegistry(
            registrations,
            store,
            self,
            self.connection,
            self._served,
            grace_seconds=cancel_grace_seconds,
            in_use=in_use,
            shared=shared,
            principal=principal,
        )

    async def serve(self) -> None:
        """Serve the client until it is gone; nothing of its sessions is left then."""
        try:
            async with self.connection:
                lost = await self.connection.wait_closed()
                if lost is not None:
                    log.warning("the client is gone: %s", lost)
        finally:
            await asyncio.shield(self._sessions.close())

    # --- the handshake

    def _bind(self, loader: DialectLoader) -> None:
        """Register the handlers of the edition that was selected."""
        dialect = loader.dialect(drafts=self._drafts)
        for binding in (*dialect.agent_bindings, *(dialect.draft_bindings if self._drafts else ())):
            if binding.needs and not getattr(self._served, binding.needs):
                continue
            if binding.request is Prompt:
                self._handlers.on(binding.method, functools.partial(self._prompt, binding))
                self._handlers.on_arrival(binding.method, functools.partial(self._prompt_arrived, binding))
            else:
                serve = self._SERVERS[binding.request]
                share = LISTS_AT_ONCE if binding.request is ListSessions else 0
                self._handlers.on(binding.method, functools.partial(self._serve, dialect, binding, serve), share=share)
        self._handlers.on_arrival(dialect.cancel, functools.partial(self._cancel_arrived, dialect))

    async def _serve(self, dialect: Dialect, binding: Binding, serve: Callable[[Any, Any], Any], params: Any) -> Any:
        request = binding.decode_params(params)
        if binding.request is Initialize:
            self._dialect = dialect
        with served_span(binding.method.name, request, self._facts, _request_id()):
            try:
                answer = await serve(self, request)
            except Exception as error:
                if isinstance(error, StoreError) and error.reason not in CLIENTS_FAULTS:
                    # The answer has the advice; the file, and what its system says, are here alone.
                    log.error("%s failed: %s", binding.method.name, error)  # noqa: TRY400 - the reason says all
                raise answerable(error, self._registrations.auth_methods(self.capabilities)) from error
        return binding.encode_result(answer)

    @property
    def _facts(self) -> LinkFacts:
        return LinkFacts() if self._client is None else self._client._facts

    async def _initialize(self, request: Initialize) -> Initialized:
        dialect = self._dialect
        assert dialect is not None  # noqa: S101 - `_serve` has just set it
        self.capabilities = request.capabilities
        self._client = Client(self.connection, dialect, request.client, request.capabilities)
        self._sessions.meet(self._client, dialect)
        capabilities = self._registrations.capabilities(stored=self._sessions.has_store, drafts=self._drafts)
        capabilities.auth_methods = self._registrations.auth_methods(request.capabilities)
        capabilities.logout = capabilities.logout and bool(capabilities.auth_methods)
        return Initialized(self._registrations.peer, capabilities)

    async def _login(self, request: Login) -> Done:
        await self._gate.login(request.method)
        return Done()

    async def _logout(self, _: Logout) -> Done:
        await self._gate.logout()
        return Done()

    # --- sessions

    async def _new(self, request: NewSession) -> SessionOpened:
        await self._gate.check()
        return await self._sessions.new(request)

    async def _reopen(self, request: ReopenSession) -> SessionOpened:
        await self._gate.check()
        return await self._sessions.reopen(request)

    async def _fork(self, request: ForkSession) -> SessionOpened:
        await self._gate.check()
        return await self._sessions.fork(request)

    async def _list(self, request: ListSessions) -> SessionsListed:
        await self._gate.check()
        return await self._sessions.page(request)

    async def _close(self, request: CloseSession) -> Done:
        await self._sessions.close_session(request.session_id)
        return Done()

    async def _delete(self, request: DeleteSession) -> Done:
        await self._gate.check()
        await self._sessions.delete(request.session_id)
        return Done()

    # --- prompts

    def _prompt_arrived(self, binding: Binding, params: Any) -> tuple[TurnRunner, OpenPrompt] | EarlyPrompt:
        """Queue a prompt when it is read: its place among the others does not depend on when its request is handled.

        Returns the prompt alone where its session is not open, or not yet, or earlier ones wait for that.
        """
        request: Prompt = binding.decode_params(params)
        session_id = request.session_id
        runner = None if session_id in self._early else self._sessions.runner(session_id)
        if runner is None:
            early = EarlyPrompt(request)
            self._early.setdefault(session_id, []).append(early)
            return early
        runner.check(request)
        return runner, runner.arrive(request)

    async def _prompt(self, binding: Binding, _: Any) -> Any:
        request = current_request()
        assert request is not None  # noqa: S101 - a handler of requests runs inside one
        arrived = cast("tuple[TurnRunner, OpenPrompt] | EarlyPrompt", request.arrival)
        runner, prompt = arrived if isinstance(arrived, tuple) else await self._settled_prompt(arrived)
        prompt.request_id = request.id
        return binding.encode_result(await runner.answer(prompt, is_open=lambda: self.connection.is_open))

    async def _settled_prompt(self, early: EarlyPrompt) -> tuple[TurnRunner, OpenPrompt]:
        """A prompt whose session was not open when it arrived: it may be opening."""
        request, session_id = early.request, early.request.session_id
        try:
            runner = await self._sessions.settled(session_id)
        finally:
            self._early[session_id].remove(early)
            if not self._early[session_id]:
                del self._early[session_id]
        if runner is None:
            raise self._sessions.unknown(session_id)
        runner.check(request)
        return runner, runner.drop(request) if early.is_dropped else runner.arrive(request)

    def _cancel_arrived(self, dialect: Dialect, params: Any) -> None:
        session_id = dialect.decode_cancel(params).session_id
        for early in self._early.get(session_id, ()):
            early.is_dropped = True
        runner = self._sessions.runner(session_id)
        if runner is not None:
            runner.feed(CancelRequested())

    async def _cancel_tool(self, request: CancelTool) -> Done:
        self._sessions.session(request.session_id)._cancel_tool(request.tool_id)
        return Done()

    async def _cancel_terminal(self, request: CancelTerminal) -> Done:
        await self._sessions.session(request.session_id).terminals._cancel(request.terminal_id)
        return Done()

    # --- settings

    async def _set_option(self, request: SetOption) -> OptionsSet:
        session = self._sessions.session(request.session_id)
        Settings(session._offered).check(request.option, request.value)
        await self._change(session, request.option, request.value)
        return OptionsSet(session._offered)

    async def _set_mode(self, request: SetMode) -> Done:
        session = self._sessions.session(request.session_id)
        mode = session._settings.mode
        if mode is None:
            raise InvalidParams("This agent has no modes", {"field": SetMode.FIELD, "expected": "no mode at all"})
        if request.mode not in mode.values():
            expected = f"one of {', '.join(mode.values())}"
            raise InvalidParams("There is no such mode", {"field": SetMode.FIELD, "expected": expected})
        await self._change(session, mode.id, request.mode)
        return Done()

    async def _set_model(self, request: SetModel) -> Done:
        session = self._sessions.session(request.session_id)
        model = session._settings.model
        if model is None or request.model not in model.values():
            expected = "no model at all" if model is None else f"one of {', '.join(model.values())}"
            raise InvalidParams("There is no such model", {"field": SetModel.FIELD, "expected": expected})
        await self._change(session, model.id, request.model)
        return Done()

    async def _change(self, session: Session, option: str, value: OptionValue) -> None:
        """Make a client's change and return when it is committed; a change that cannot be committed is undone."""
        runner = self._sessions.runner(session.id)
        if runner is not None and runner.repair is not None:
            await runner.repair.run()
        before = session.option(option)
        await session.set_option(option, value)
        try:
            await session._publisher.flush()
        except Exception:
            session._settings.set(option, before)
            raise

    # --- extensions of the protocol

    async def _extension(self, call: Callable[..., Awaitable[Any]], handler: Callable[..., Any], params: Any) -> Any:
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        session = self._sessions.find(session_id) if isinstance(session_id, str) else None
        if self._client is None:
            raise LocalProtocolError("no client has sent initialize yet")
        request = current_request()
        span = NO_SPAN if request is None else served_span(request.method, params, self._facts, request.id)
        with span:
            try:
                return await call(handler, Extension(params, self._client, session))
            except Exception as error:
                raise answerable(error, self._registrations.auth_methods(self.capabilities)) from error

    # --- requests to the client

    async def call(self, request: Any, *, timeout_seconds: float | None = None) -> Any:
        """Send one of `accord.session.agent_requests` to the client, in its edition.

        Raises:
            LocalProtocolError: The edition has no such request, or the client does not offer it; nothing was sent.
            RequestError: The client answered with an error.
            ConnectionLost: It is gone.
        """
        dialect = self._dialect
        if dialect is None:
            raise LocalProtocolError("no edition is agreed on yet")
        what = type(request).__name__
        encoded = dialect.encode(request)
        if encoded is None:
            raise LocalProtocolError(f"{dialect.edition.name} does not have {what}: see turn.can()", field=what)
        binding, params = encoded
        if binding.needs and not getattr(self.capabilities, binding.needs):
            raise LocalProtocolError(
                f"this client does not offer {binding.needs} in {dialect.edition.name}: see turn.can()", field=what
            )
        with call_span("agent", binding.method.name, request, self._facts, self.connection.next_request_id) as span:
            if span.is_recorded:
                params = binding.encode_params(with_context(span, request))
            result = await self.connection.call(binding.method, params, timeout_seconds=timeout_seconds)
            answer = binding.decode_result(result, request)
            note_answer(span, request, answer)
        return answer

    _SERVERS: ClassVar[dict[type[Any], Callable[[Any, Any], Any]]] = {
        Initialize: _initialize,
        Login: _login,
        Logout: _logout,
        NewSession: _new,
        ReopenSession: _reopen,
        ForkSession: _fork,
        ListSessions: _list,
        CloseSession: _close,
        DeleteSession: _delete,
        SetOption: _set_option,
        SetMode: _set_mode,
        SetModel: _set_model,
        CancelTool: _cancel_tool,
        CancelTerminal: _cancel_terminal,
    }


def _request_id() -> str | int | None:
    request = current_request()
    return None if request is None else request.id
