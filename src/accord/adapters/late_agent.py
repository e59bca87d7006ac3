"""The agent behind `accord agent module:attribute`: it answers at once, and imports its framework in a thread.

It declares the same capabilities for every framework and no login, because nothing else is known before the import.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from typing import TYPE_CHECKING, Any, Unpack

from accord.adapters.failures import CannotServe, module_of, recognised
from accord.adapters.import_string import ImportString
from accord.agent import Agent, Session, Turn
from accord.errors import InternalError, RequestError

if TYPE_CHECKING:
    from accord.adapters.serving import OpenRun, ServeOptions

__all__ = ["make_late_agent", "refusal_of", "served_object"]

log = logging.getLogger("accord.adapters")


def make_late_agent(string: ImportString, **options: Unpack[ServeOptions]) -> Agent:
    """An agent that imports `string` when its first session is opened."""
    options.setdefault("mcp", True)
    agent = Agent(string.name, **options)
    loader = AgentLoader(string)

    @agent.on_session
    async def begin(_: Session) -> None:
        loader.begin()

    @agent.prompt(accepts={"image", "audio", "resource"})
    async def reply(turn: Turn) -> None:
        open_run = await loader.loaded()
        from accord.adapters.serving import run_turn  # noqa: PLC0415 - it was imported in the loader's thread

        await run_turn(open_run, turn)

    return agent


def served_object(value: Any, string: ImportString, **options: Unpack[ServeOptions]) -> Agent:
    """A module's object as an agent: an `accord.Agent` unchanged, a function that makes one called, the rest served.

    Raises:
        UnknownFramework: No adapter is known for it.
    """
    if inspect.isroutine(value) and not inspect.iscoroutinefunction(value) and not inspect.signature(value).parameters:
        value = value()
    if isinstance(value, Agent):
        return value
    from accord.adapters.serving import serve  # noqa: PLC0415 - in the loader's thread, after `initialize`

    return serve(value, string.name, **options)


def refusal_of(error: BaseException) -> CannotServe | None:
    """The sentence of ours behind the exception of an import, such as that of an adapter on an old framework."""
    from accord.adapters.serving import check_version  # noqa: PLC0415 - as above

    try:
        if isinstance(error, ImportError):
            check_version(module_of(error))
    except CannotServe as refusal:
        return refusal
    return error if isinstance(error, CannotServe) else None


class AgentLoader:
    """Imports an agent once, in a thread that does not keep the program from ending."""

    def __init__(self, string: ImportString) -> None:
        self._string = string
        self._loaded: asyncio.Future[OpenRun] | None = None

    def begin(self) -> asyncio.Future[OpenRun]:
        """Begin to import; on the loop."""
        if self._loaded is None:
            loop = asyncio.get_running_loop()
            self._loaded = loop.create_future()
            # Retrieved, because it may be that no prompt ever awaits it.
            self._loaded.add_done_callback(lambda done: done.cancelled() or done.exception())
            threading.Thread(target=self._load, args=(loop, self._loaded), name="accord-import", daemon=True).start()
        return self._loaded

    async def loaded(self) -> OpenRun:
        """Wait for the import.

        Raises:
            RequestError: It failed; the message is a sentence for the user.
        """
        try:
            return await asyncio.shield(self.begin())
        except RequestError as error:
            # The same exception for every prompt would grow a traceback of all of them.
            raise type(error)(error.message, error.data) from None

    def _load(self, loop: asyncio.AbstractEventLoop, loaded: asyncio.Future[OpenRun]) -> None:
        try:
            result: OpenRun | RequestError = self._import()
        except BaseException as error:
            # Where the name is wrong, a traceback through the code of Accord is of no use to the author.
            has_place = not self._is_misnamed(error)
            log.error("%s cannot be served: %s", self._string, error, exc_info=has_place)  # noqa: TRY400 - as above
            result = InternalError(self._sentence(error), {"reason": "import"})
        try:
            loop.call_soon_threadsafe(_settle, loaded, result)
        except RuntimeError:
            log.debug("%s was imported for an agent that has ended", self._string)

    def _import(self) -> OpenRun:
        from accord.adapters.serving import open_run_of  # noqa: PLC0415 - in the thread, as all that runs need

        agent = served_object(self._string.load(), self._string, store=None)
        open_run = open_run_of(agent)
        if open_run is None:
            raise _IsAccordAgent
        return open_run

    def _is_misnamed(self, error: BaseException) -> bool:
        """Whether there is no such module or attribute, or one that is no agent."""
        if isinstance(error, ModuleNotFoundError):
            return error.name == self._string.module
        if isinstance(error, AttributeError):
            return error.name == self._string.attribute
        is_refused = isinstance(error, _IsAccordAgent) or refusal_of(error) is not None
        return is_refused or type(error).__name__ == "UnknownFramework"

    def _sentence(self, error: BaseException) -> str:
        """Why there is no agent, without the exception's own text."""
        if isinstance(error, _IsAccordAgent):
            return f"{self._string} is an accord.Agent: start it with accord agent --import-first {self._string}"
        if type(error).__name__ == "UnknownFramework":
            return f"{self._string} is no agent of a framework that Accord knows: the agent's log has the class"
        refusal = refusal_of(error)
        if refusal is not None:
            return f"{self._string} cannot be served: {refusal}"
        module = self._string.in_package
        if module and ("relative import" in str(error) or module.startswith(f"{getattr(error, 'name', None)}.")):
            # The file of a package was imported as a module of its own.
            return f"{self._string} cannot be imported: its file is part of a package; name its module, {module}"
        if isinstance(error, ModuleNotFoundError) and error.name:
            kind = "file" if error.name.endswith(".py") else "module"
            return f"{self._string} cannot be imported: there is no {kind} {error.name}"
        if isinstance(error, AttributeError) and error.name == self._string.attribute:
            return f"{self._string} cannot be imported: the module has no {self._string.attribute}"
        known = recognised(error)
        if known is not None:
            return f"{self._string} cannot be imported: {known.message}"
        return f"{self._string} cannot be imported: its module raised {type(error).__name__}; the agent's log says why"


class _IsAccordAgent(Exception):
    """Its handlers, commands and logins had to be known before `initialize`."""


def _settle(loaded: asyncio.Future[OpenRun], result: OpenRun | RequestError) -> None:
    if loaded.done():
        return
    if isinstance(result, RequestError):
        loaded.set_exception(result)
    else:
        loaded.set_result(result)
