"""`serve`: an agent of any known framework as an `accord.Agent`, by the class of the object."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeAlias, TypedDict, Unpack
from weakref import WeakKeyDictionary

from accord.adapters.failures import CannotServe, request_error_of
from accord.adapters.framework_run import FrameworkRun
from accord.adapters.guarded_tasks import guard_tasks
from accord.agent import Agent, InUse, Turn
from accord.errors import LocalProtocolError
from accord.session.option import Choice, Group
from accord.stores.interface import Store

__all__ = ["OpenRun", "ServeOptions", "UnknownFramework", "make_agent", "serve"]

OpenRun: TypeAlias = Callable[[Turn], FrameworkRun | Awaitable[FrameworkRun]]
"""Makes the run of a turn, with or without `async`."""

# Where the classes of a framework are defined, the adapter for them, and the oldest package with which
# `scripts/adapters` tests it. The first that fits counts.
ADAPTERS: tuple[tuple[str, str, str], ...] = (
    ("pydantic_ai", "accord.adapters.pydantic_ai", "pydantic-ai-slim 2.60.0"),
    ("langgraph", "accord.adapters.langgraph", "langgraph 1.1.0"),
    ("langchain_core", "accord.adapters.langgraph", "langgraph 1.1.0"),
    ("agents", "accord.adapters.openai_agents", "openai-agents 0.20.0"),
    ("google.adk", "accord.adapters.google_adk", "google-adk 2.13.0"),
    ("strands", "accord.adapters.strands", "strands-agents 1.62.0"),
)
OLDEST = {module: package for _, module, package in ADAPTERS}

log = logging.getLogger("accord.adapters")

_runs: WeakKeyDictionary[Agent, OpenRun] = WeakKeyDictionary()


class ServeOptions(TypedDict, total=False):
    """The options that `serve` passes on to `accord.Agent`; see there."""

    version: str
    title: str | None
    store: Store | Literal["default"] | None
    strict: bool
    drafts: bool
    cancel_grace_seconds: float
    in_use: InUse
    mcp: bool


class FrameworkTooOld(CannotServe):
    """The framework's package is older than its adapter: a resolver takes such a one where bounds conflict."""


class UnknownFramework(LocalProtocolError):
    """No adapter is known for the object."""


def make_agent(
    name: str, open_run: OpenRun, *, models: Sequence[str | Choice | Group] = (), **options: Unpack[ServeOptions]
) -> Agent:
    """The agent whose prompts are runs of a framework. For adapters; users call `serve`.

    `models` are offered as the option `model`; the adapter's run applies the chosen one. The agent takes every kind of
    content: a prompt with content that the framework's agent cannot take is refused.
    """
    options.setdefault("mcp", True)
    agent = Agent(name, **options)
    if models:
        agent.models(models)

    @agent.prompt(accepts={"image", "audio", "resource"})
    async def reply(turn: Turn) -> None:
        await run_turn(open_run, turn)

    _runs[agent] = open_run
    return agent


async def run_turn(open_run: OpenRun, turn: Turn) -> None:
    """Make the run of a turn, and run it.

    Raises:
        RequestError: One of them failed; the message is a sentence for the user.
    """
    guard_tasks()
    try:
        run = await asyncio.create_task(_made(open_run, turn))
    except Exception as error:
        raise request_error_of(error, "a framework") from error
    await run.handle()


async def _made(make: Callable[..., Any], *arguments: Any) -> Any:
    made = make(*arguments)
    return await made if inspect.isawaitable(made) else made


async def value_for(turn: Turn, given: Any) -> Any:
    """A value of the author, or what a function makes of the turn."""
    return await _made(given, turn) if inspect.isroutine(given) else given


async def agent_for(turn: Turn, given: Any, *kinds: type) -> Any:
    """The author's agent for a turn: an object of these classes itself, or what a function makes of the session."""
    if isinstance(given, kinds):
        return given
    return await _made(given, *[turn.session][: len(inspect.signature(given).parameters)])


def open_run_of(agent: Agent) -> OpenRun | None:
    """The factory of the runs of an agent of `make_agent`; None for any other agent."""
    return _runs.get(agent)


def adapter_of(agent: object) -> str:
    """The module of the adapter for an object; a text is the address of an agent that speaks AG-UI.

    Raises:
        UnknownFramework: There is none.
    """
    if isinstance(agent, str):
        return "accord.adapters.ag_ui"
    for kind in type(agent).__mro__:
        for framework, module, _ in ADAPTERS:
            if kind.__module__ == framework or kind.__module__.startswith(f"{framework}."):
                return module
    names = list(inspect.signature(agent).parameters) if inspect.isfunction(agent) else None
    if names is not None and len(names) <= len(("session", "tools")):
        # Only graphs are made of a config, or of the session and the client's tools.
        return "accord.adapters.langgraph" if len(names) > 1 or names == ["config"] else __name__
    known = ", ".join(framework for framework, *_ in ADAPTERS)
    raise UnknownFramework(f"a {type(agent).__name__} is no agent of a framework that Accord knows; it knows {known}")


def check_version(adapter: str) -> None:
    """See whether the framework of an adapter is new enough.

    Raises:
        FrameworkTooOld: It is not.
    """
    package, _, oldest = OLDEST.get(adapter, "").partition(" ")
    try:
        found = version(package) if package else oldest
    except PackageNotFoundError:
        return  # a copy of the sources
    if _numbers(found) < _numbers(oldest):
        raise FrameworkTooOld(f"{package} {'.'.join(map(str, _numbers(found)))} is too old: install {oldest} or newer")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)[:3]]


def serve(agent: object, name: str | None = None, **options: Any) -> Agent:
    """An agent of a framework as an `accord.Agent`, to which commands, modes, logins and handlers can be added.

    The framework is recognised by the class of the object, or of the one that a function makes: with or without
    `async`, for a session or once for all. The options are those of the `serve` of its adapter, which is in
    `accord.adapters.<framework>`.

    Raises:
        UnknownFramework: No adapter is known for the object.
        FrameworkTooOld: Its framework must be updated.
    """
    adapter = adapter_of(agent)
    if adapter == __name__:
        return _serve_made(agent, name or str(getattr(agent, "__name__", "agent")), options)
    check_version(adapter)
    served: Agent = import_module(adapter).serve(agent, name, **options)
    return served


def _serve_made(make: Any, name: str, options: dict[str, Any]) -> Agent:
    """The agent of a function whose framework is only known when it has been called.

    A function of the session is called for each turn; one without arguments once, on the loop of the first turn.
    """
    takes_session = bool(inspect.signature(make).parameters)
    kept: list[OpenRun] = []
    making = asyncio.Lock()

    async def opened(turn: Turn) -> Any:
        try:
            made = await agent_for(turn, make)
            return (isinstance(made, Agent) and open_run_of(made)) or open_run_of(serve(made, name, **options))
        except UnknownFramework as error:
            log.error("%s: %s", name, error)  # noqa: TRY400 - the name of the class is all that helps
            raise CannotServe(
                "this function makes no agent of a framework that Accord knows; the agent's log has the class"
            ) from error

    async def open_run(turn: Turn) -> Any:
        if takes_session:
            return await _made(await opened(turn), turn)
        async with making:
            kept[:] = kept or [await opened(turn)]
        return await _made(kept[0], turn)

    own: Any = {key: value for key, value in options.items() if key in ServeOptions.__annotations__}
    return make_agent(name, open_run, models=list(options.get("models", ())), **own)
