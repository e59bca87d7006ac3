"""The interface of a terminal for authors; every terminal is released exactly once."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Coroutine
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

from accord.session.event import Event, TerminalExit
from accord.session.tool import TerminalView
from accord.time_scale import scaled

__all__ = ["CommandOutcome", "PublishEvent", "Spawn", "Terminal", "TerminalText", "wait_for_tasks"]

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task that is held until it ends, and cancelled when the session closes."""

PublishEvent: TypeAlias = Callable[[Event], Awaitable[None]]
"""Publishes an event; the next one may be published when it returns."""

# How long a release waits for the client, or for the last event; it continues in the background after that.
RELEASE_SECONDS = scaled(10.0)


class TerminalText(NamedTuple):
    """The output of a command, `truncated` if the beginning is missing; `exit` is None while it runs."""

    text: str
    truncated: bool
    exit: TerminalExit | None


class CommandOutcome(NamedTuple):
    """The outcome of a command. Killed by a signal it has no `exit_code`; both are None where they are unknown."""

    exit_code: int | None
    signal: str | None
    output: str
    truncated: bool
    timed_out: bool
    terminal_id: str


class Terminal(ABC):
    """A command that was started, to be released. Made by `Terminals.start`; as an async context it releases itself."""

    def __init__(self, terminal_id: str, spawn: Spawn) -> None:
        self._id = terminal_id
        self._spawn = spawn
        self._releasing: asyncio.Task[None] | None = None
        self._on_released: Callable[[], None] = lambda: None

    @property
    def id(self) -> str:
        """The id of the terminal, unique in the session."""
        return self._id

    @property
    def view(self) -> TerminalView:
        """The terminal as something that a tool call shows. To be shown it must be there before the release."""
        return TerminalView(self._id)

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Whether its end is not known yet. The end of a command that the client runs is known after `wait`."""

    @property
    @abstractmethod
    def can_be_cancelled(self) -> bool:
        """Whether the client may end it by itself."""

    @abstractmethod
    async def _announce(self) -> None:
        """Return when the start of the command was sent."""

    @abstractmethod
    async def output(self) -> TerminalText:
        """Its output so far; after the release, its output up to then.

        Raises:
            RequestError: The client refused.
            ConnectionLost: The client is gone.
        """

    @abstractmethod
    async def wait(self, timeout_seconds: float | None = None) -> TerminalExit | None:
        """How it ended, when it has ended; None if the time was over first, and it runs on.

        A release ends every wait.

        Raises:
            RequestError: The client refused.
            ConnectionLost: The client is gone.
        """

    @abstractmethod
    async def kill(self) -> None:
        """End it; its output can still be read. On an ended one this does nothing.

        Raises:
            RequestError: The client refused.
            ConnectionLost: The client is gone.
        """

    async def release(self) -> None:
        """Kill it if it runs, publish its end, and release it; further calls wait for the first one.

        Returns after a few seconds at the latest, also if a client does not answer; and not before, also if the caller
        is cancelled meanwhile. An error that the client answers is ignored: nothing can be done about it.

        Raises:
            AccordError: An event could not be published or kept; the terminal is released all the same.
        """
        task = await self._settle()
        if task.done() and not task.cancelled():
            task.result()

    async def _discard(self) -> None:
        """Release it after another failure; raises nothing."""
        await self._settle()

    def _when_released(self, callback: Callable[[], None]) -> None:
        """Have this called when its release, which has not begun, is done."""
        self._on_released = callback

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await (self.release() if error is None else self._discard())

    @abstractmethod
    async def _let_go(self) -> None:
        """The release itself, different for each kind of terminal."""

    async def _settle(self) -> asyncio.Task[None]:
        if self._releasing is None:
            self._releasing = self._spawn(self._let_go())
            self._releasing.add_done_callback(lambda _: self._on_released())
        await wait_for_tasks([self._releasing], RELEASE_SECONDS)
        return self._releasing


async def wait_for_tasks(tasks: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Wait for tasks up to a timeout, also if the caller is cancelled once meanwhile; a second cancel ends the wait."""
    try:
        await asyncio.wait(tasks, timeout=seconds)
    except asyncio.CancelledError:
        await asyncio.wait(tasks, timeout=seconds)
        raise
