"""`serve`: an agent of any known framework as an `accord.Agent`, by the class of the object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Literal, TypeAlias, TypedDict, Unpack
from weakref import WeakKeyDictionary

from accord.adapters.framework_run import FrameworkRun
from accord.agent import Agent, InUse, Turn
from accord.errors import LocalProtocolError
from accord.session.option import Choice, Group
from accord.stores.interface import Store

__all__ = ["OpenRun", "ServeOptions", "UnknownFramework", "make_agent", "serve"]

OpenRun: TypeAlias = Callable[[Turn], FrameworkRun]
"""Makes the run of a turn."""

# Where the classes of a framework are defined, and the adapter for them. The first that fits counts.
ADAPTERS: tuple[tuple[str, str], ...] = (
    ("pydantic_ai", "accord.adapters.pydantic_ai"),
    ("langgraph", "accord.adapters.langgraph"),
    ("agents", "accord.adapters.openai_agents"),
    ("google.adk", "accord.adapters.google_adk"),
    ("strands", "accord.adapters.strands"),
)

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
        await open_run(turn).handle()

    _runs[agent] = open_run
    return agent


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
        for framework, module in ADAPTERS:
            if kind.__module__ == framework or kind.__module__.startswith(f"{framework}."):
                return module
    known = ", ".join(framework for framework, _ in ADAPTERS)
    raise UnknownFramework(f"a {type(agent).__name__} is no agent of a framework that Accord knows; it knows {known}")


def serve(agent: object, name: str | None = None, **options: object) -> Agent:
    """An agent of a framework as an `accord.Agent`, to which commands, modes, logins and handlers can be added.

    The framework is recognised by the class of the object. The options are those of the `serve` of its adapter, which
    is in `accord.adapters.<framework>`.

    Raises:
        UnknownFramework: No adapter is known for the object.
    """
    served: Agent = import_module(adapter_of(agent)).serve(agent, name, **options)
    return served
