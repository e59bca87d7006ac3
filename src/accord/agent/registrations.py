"""What an author registered: handlers, commands, options, logins, and the capabilities that follow from them.

Handlers are kept as plain callables here: what they are given (a turn, a session) is made in the rooms above.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from accord.agent.threads import HandlerThreads
from accord.session.capability import AgentCapabilities, AuthMethod, ClientCapabilities, Implementation
from accord.session.mode import mode_option
from accord.session.option import Command, ConfigOption, Select, Toggle

__all__ = ["PromptKind", "Registrations", "called"]

PromptKind: TypeAlias = Literal["image", "audio", "resource"]
"""What prompts may hold beside text and links."""
AnyHandler: TypeAlias = Callable[..., Any]
PROMPT_KINDS: frozenset[str] = frozenset({"image", "audio", "resource"})


async def called(handler: AnyHandler, *arguments: Any) -> Any:
    """Call a listener on the loop, whether it is a coroutine function or not."""
    result = handler(*arguments)
    if inspect.isawaitable(result):
        awaited: Awaitable[Any] = result
        return await awaited
    return result


@dataclass
class Registrations:
    """One agent's registrations; shared by all its connections."""

    peer: Implementation
    prompt: AnyHandler | None = None
    accepts: frozenset[PromptKind] = frozenset()
    commands: dict[str, tuple[Command, AnyHandler]] = field(default_factory=dict)
    options: dict[str, ConfigOption] = field(default_factory=dict)
    models: bool = False
    """Whether the option for the model is also told in the words of 2025."""
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
        """What this agent serves: derived, never claimed."""
        return AgentCapabilities(
            load=stored,
            resume=stored,
            listing=stored,
            close=True,
            delete=stored,
            fork=stored and drafts,
            additional_directories=True,
            prompts=self.accepts,
            mcp=frozenset({"stdio", "http", "sse"}) if _has_mcp() else frozenset({"stdio"}),
            logout=bool(self.logins),
            auth_methods=[method for method, _ in self.logins.values()],
            meta=dict(self.advertised) or None,
        )

    def auth_methods(self, client: ClientCapabilities) -> list[AuthMethod]:
        """The ways to log in that this client can take."""
        return [method for method, _ in self.logins.values() if method.type != "terminal" or client.terminal_login]


def _has_mcp() -> bool:
    return importlib.util.find_spec("mcp") is not None
