"""`Agent`: the registry of an author's handlers, and the server that runs them over any transport, in every edition."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal, Self, TypeAlias, TypeVar, overload

import accord.stores
import accord.transport
from accord.agent.asgi_application import AsgiApplication
from accord.agent.blocking import BlockingExtension, BlockingSession, BlockingTurn
from accord.agent.client_connection import ClientConnection, Extension
from accord.agent.registrations import PROMPT_KINDS, LoginGate, PromptKind, Registrations, arguments_for, check_handler
from accord.agent.session import Session
from accord.agent.session_registry import InUse
from accord.agent.shared_sessions import SharedSessions
from accord.agent.signals import run_to_its_end, stop_on_signals
from accord.agent.tool import checked_json
from accord.agent.turn import Turn
from accord.connection.handlers import extension_name
from accord.dialects import DialectPlugin
from accord.errors import LocalProtocolError
from accord.json_values import JsonValue
from accord.session.capability import AuthMethod, Implementation
from accord.session.option import Choice, Command, ConfigOption, Group, OptionCategory, Select, Toggle
from accord.stores.interface import Store
from accord.time_scale import scaled
from accord.transport.interface import Transport
from accord.version import install_line

__all__ = [
    "Agent",
    "CommandHandler",
    "ExtensionHandler",
    "LoginCheck",
    "LoginHandler",
    "LogoutHandler",
    "NotificationHandler",
    "OptionHandler",
    "PromptHandler",
    "SessionHandler",
    "offer_session_models",
]

log = logging.getLogger("accord.agent")
ON_A_TERMINAL = '%s speaks ACP and waits for JSON-RPC, Ctrl+C ends it. To talk to it: accord run "hello" -- python FILE'

# A handler with `async` runs on the loop; one without it runs in a thread and is given objects that block.
PromptHandler: TypeAlias = Callable[[Turn], Awaitable[object]] | Callable[[BlockingTurn], object]
"""Handles a prompt."""
CommandHandler: TypeAlias = (
    Callable[[Turn, str], Awaitable[object]]
    | Callable[[BlockingTurn, str], object]
    | Callable[[Turn], Awaitable[object]]
    | Callable[[BlockingTurn], object]
)
"""Handles a slash command: gets the turn and the text behind the command, or the turn alone."""
OptionHandler: TypeAlias = (
    Callable[[Session, str, str | bool], Awaitable[object]] | Callable[[BlockingSession, str, str | bool], object]
)
"""Gets the session, the id of an option and its new value, before the change is made."""
SessionHandler: TypeAlias = Callable[[Session], Awaitable[object]] | Callable[[BlockingSession], object]
"""Gets every session that is opened."""
LoginHandler: TypeAlias = Callable[[], Awaitable[bool | None] | bool | None]
"""Logs in; raises or returns False if that fails."""
LoginCheck: TypeAlias = Callable[[], Awaitable[bool] | bool]
"""Returns whether there is a login."""
LogoutHandler: TypeAlias = Callable[[], Awaitable[None] | None]
"""Forgets the login."""
ExtensionHandler: TypeAlias = Callable[[Extension], Awaitable[JsonValue]] | Callable[[BlockingExtension], JsonValue]
"""Handles a call of an extension method; returns plain JSON, or an awaitable of it."""
NotificationHandler: TypeAlias = Callable[[Extension], JsonValue]
"""Gets a notification of an extension method; it runs on the loop, with or without `async`."""

P = TypeVar("P", bound=PromptHandler)
C = TypeVar("C", bound=CommandHandler)
V = TypeVar("V", bound=OptionHandler)
S = TypeVar("S", bound=SessionHandler)
L = TypeVar("L", bound=LoginHandler)
K = TypeVar("K", bound=LoginCheck)
X = TypeVar("X", bound=LogoutHandler)
E = TypeVar("E", bound=ExtensionHandler)
N = TypeVar("N", bound=NotificationHandler)

CANCEL_GRACE_SECONDS = scaled(5.0)


class Agent:
    """An agent: register handlers, then `run` it.

    ```python
    agent = accord.Agent("greeter", version="1.0")


    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(f"You said: {turn.text}")


    agent.run()
    ```

    `store` keeps the sessions: by default an SQLite file in the platform's state folder (`accord/<name>/sessions.db`),
    None switches it off, and sessions then cannot be listed, loaded or resumed. `strict` turns violations that are
    otherwise tolerated into errors, for development. `drafts` also serves the requests of the protocol's unstable text
    (`session/fork`). A handler that was cancelled has `cancel_grace_seconds` to end. `in_use` is the answer to a client
    that opens a session which another process has open: `SessionInUse`, or a read-only view of its history.
    `mcp` says that the agent uses the MCP servers of its sessions (`Turn.mcp`): only then it offers that to clients.
    """

    def __init__(  # noqa: PLR0913 - options that are needed before anything is registered
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        store: Store | Literal["default"] | None = "default",
        strict: bool = False,
        drafts: bool = False,
        cancel_grace_seconds: float = CANCEL_GRACE_SECONDS,
        in_use: InUse = "error",
        mcp: bool = False,
    ) -> None:
        if not name:
            raise ValueError("an agent needs a name")
        if in_use not in typing.get_args(InUse):
            raise ValueError("in_use is 'error' or 'read_only'")
        if store is not None and not isinstance(store, str | Store):
            raise TypeError("the store lacks methods of accord.Store: see check_store")
        self.name: str = name
        """The name that clients see."""
        self._registrations = Registrations(Implementation(name, version, title), mcp=mcp)
        self._store_wanted = store
        self._store: Store | None = None
        self._gate = LoginGate(self._registrations)
        self._strict = strict
        self._drafts = drafts
        self._cancel_grace_seconds = cancel_grace_seconds
        self._in_use: InUse = in_use
        self._dialects: list[DialectPlugin] = []

    def __repr__(self) -> str:
        return f"<agent {self.name}>"

    # --- prompts and commands

    @overload
    def prompt(self, handler: P, /) -> P: ...
    @overload
    def prompt(self, /, *, accepts: Iterable[PromptKind] = ()) -> Callable[[P], P]: ...
    def prompt(self, handler: P | None = None, /, *, accepts: Iterable[PromptKind] = ()) -> P | Callable[[P], P]:
        """Handle prompts. `accepts` names further kinds of block beside text and links: image, audio, resource.

        Raises:
            TypeError: The handler, here and everywhere else, is no function of its arguments, or is a generator.
        """
        kinds = frozenset(accepts)
        if not kinds <= PROMPT_KINDS:
            raise ValueError(f"prompts can hold {', '.join(sorted(PROMPT_KINDS))}")

        def register(given: P) -> P:
            check_handler(given, ("turn",))
            if self._registrations.prompt is not None:
                raise ValueError("there is one handler for prompts")
            self._registrations.prompt, self._registrations.accepts = given, kinds
            return given

        return register if handler is None else register(handler)

    def command(self, name: str, description: str, *, hint: str | None = None) -> Callable[[C], C]:
        """Handle a slash command: the handler gets the turn and the text behind the name, or the turn alone.

        `hint` describes the text behind the name.

        Raises:
            ValueError: The name is no single word.
            TypeError: The handler takes neither.
        """
        if not name or name.startswith("/") or any(character.isspace() or character == "/" for character in name):
            raise ValueError("the name of a command is one word, without the slash")

        def register(handler: C) -> C:
            check_handler(handler)
            arguments_for(handler, None, "")
            self._registrations.commands[name] = (Command(name, description, hint), handler)
            return handler

        return register

    # --- settings

    def select(
        self,
        id: str,  # noqa: A002
        name: str,
        choices: Sequence[str | Choice | Group],
        *,
        default: str | None = None,
        category: OptionCategory | None = None,
        description: str | None = None,
    ) -> None:
        """Declare an option with one of several values; the first is the default. `Group`s put headings over them.

        `category` is one of the protocol's (`mode`, `model`, `model_config`, `thought_level`), or a name of your own
        that begins with an underscore: all others are reserved.

        Raises:
            ValueError: There is no such category, the values are not different, or the default is none of them.
        """
        groups = [choice for choice in choices if isinstance(choice, Group)]
        plain = [Choice(choice, choice) if isinstance(choice, str) else choice for choice in choices]
        flat = [choice for choice in plain if isinstance(choice, Choice)]
        option = Select(id, name, "", flat, groups, description, category)
        if not option.values():
            raise ValueError(f"the option {id!r} needs a value")
        option.value = option.values()[0] if default is None else default
        self._registrations.add_option(option)

    def toggle(
        self,
        id: str,  # noqa: A002
        name: str,
        *,
        default: bool = False,
        category: OptionCategory | None = None,
        description: str | None = None,
    ) -> None:
        """Declare an option that is on or off, with a category as in `select`; not every client can show it."""
        self._registrations.add_option(Toggle(id, name, default, description, category))

    def modes(
        self,
        modes: Sequence[str | Choice],
        *,
        default: str | None = None,
        name: str = "Mode",
        id: str = "mode",  # noqa: A002
    ) -> None:
        """Declare the modes; every edition has its own messages for them."""
        self.select(id, name, list(modes), default=default, category="mode")

    def models(
        self,
        models: Sequence[str | Choice | Group],
        *,
        default: str | None = None,
        name: str = "Model",
        id: str = "model",  # noqa: A002
    ) -> None:
        """Declare the models, as an option of the category `model`. See also `offer_session_models`."""
        self.select(id, name, models, default=default, category="model")

    def on_option(self, handler: V) -> V:
        """Register a handler that is called before an option changes, with the session, the id and the new value.

        An exception in it refuses the change; a `RequestError` also says why.
        """
        check_handler(handler, ("session", "id", "value"))
        self._registrations.on_option.append(handler)
        return handler

    def on_session(self, handler: S) -> S:
        """Register a handler that gets every session that is opened, new or from before, before it is used."""
        check_handler(handler, ("session",))
        self._registrations.on_session.append(handler)
        return handler

    # --- logging in

    def login(self, id: str, name: str, *, description: str | None = None) -> Callable[[L], L]:  # noqa: A002
        """Offer a way to log in by a call. The handler raises or returns False if it fails.

        As soon as there is one, sessions need a login (-32000), unless the function of `check_login` returns True.
        """

        def register(handler: L) -> L:
            check_handler(handler, ())
            self._registrations.logins[id] = (AuthMethod(id, name, "agent", description), handler)
            return handler

        return register

    def terminal_login(
        self,
        id: str,  # noqa: A002
        name: str,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        description: str | None = None,
    ) -> None:
        """Offer a way to log in by running this very program with `args` in a terminal; exit status 0 is success.

        Only clients that can do so are offered it. The function of `check_login` must return True afterwards.
        """
        method = AuthMethod(id, name, "terminal", description, list(args), dict(env or {}))
        self._registrations.logins[id] = (method, None)

    def check_login(self, handler: K) -> K:
        """Register the function that returns whether there is a login. It is called before a session is opened."""
        check_handler(handler, ())
        self._registrations.check_login = handler
        return handler

    def logout(self, handler: X) -> X:
        """Register the function that forgets the login."""
        check_handler(handler, ())
        self._registrations.logout = handler
        return handler

    # --- extensions of the protocol

    def request(self, method: str) -> Callable[[E], E]:
        """Answer an extension request (`_name`): the handler gets an `Extension` and returns plain JSON."""
        name = extension_name(method)

        def register(handler: E) -> E:
            check_handler(handler, ("extension",))
            self._registrations.requests[name] = handler
            return handler

        return register

    def notification(self, method: str) -> Callable[[N], N]:
        """Take an extension notification (`_name`): the handler gets an `Extension`, on the loop in any case."""
        name = extension_name(method)

        def register(handler: N) -> N:
            check_handler(handler, ("extension",))
            self._registrations.notifications[name] = handler
            return handler

        return register

    def advertise(self, name: str, value: JsonValue) -> None:
        """Declare a capability outside the specification, in the `_meta` of the capabilities."""
        self._registrations.advertised[name] = checked_json(value, name)

    def use_dialect(self, dialect: DialectPlugin) -> Self:
        """Also serve clients of a dialect, on every connection that is served from now on; several may be added.

        Ordinary clients are served as before.
        """
        self._dialects.append(dialect)
        return self

    # --- running

    @property
    def store(self) -> Store | None:
        """The store that keeps the sessions; None if they are not kept."""
        if self._store is None and self._store_wanted is not None:
            if self._store_wanted == "default":
                self._store = accord.stores.SqliteStore(accord.stores.default_path(self.name))
            else:
                self._store = self._store_wanted
        return self._store

    def use_store(self, store: Store) -> Self:
        """Keep the sessions in this store instead of the one that the agent was made with; the caller closes it.

        Raises:
            LocalProtocolError: A client was served with another store already.
        """
        if self._store is not None:
            raise LocalProtocolError("the store cannot be changed any more: sessions are kept in another one")
        self._store_wanted = store
        return self

    async def serve(
        self, transport: Transport, *, shared: SharedSessions | None = None, principal: str | None = None
    ) -> None:
        """Serve one client over any transport until it is gone; may be called for several at the same time.

        Clients that are served with the same `shared` may have the same session open. With `principal`, which needs a
        store that keeps it, the client makes, finds and lists sessions of that principal only.

        Raises:
            LocalProtocolError: There is no handler for prompts.
        """
        if self._registrations.prompt is None and not self._registrations.commands:
            raise LocalProtocolError("an agent needs a handler for prompts: use @agent.prompt")
        for dialect in self._dialects:
            transport = dialect.link_to_client(transport)
        served = ClientConnection(
            transport,
            self._registrations,
            self.store,
            self._gate,
            strict=self._strict,
            drafts=self._drafts,
            cancel_grace_seconds=self._cancel_grace_seconds,
            in_use=self._in_use,
            shared=shared,
            principal=principal,
        )
        async with self._registrations.threads.in_use(self._cancel_grace_seconds):
            await served.serve()

    def asgi(self, **options: object) -> AsgiApplication:
        """An ASGI application that serves this agent over WebSocket and streamable HTTP, at `/acp`.

        Run it with any ASGI server, or mount it in an application of FastAPI, Starlette or Litestar. `options` are
        those of `accord.serve.HostOptions`; `authenticate` must be among them.

        Raises:
            LocalProtocolError: `authenticate` is missing, or what serves applications is not installed.
        """
        from importlib.metadata import entry_points  # noqa: PLC0415 - most agents are not served so, and all start

        found = entry_points(group="accord.applications", name="asgi")  # nothing here imports a package above it
        if not found:
            raise LocalProtocolError("no application for agents is installed", field="asgi", expected="accord itself")
        try:
            make: Callable[..., AsgiApplication] = next(iter(found)).load()
        except ModuleNotFoundError as error:
            raise LocalProtocolError(f"agent.asgi needs {error.name}; type {install_line('serve')}") from error
        return make(self, **options)

    async def close(self) -> None:
        """Close the default store; a store that was passed in is closed by its owner."""
        if self._store is not None and self._store_wanted == "default":
            store, self._store = self._store, None
            await store.close()

    async def run_async(self) -> None:
        """Serve the client on stdin and stdout until it closes the connection, or until a signal ends this process."""
        serving = asyncio.ensure_future(self.serve(accord.transport.open_stdio()))
        try:
            with stop_on_signals(serving.cancel):
                await asyncio.wait([serving])
        finally:
            serving.cancel()
            await asyncio.wait([serving])
            await self.close()
        if not serving.cancelled():
            serving.result()

    def run(self) -> None:
        """`run_async` as a whole program; returns when the client is gone. On a terminal the log says what to type."""
        if sys.stdin is not None and sys.stdin.isatty():
            log.warning(ON_A_TERMINAL, self.name)
        with contextlib.suppress(KeyboardInterrupt):
            run_to_its_end(self.run_async())

    @property
    def options(self) -> list[ConfigOption]:
        """The declared options with their defaults."""
        return list(self._registrations.options.values())


def offer_session_models(agent: Agent) -> None:
    """Also offer the models as `models` and serve `session/set_model`, for v1 clients that know no config options.

    Those were the messages of 2025; a client of today reads the option that `Agent.models` declares.
    """
    agent._registrations.models = True
