"""The handlers, commands, options and logins that an author registered, and the capabilities that follow from them.

Handlers are kept as plain callables: the modules above make the turn or the session that a handler gets.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from accord.agent.threads import HandlerThreads, awaited, unwrapped
from accord.errors import AuthRequired, InvalidParams
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.custom import check_value, known_values
from accord.session.option import Command, ConfigOption, OptionCategory, Select, Toggle, mode_option

__all__ = [
    "LoginGate",
    "PromptKind",
    "Registrations",
    "arguments_for",
    "called",
    "check_handler",
    "check_result",
    "kind_of",
    "no_prompt",
]

PromptKind: TypeAlias = Literal["image", "audio", "resource"]
"""The content of prompts beside text and links."""
AnyHandler: TypeAlias = Callable[..., Any]
PROMPT_KINDS: frozenset[str] = frozenset({"image", "audio", "resource"})
# v2 reserves every other name without an underscore for itself.
CATEGORIES = known_values(OptionCategory)


async def called(handler: AnyHandler, *arguments: Any) -> Any:
    """Call a listener on the loop, whether it is a coroutine function or not."""
    return await awaited(_called(handler, arguments))


async def _called(handler: AnyHandler, arguments: tuple[Any, ...]) -> Any:
    result = handler(*arguments)
    return await result if inspect.isawaitable(result) else result


def check_handler(handler: AnyHandler, arguments: tuple[str, ...] | None = None) -> None:
    """Refuse a handler that cannot be called with those arguments, or whose call does nothing.

    Raises:
        TypeError: It cannot be called so, or it is a generator.
    """
    if not callable(handler):
        raise TypeError(f"a handler is a function, not a {type(handler).__name__}")
    function = unwrapped(handler)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("a handler is no generator: what it yields is sent nowhere; await turn.say(...) instead")
    if arguments is None:
        return
    try:
        inspect.signature(handler).bind(*arguments)
    except ValueError:
        return  # a callable without a signature, written in C
    except TypeError as error:
        raise TypeError(f"this handler is called with ({', '.join(arguments)}): {error}") from None


def check_result(result: object, message_id: str) -> None:
    """Refuse a text as the result of a handler. The id of the last message is one, as `say` returned it.

    Raises:
        TypeError: It is a text.
    """
    if isinstance(result, str) and result != message_id:
        raise TypeError("a handler returned a text, which is sent nowhere: let it await turn.say(...)")


def arguments_for(handler: AnyHandler, turn: Any, argument: str) -> tuple[Any, ...]:
    """The arguments for the handler of a slash command: the turn and the text behind the name, or the turn alone.

    Raises:
        TypeError: It takes neither.
    """
    try:
        signature = inspect.signature(handler)
    except ValueError:  # a callable without a signature, written in C
        return turn, argument
    for arguments in ((turn, argument), (turn,)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return arguments
    raise TypeError("the handler of a command takes the turn, and the text behind the command if it wants it")


@dataclass
class Registrations:
    """One agent's registrations; shared by all its connections."""

    peer: Implementation
    mcp: bool = False
    """Whether its handlers use the MCP servers of their sessions."""
    prompt: AnyHandler | None = None
    accepts: frozenset[PromptKind] = frozenset()
    commands: dict[str, tuple[Command, AnyHandler]] = field(default_factory=dict)
    options: dict[str, ConfigOption] = field(default_factory=dict)
    models: bool = False
    """Whether the option for the model is also sent in the shape of the 2025 text."""
    on_option: list[AnyHandler] = field(default_factory=list)
    on_session: list[AnyHandler] = field(default_factory=list)
    logins: dict[str, tuple[AuthMethod, AnyHandler | None]] = field(default_factory=dict)
    logout: AnyHandler | None = None
    check_login: AnyHandler | None = None
    requests: dict[str, AnyHandler] = field(default_factory=dict)
    notifications: dict[str, AnyHandler] = field(default_factory=dict)
    advertised: dict[str, Any] = field(default_factory=dict)
    threads: HandlerThreads = field(default_factory=HandlerThreads)
    """Calls the handlers."""

    def add_option(self, option: Select | Toggle) -> None:
        """Declare a config option; its value is the one that new sessions begin with."""
        if option.id in self.options:
            raise ValueError(f"there is an option {option.id!r} already")
        if option.category is not None:
            check_value(option.category, CATEGORIES, "category of an option")
        if isinstance(option, Select):
            self._check_select(option)
        self.options[option.id] = option

    def _check_select(self, option: Select) -> None:
        values = option.values()
        if len(set(values)) != len(values) or option.value not in values:
            raise ValueError(f"the values of {option.id!r} must differ, and its default be one of them")
        if option.category == "mode" and mode_option(list(self.options.values())) is not None:
            raise ValueError("there is one option with the category 'mode' at most")

    def capabilities(self, *, stored: bool, drafts: bool) -> AgentCapabilities:
        """The capabilities of this agent, derived from its registrations."""
        return AgentCapabilities(
            load=stored,
            resume=stored,
            listing=stored,
            close=True,
            delete=stored,
            fork=stored and drafts,
            additional_directories=True,
            prompts=self.accepts,
            mcp=self._transports(),
            logout=bool(self.logins),
            auth_methods=[method for method, _ in self.logins.values()],
            meta=dict(self.advertised) or None,
        )

    def _transports(self) -> frozenset[Literal["stdio", "http", "sse"]]:
        if not self.mcp:
            return frozenset()
        return frozenset({"stdio", "http", "sse"}) if _has_mcp() else frozenset({"stdio"})

    def auth_methods(self, client: ClientCapabilities) -> list[AuthMethod]:
        """The ways to log in that this client can take."""
        return [method for method, _ in self.logins.values() if method.type != "terminal" or client.terminal_login]


def _has_mcp() -> bool:
    # The package `mcp` before its version 2 has none of it, and is not enough; some frameworks bring that along.
    return importlib.util.find_spec("mcp_types") is not None


class LoginGate:
    """One agent's login, for all its connections: a program has one user.

    Without a function of `check_login` it is closed until a login succeeds, and again after a logout. An agent without
    any way to log in is open.
    """

    def __init__(self, registrations: Registrations) -> None:
        self._registrations = registrations
        self._open = False
        self._lock = asyncio.Lock()

    async def check(self) -> None:
        """Return if sessions may be used.

        Raises:
            AuthRequired: Log in first.
        """
        if not self._registrations.logins:
            return
        is_open = (
            self._open
            if self._registrations.check_login is None
            else await self._registrations.threads.call(self._registrations.check_login)
        )
        if not is_open:
            raise AuthRequired

    async def login(self, method_id: str) -> None:
        """Log in by a method that needs no terminal.

        Raises:
            InvalidParams: There is no such method, or it is not one that can be called.
        """
        _, handler = self._registrations.logins.get(method_id, (None, None))
        if handler is None:
            raise InvalidParams(
                "This is no way to log in by a call", {"field": "methodId", "expected": self._expected()}
            )
        async with self._lock:
            if await self._registrations.threads.call(handler) is False:
                raise AuthRequired("The login failed")
            self._open = True

    def _expected(self) -> str:
        called_ones = [name for name, (_, given) in self._registrations.logins.items() if given is not None]
        if called_ones:
            return f"one of {', '.join(called_ones)}"
        return (
            "no call: log in by a terminal method" if self._registrations.logins else "no login: this agent needs none"
        )

    async def logout(self) -> None:
        """Forget the login; sessions that are open stay open."""
        async with self._lock:
            if self._registrations.logout is not None:
                await self._registrations.threads.call(self._registrations.logout)
            self._open = False


def kind_of(block: Any) -> str:
    """The kind of a content block, by its tag; `unknown` where it has none."""
    tag = getattr(type(block), "__struct_config__", None)
    return str(tag.tag) if tag is not None and tag.tag else str(getattr(block, "tag", "unknown"))


async def no_prompt(_: Any) -> None:
    """Never called: without a prompt handler, prompts are refused on arrival."""
