"""A command that runs on this machine, and how the conversation hears of it: its start, its output, its end.

What is told never holds the command up. If the client cannot follow, what waits is bounded, and then the end of the
output takes the place of all of it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from accord.agent.terminal import PublishEvent, Spawn, Terminal, TerminalText
from accord.session.event import Event, TerminalChanged, TerminalExit, TerminalOutput
from accord.workspace.commands import DEFAULT_OUTPUT_BYTES, Command
from accord.workspace.exits import Exit
from accord.workspace.output import Tail

__all__ = ["LocalTerminal", "OutputScreen"]

# How much output may wait to be told, and how much is told where it is told anew.
MAX_WAITING_BYTES = 1024 * 1024


class OutputScreen:
    """What has to be told of a command's output.

    Whoever shows it holds twice `limit_bytes` at most: beyond that, and when too much waits, the end is told anew.
    """

    def __init__(self, limit_bytes: int | None) -> None:
        self._limit_bytes = DEFAULT_OUTPUT_BYTES if limit_bytes is None else limit_bytes
        self._tail = Tail(min(self._limit_bytes, MAX_WAITING_BYTES))
        self._waiting = bytearray()
        self._shown_bytes = 0
        self._is_overrun = False
        self.changed = asyncio.Event()

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        self._tail.feed(data)
        if not self._is_overrun:
            self._waiting += data
            waiting_bytes = len(self._waiting)
            if waiting_bytes > MAX_WAITING_BYTES or self._shown_bytes + waiting_bytes > 2 * self._limit_bytes:
                self._overrun()
        self.changed.set()

    def take(self, terminal_id: str) -> Event | None:
        """What is to be told now; None if nothing is."""
        if self._is_overrun:
            self._is_overrun = False
            data = self._tail.data()
            self._shown_bytes = len(data)
            return TerminalChanged(terminal_id, output=data)
        if not self._waiting:
            return None
        data = bytes(self._waiting)
        self._waiting.clear()
        self._shown_bytes += len(data)
        return TerminalOutput(terminal_id, data)

    def take_last(self, terminal_id: str) -> Event | None:
        """The same when no more will come: what is shown in the end is within the limit."""
        if self._shown_bytes + len(self._waiting) > self._limit_bytes:
            self._overrun()
        return self.take(terminal_id)

    def _overrun(self) -> None:
        self._is_overrun = True
        self._waiting.clear()


class LocalTerminal(Terminal):
    """A command of ours. Made in the loop tick in which the command was started, so that nothing is missed."""

    def __init__(
        self, command: Command, screen: OutputScreen, started: TerminalChanged, publish: PublishEvent, spawn: Spawn
    ) -> None:
        super().__init__(started.id, spawn)
        self._command = command
        self._screen = screen
        self._started = started
        self._publish = publish
        self._announced = asyncio.Event()
        spawn(self._watch())
        self._publishing = spawn(self._publish_all())

    @staticmethod
    def new_id() -> str:
        """An id that nothing else has."""
        return f"terminal-{secrets.token_hex(8)}"

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self._command.exit is None

    @property
    def can_be_cancelled(self) -> bool:
        """Whether the client may end it."""
        return self._started.cancellable is True

    async def _announce(self) -> None:
        """Return when its start was told.

        Raises:
            AccordError: It could not be told.
        """
        await self._announced.wait()
        if self._publishing.done():
            self._publishing.result()

    async def output(self) -> TerminalText:
        """What it and its descendants have written, up to the limit."""
        text, truncated = self._command.output
        ended = self._command.exit
        return TerminalText(text, truncated, None if ended is None else _output_pages(ended))

    async def wait(self, timeout_seconds: float | None = None) -> TerminalExit | None:
        """How it ended; None if the time was over first."""
        return _output_pages(await self._command.wait()) if await self._command.wait_for(timeout_seconds) else None

    async def kill(self) -> None:
        """End it and whatever it started, politely first."""
        await self._command.kill()

    async def _let_go(self) -> None:
        await self._command.release()
        await self._publishing

    async def _watch(self) -> None:
        await self._command.wait()
        self._screen.changed.set()

    async def _publish_all(self) -> None:
        try:
            await self._publish(self._started)
        finally:
            # Also if it failed: who waits for it asks.
            self._announced.set()
        while self.is_running:
            await self._screen.changed.wait()
            self._screen.changed.clear()
            await self._publish_output(self._screen.take)
        # What descendants write from here on is in the output, but not told: the end is the last that is.
        await self._publish_output(self._screen.take_last)
        await self._publish(TerminalChanged(self.id, exit=_output_pages(await self._command.wait())))

    async def _publish_output(self, take: Callable[[str], Event | None]) -> None:
        event = take(self.id)
        if event is not None:
            await self._publish(event)


def _output_pages(ended: Exit) -> TerminalExit:
    return TerminalExit(code=ended.code, signal=ended.signal)
