"""One client of an agent: the handshake, its sessions, and everything it may ask.

What a client asks comes in as one of the asks of `accord.session.ask`, whatever the edition; each kind has one method
here, found by a table.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, cast

from accord.agent.book import Book, called
from accord.agent.client import Client
from accord.agent.desk import Desk, InUse
from accord.agent.fault import answerable, unknown_session
from accord.agent.foreground import Foreground, OpenPrompt
from accord.agent.login import Gate
from accord.agent.session import Session
from accord.agent.settings import OptionValue, Settings
from accord.connection import Connection, Handlers, current_request
from accord.errors import InvalidParams, LocalProtocolError
from accord.json_values import JsonValue
from accord.session.ask import (
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
from accord.session.capability import AgentCapabilities, ClientCapabilities
from accord.session.dialect import Binding, Dialect
from accord.session.dialects import DIALECTS, Spoken
from accord.session.turn_input import CancelAsked
from accord.stores.interface import Store
from accord.transport import Transport

__all__ = ["Extension", "Link"]

log = logging.getLogger("accord.agent")

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


class Link:
    """The agent's end of one connection."""

    def __init__(
        self,
        transport: Transport,
        book: Book,
        store: Store | None,
        gate: Gate,
        *,
        strict: bool,
        drafts: bool,
        cancel_grace_seconds: float,
        in_use: InUse = "error",
    ) -> None:
        self._book = book
        self._gate = gate
        self._drafts = drafts
        self._served: AgentCapabilities = book.capabilities(stored=store is not None, drafts=drafts)
        self.capabilities = ClientCapabilities()
        handlers = Handlers()
        editions = [spoken.edition(drafts=drafts) for spoken in DIALECTS]
        self.connection = Connection(transport, "agent", handlers, editions=editions, strict=strict)
        self._handlers = handlers
        for spoken in DIALECTS:
            handlers.offer(spoken.edition(drafts=drafts), functools.partial(self._speak, spoken))
        for name in book.requests:
            handlers.on_extension_request(
                name, functools.partial(self._extension, book.threads.call, book.requests[name])
            )
        for name in book.notifications:
            # They come one after the other: without `async` they stay on the loop, as listeners do.
            handler = functools.partial(self._extension, called, book.notifications[name])
            handlers.on_extension_notification(name, handler)
        self._dialect: Dialect | None = None
        self._client: Client | None = None
        self._desk = Desk(
            book, store, self, self.connection, self._served, grace_seconds=cancel_grace_seconds, in_use=in_use
        )

    async def serve(self) -> None:
        """Serve the client until it is gone; nothing of its sessions is left then."""
        try:
            async with self.connection:
                lost = await self.connection.wait_closed()
                if lost is not None:
                    log.warning("the client is gone: %s", lost)
        finally:
            await asyncio.shield(self._desk.close())

    # --- the handshake

    def _speak(self, spoken: Spoken) -> None:
        """An edition was selected: from now on its words are understood."""
        dialect = spoken.dialect(drafts=self._drafts)
        for words in (*dialect.agent_bindings, *(dialect.draft_bindings if self._drafts else ())):
            if words.needs and not getattr(self._served, words.needs):
                continue
            if words.ask is Prompt:
                self._handlers.on(words.method, functools.partial(self._prompt, words))
                self._handlers.on_arrival(words.method, functools.partial(self._prompt_arrived, words))
            else:
                serve = self._SERVERS[words.ask]
                share = LISTS_AT_ONCE if words.ask is ListSessions else 0
                self._handlers.on(words.method, functools.partial(self._serve, dialect, words, serve), share=share)
        self._handlers.on_arrival(dialect.cancel, functools.partial(self._cancel_arrived, dialect))

    async def _serve(self, dialect: Dialect, words: Binding, serve: Callable[[Any, Any], Any], params: Any) -> Any:
        ask = words.decode_params(params)
        try:
            if words.ask is Initialize:
                self._dialect = dialect
            answer = await serve(self, ask)
        except Exception as error:
            raise answerable(error, self._book.auth_methods(self.capabilities)) from error
        return words.encode_result(answer)

    async def _initialize(self, ask: Initialize) -> Initialized:
        dialect = self._dialect
        assert dialect is not None  # noqa: S101 - `_serve` has just set it
        self.capabilities = ask.capabilities
        self._client = Client(self.connection, dialect, ask.client, ask.capabilities)
        self._desk.meet(self._client, dialect)
        capabilities = self._book.capabilities(stored=self._desk.has_store, drafts=self._drafts)
        capabilities.auth_methods = self._book.auth_methods(ask.capabilities)
        capabilities.logout = capabilities.logout and bool(capabilities.auth_methods)
        return Initialized(self._book.peer, capabilities)

    async def _login(self, ask: Login) -> Done:
        await self._gate.login(ask.method)
        return Done()

    async def _logout(self, _: Logout) -> Done:
        await self._gate.logout()
        return Done()

    # --- sessions

    async def _new(self, ask: NewSession) -> SessionOpened:
        await self._gate.check()
        return await self._desk.new(ask)

    async def _reopen(self, ask: ReopenSession) -> SessionOpened:
        await self._gate.check()
        return await self._desk.reopen(ask)

    async def _fork(self, ask: ForkSession) -> SessionOpened:
        await self._gate.check()
        return await self._desk.fork(ask)

    async def _list(self, ask: ListSessions) -> SessionsListed:
        await self._gate.check()
        return await self._desk.page(ask)

    async def _close(self, ask: CloseSession) -> Done:
        await self._desk.close_session(ask.session_id)
        return Done()

    async def _delete(self, ask: DeleteSession) -> Done:
        await self._gate.check()
        await self._desk.delete(ask.session_id)
        return Done()

    # --- prompts

    def _prompt_arrived(self, words: Binding, params: Any) -> tuple[Foreground, OpenPrompt] | Prompt:
        """A prompt was read: it has its place among the others from now on, however long its request has to wait.

        Gives the prompt alone where its session is not open, or not yet.
        """
        ask: Prompt = words.decode_params(params)
        foreground = self._desk.foreground(ask.session_id)
        if foreground is None:
            return ask
        foreground.check(ask)
        return foreground, foreground.arrive(ask)

    async def _prompt(self, words: Binding, _: Any) -> Any:
        request = current_request()
        assert request is not None  # noqa: S101 - a handler of requests runs inside one
        arrived = cast("tuple[Foreground, OpenPrompt] | Prompt", request.arrival)
        foreground, prompt = arrived if isinstance(arrived, tuple) else await self._settled_prompt(arrived)
        return words.encode_result(await foreground.answer(prompt, is_open=lambda: self.connection.is_open))

    async def _settled_prompt(self, ask: Prompt) -> tuple[Foreground, OpenPrompt]:
        """A prompt whose session was not open when it arrived: it may be opening."""
        foreground = await self._desk.settled(ask.session_id)
        if foreground is None:
            raise unknown_session(ask.session_id)
        foreground.check(ask)
        return foreground, foreground.arrive(ask)

    def _cancel_arrived(self, dialect: Dialect, params: Any) -> None:
        foreground = self._desk.foreground(dialect.decode_cancel(params).session_id)
        if foreground is not None:
            foreground.feed(CancelAsked())

    async def _cancel_tool(self, ask: CancelTool) -> Done:
        self._desk.session(ask.session_id)._cancel_tool(ask.tool_id)
        return Done()

    async def _cancel_terminal(self, ask: CancelTerminal) -> Done:
        await self._desk.session(ask.session_id).terminals._cancel(ask.terminal_id)
        return Done()

    # --- settings

    async def _set_option(self, ask: SetOption) -> OptionsSet:
        session = self._desk.session(ask.session_id)
        Settings(session._offered).check(ask.option, ask.value)
        await self._change(session, ask.option, ask.value)
        return OptionsSet(session._offered)

    async def _set_mode(self, ask: SetMode) -> Done:
        session = self._desk.session(ask.session_id)
        mode = session._settings.mode
        if mode is None:
            raise InvalidParams("This agent has no modes", {"field": "modeId", "expected": "no mode at all"})
        if ask.mode not in mode.values():
            expected = f"one of {', '.join(mode.values())}"
            raise InvalidParams("There is no such mode", {"field": "modeId", "expected": expected})
        await self._change(session, mode.id, ask.mode)
        return Done()

    async def _set_model(self, ask: SetModel) -> Done:
        session = self._desk.session(ask.session_id)
        model = session._settings.model
        if model is None or ask.model not in model.values():
            expected = "no model at all" if model is None else f"one of {', '.join(model.values())}"
            raise InvalidParams("There is no such model", {"field": "modelId", "expected": expected})
        await self._change(session, model.id, ask.model)
        return Done()

    async def _change(self, session: Session, option: str, value: OptionValue) -> None:
        """A client's change is answered when it is kept; one that cannot be kept is none."""
        before = session.option(option)
        await session.set_option(option, value)
        try:
            await session._outlet.settle()
        except Exception:
            session._settings.set(option, before)
            raise

    # --- beside the protocol

    async def _extension(self, call: Callable[..., Awaitable[Any]], handler: Callable[..., Any], params: Any) -> Any:
        session_id = params.get("sessionId") if isinstance(params, dict) else None
        session = self._desk.find(session_id) if isinstance(session_id, str) else None
        if self._client is None:
            raise LocalProtocolError("no client has introduced itself yet")
        try:
            return await call(handler, Extension(params, self._client, session))
        except Exception as error:
            raise answerable(error, self._book.auth_methods(self.capabilities)) from error

    # --- what we ask

    async def ask(self, ask: Any, *, timeout_seconds: float | None = None) -> Any:
        """Ask the client something, in the words of its edition.

        Raises:
            LocalProtocolError: The edition has no words for it, or the client does not offer it; nothing was sent.
            RequestError: The client answered with an error.
            ConnectionLost: It is gone.
        """
        dialect = self._dialect
        if dialect is None:
            raise LocalProtocolError("no edition is agreed on yet")
        what = type(ask).__name__
        said = dialect.encode(ask)
        if said is None:
            raise LocalProtocolError(f"{dialect.edition.name} has no words for {what}: see turn.can()", field=what)
        words, params = said
        if words.needs and not getattr(self.capabilities, words.needs):
            raise LocalProtocolError(
                f"this client does not offer {words.needs} in {dialect.edition.name}: see turn.can()", field=what
            )
        result = await self.connection.call(words.method, params, timeout_seconds=timeout_seconds)
        return words.decode_result(result, ask)

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
