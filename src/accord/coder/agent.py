"""The coding agent as an `accord.Agent`: its modes, options and commands, and the handler of its turns.

Nothing heavy is imported before a session is opened: an editor starts agents that are never used.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import accord.stores
from accord.agent import Agent, Session, Turn
from accord.coder.daemon_thread import in_thread
from accord.coder.model import AUTO_APPROVE_READS, DEFAULT_EFFORT, EFFORT, EFFORTS, OFFLINE, PROJECT_FOLDERS
from accord.errors import LocalProtocolError, StoreError
from accord.session.option import Choice
from accord.session.rules import Rule, RuleError, parse_rule
from accord.stores.folder import default_path, make_folder
from accord.stores.interface import Store
from accord.version import VERSION

if TYPE_CHECKING:
    from accord.coder.memory import Memory
    from accord.coder.model import Model
    from accord.coder.turns import Coder

log = logging.getLogger("accord.coder")

MIN_CONTEXT = 1_000
"""Tokens: the instructions and the tools alone are nearly as many."""
MODES = (
    Choice("code", "Code", "Reads, changes and runs; asks before every change and command"),
    Choice("ask", "Ask", "Only reads"),
    Choice("plan", "Plan", "Only reads and plans; asks before it carries the plan out"),
)
COMMANDS = (
    ("read", "Shows a file", "file"),
    ("search", "Searches the files", "text [in folder]"),
    ("list", "Lists the files", "[folder]"),
    ("replace", "Replaces a text in a file", "old with new in file"),
    ("write", "Writes a file", "file text"),
    ("run", "Runs a command", "command"),
    ("shell", "Runs a line in a shell", "line"),
    ("background", "Runs a line in a shell beside the conversation", "line"),
    ("fetch", "Reads a page of the web", "address"),
    ("delegate", "Gives a task to a sub-agent", "task"),
    ("plan", "Shows a plan", "step; step; ..."),
)


def make_agent(  # noqa: PLR0913 - each is an option that users set
    *,
    model: str | Model = OFFLINE,
    models: Sequence[str | Model] = (),
    base_url: str | None = None,
    api_key: str | None = None,
    store: Store | Literal["default"] | None = "default",
    rules: Sequence[str | Rule] = (),
    name: str = "accord",
    max_requests: int | None = None,
    context_tokens: int | None = None,
    effort: str = DEFAULT_EFFORT,
) -> Agent:
    """The coding agent, ready to `run`.

    `model` is `offline`, or `PROVIDER:NAME` as pydantic-ai knows it; with a `base_url` it is any name that the
    OpenAI-compatible service there knows, and `api_key` is for that service. It may also be a `Model` of your own.
    Users can choose among `models` too.

    `rules` say what may be done without asking (`"allow edit:src/**"`). A turn ends after `max_requests` requests.
    `context_tokens` is the size of the context, for models whose size is not known or is to be smaller. `effort` is how
    much models may think unless the user says otherwise, one of `accord.coder.model.EFFORTS`.

    Where the folder of the default store cannot be written, sessions are kept in memory, and the log says so.

    Raises:
        LocalProtocolError: A rule, a model or a limit is not valid.
    """
    _check_limits(max_requests, context_tokens, effort)
    chosen = [model, *models, OFFLINE]
    made = {each.name: each for each in chosen if not isinstance(each, str)}
    names = list(dict.fromkeys(each if isinstance(each, str) else each.name for each in chosen))
    for name_ in names:
        if name_ not in {OFFLINE, *made} and base_url is None and not all(name_.partition(":")):
            raise LocalProtocolError(f"{name_!r} is no model: one is {OFFLINE}, or PROVIDER:NAME", field="model")
    if store == "default":
        store = _writable_store(name)
    agent = Agent(name, version=VERSION, title="Accord", store=store, mcp=True)
    agent.modes(MODES)
    agent.models(names)
    if names != [OFFLINE]:
        levels = [Choice(each, each.capitalize()) for each in EFFORTS]
        agent.select(
            EFFORT,
            "Thinking",
            levels,
            default=effort,
            category="thought_level",
            description="How much the model may think before it answers",
        )
    agent.toggle(
        AUTO_APPROVE_READS, "Read without asking", default=True, description="Reading, searching and listing files"
    )
    limits = {} if max_requests is None else {"max_requests": max_requests}
    lazy = _LazyCoder(
        models=made,
        base_url=base_url,
        api_key=api_key,
        rules=_parsed(rules),
        keeps=store is not None,
        context_tokens=context_tokens,
        **limits,
    )
    _register_sessions(agent, lazy)
    _register(agent, lazy)
    return agent


def _writable_store(name: str) -> Store | Literal["default"]:
    """The default store, or one in memory where that cannot be written."""
    try:
        path = default_path(name)
    except StoreError:
        return "default"  # there is no home directory: the start of the agent says so
    try:
        make_folder(path.parent)
        can_write = os.access(path.parent, os.W_OK | os.X_OK) and (not path.exists() or os.access(path, os.W_OK))
    except OSError:
        can_write = False
    if can_write:
        return "default"
    log.warning("sessions are kept in memory, and are gone with this process: %s cannot be written", path.parent)
    return accord.stores.MemoryStore()


class _LazyCoder:
    """The coder, made when it is first needed."""

    def __init__(self, **chosen: Any) -> None:
        self._chosen = chosen
        self._coder: Coder | None = None

    @property
    def coder(self) -> Coder:
        if self._coder is None:
            made: Coder = import_module("accord.coder.turns").Coder(**self._chosen)
            self._coder = made
        return self._coder

    async def prepare(self, model: str) -> None:
        """Load the packages of a model, while the user still types."""
        if model != OFFLINE:
            await in_thread(import_module, "accord.coder.turns")
            await self.coder.prepare(model)


def _register_sessions(agent: Agent, lazy: _LazyCoder) -> None:
    @agent.on_session
    async def prepare(session: Session) -> None:
        session.state = await _remembered(session)
        if _has_project_folder(session.cwd):
            await lazy.coder.open(session)
        session.spawn(lazy.prepare(str(session.option("model"))))

    @agent.on_option
    async def prepare_model(session: Session, option: str, value: str | bool) -> None:  # noqa: FBT001 - of a toggle
        if option == "model":
            session.spawn(lazy.prepare(str(value)))


def _register(agent: Agent, lazy: _LazyCoder) -> None:
    @agent.prompt(accepts={"image", "resource"})
    async def reply(turn: Turn) -> None:
        await lazy.coder.answer(turn)

    for name, description, hint in COMMANDS:

        @agent.command(name, description, hint=hint)
        async def use(turn: Turn, _: str) -> None:
            await lazy.coder.command(turn)

    _register_own(agent, lazy)


def _register_own(agent: Agent, lazy: _LazyCoder) -> None:
    """Register the slash commands that use no tool."""

    @agent.command("compact", "Puts a summary in the place of what was said, to make room")
    async def compact(turn: Turn) -> None:
        await lazy.coder.compact(turn)

    @agent.command("model", "Shows or changes the model", hint="[name]")
    async def model(turn: Turn, name: str) -> None:
        await lazy.coder.model(turn, name.strip())

    @agent.command("undo", "Puts back what the last turn changed in files")
    async def undo(turn: Turn) -> None:
        await lazy.coder.undo(turn)

    @agent.command("trust", "Shows the project's own commands and skills, and asks whether to use them")
    async def trust(turn: Turn) -> None:
        await lazy.coder.trust(turn)

    @agent.command("help", "Shows what can be said")
    async def show_help(turn: Turn) -> None:
        await lazy.coder.help(turn)


def _has_project_folder(cwd: str) -> bool:
    """Whether a project may have commands of its own; most have none, and nothing is imported for them."""
    return any(Path(cwd, folder).is_dir() for folder in PROJECT_FOLDERS)


async def _remembered(session: Session) -> Memory:
    """The memory of a session's model, also of a turn in which the process died."""
    memory: Memory = import_module("accord.coder.memory").remembered(session.state)
    if session.broke_off or memory.open_prompt is not None:
        await import_module("accord.coder.memory").recover(session, memory)
    return memory


def _check_limits(max_requests: int | None, context_tokens: int | None, effort: str) -> None:
    for name, limit, least in (("max_requests", max_requests, 1), ("context_tokens", context_tokens, MIN_CONTEXT)):
        if limit is not None and limit < least:
            raise LocalProtocolError(f"{name} is at least {least}", field=name)
    if effort not in EFFORTS:
        raise LocalProtocolError(f"{effort!r} is no effort: one is {', '.join(EFFORTS)}", field="effort")


def _parsed(rules: Sequence[str | Rule]) -> list[Rule]:
    try:
        return [rule if isinstance(rule, Rule) else parse_rule(rule) for rule in rules]
    except RuleError as error:
        raise LocalProtocolError(f"the rule {error}", field="rules") from None
