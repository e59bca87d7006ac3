"""The two kinds of terminal: a process of this program, and a command that the client runs."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from accord.agent.client import ClientCaller
from accord.agent.terminal import PublishEvent, Spawn, Terminal, TerminalText
from accord.errors import AccordError
from accord.protocol.model import UNSET, UnsetType
from accord.session.agent_requests import (
    AwaitTerminal,
    KillTerminal,
    ReadTerminal,
    ReleaseTerminal,
    TerminalEnded,
    TerminalRead,
)
from accord.session.event import Event, TerminalChanged, TerminalExit, TerminalOutput
from accord.time_scale import scaled
from accord.workspace.commands import DEFAULT_OUTPUT_BYTES, RunningCommand
from accord.workspace.output import Exit, Tail

__all__ = ["ClientTerminal", "LocalTerminal", "OutputScreen"]

# How much output may wait to be published, and how much of its end is published after an overflow.
MAX_WAITING_BYTES = 1024 * 1024


class OutputScreen:
    """The output of a command that is still to be published.

    A client holds twice `limit_bytes` at most: beyond that, and when too much waits, the end of the output replaces it.
    """

    def __init__(self, limit_bytes: int | None) -> None:
        self._limit_bytes = DEFAULT_OUTPUT_BYTES if limit_bytes is None else limit_bytes
        self._tail = Tail(min(self._limit_bytes, MAX_WAITING_BYTES))
        self._waiting = bytearray()
        self._shown_bytes = 0
        self._is_overrun = False
        self.changed = asyncio.Event()

    def feed(self, data: bytes) -> None:
        self._tail.feed(data)
        if not self._is_overrun:
            self._waiting += data
            waiting_bytes = len(self._waiting)
            if waiting_bytes > MAX_WAITING_BYTES or self._shown_bytes + waiting_bytes > 2 * self._limit_bytes:
                self._overrun()
        self.changed.set()

    def take(self, terminal_id: str) -> Event | None:
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
        """The last part of the output, after which no more comes; the final output is within the limit."""
        if self._shown_bytes + len(self._waiting) > self._limit_bytes:
            self._overrun()
        return self.take(terminal_id)

    def _overrun(self) -> None:
        self._is_overrun = True
        self._waiting.clear()


class LocalTerminal(Terminal):
    """A command of ours. Made in the loop tick in which the command was started, so that nothing is missed."""

    def __init__(
        self,
        command: RunningCommand,
        screen: OutputScreen,
        started: TerminalChanged,
        publish: PublishEvent,
        spawn: Spawn,
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
        return f"terminal-{secrets.token_hex(8)}"

    @property
    def is_running(self) -> bool:
        return self._command.exit is None

    @property
    def can_be_cancelled(self) -> bool:
        return self._started.cancellable is True

    async def _announce(self) -> None:
        """Return when its start was published.

        Raises:
            AccordError: It could not be published.
        """
        await self._announced.wait()
        if self._publishing.done():
            self._publishing.result()

    async def output(self) -> TerminalText:
        """The output of it and its descendants, up to the limit."""
        text, truncated = self._command.output
        ended = self._command.exit
        return TerminalText(text, truncated, None if ended is None else _output_pages(ended))

    async def wait(self, timeout_seconds: float | None = None) -> TerminalExit | None:
        """How it ended; None if the time was over first."""
        return _output_pages(await self._command.wait()) if await self._command.wait_for(timeout_seconds) else None

    async def kill(self) -> None:
        """End it and its descendants, by SIGTERM first."""
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
            # Also if it failed: `_announce` raises the exception to its caller.
            self._announced.set()
        while self.is_running:
            await self._screen.changed.wait()
            self._screen.changed.clear()
            await self._publish_output(self._screen.take)
        # Later output of descendants is kept, but not published: the end is the last event.
        await self._publish_output(self._screen.take_last)
        await self._publish(TerminalChanged(self.id, exit=_output_pages(await self._command.wait())))

    async def _publish_output(self, take: Callable[[str], Event | None]) -> None:
        event = take(self.id)
        if event is not None:
            await self._publish(event)


def _output_pages(ended: Exit) -> TerminalExit:
    return TerminalExit(code=ended.code, signal=ended.signal)


# How long each step before a release may take: to kill, to wait for the end, to read, to publish. More than a client
# needs that sends a polite signal first.
STEP_SECONDS = scaled(2.5)


class ClientTerminal(Terminal):
    """A terminal of the client. Its answers are kept; it gets a request only when a caller needs the answer.

    The client shows the output by itself. Only the start and the end are published, for later replays.
    """

    def __init__(
        self, session_id: str, started: TerminalChanged, caller: ClientCaller, publish: PublishEvent, spawn: Spawn
    ) -> None:
        super().__init__(started.id, spawn)
        self._session_id = session_id
        self._started = started
        self._caller = caller
        self._publish = publish
        self._over: asyncio.Future[TerminalExit] = asyncio.get_running_loop().create_future()
        self._watching: asyncio.Task[None] | None = None
        # The last output, or the error of reading it.
        self._last: TerminalText | AccordError | None = None
        self._was_read = asyncio.Event()

    @property
    def is_running(self) -> bool:
        """Whether the client has not reported its end yet."""
        return not self._over.done()

    @property
    def can_be_cancelled(self) -> bool:
        """Never: the client can end its own commands."""
        return False

    async def _announce(self) -> None:
        await self._publish(self._started)

    async def output(self) -> TerminalText:
        """Request its output; once a release began, the last output that was received."""
        if self._releasing is not None:
            await self._was_read.wait()
        if isinstance(self._last, AccordError):
            raise self._last
        return self._last or await self._read()

    async def wait(self, timeout_seconds: float | None = None) -> TerminalExit | None:
        """Request its exit, once for all waiters; None after the timeout."""
        if not self._over.done():
            watching = self._watching = self._watching or self._spawn(self._watch())
            over: list[asyncio.Future[Any]] = [self._over, watching]
            await asyncio.wait(over, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
            if not self._over.done():
                if watching.done():
                    watching.result()
                return None
        return self._over.result()

    async def kill(self) -> None:
        """Ask the client to end it, and wait a moment for that."""
        if self.is_running and self._releasing is None:
            await self._kill(None)

    async def _kill(self, timeout_seconds: float | None) -> None:
        await self._caller.call(KillTerminal(self._session_id, self.id), timeout_seconds=timeout_seconds)
        # Its exit can also be requested later.
        with suppress(AccordError):
            await self.wait(STEP_SECONDS)

    async def _watch(self) -> None:
        try:
            answer: TerminalEnded = await self._caller.call(AwaitTerminal(self._session_id, self.id))
        finally:
            # If it failed, the next waiter sends the request again.
            self._watching = None
        self._note(answer.exit)

    async def _read(self, timeout_seconds: float | None = None) -> TerminalText:
        read = ReadTerminal(self._session_id, self.id)
        answer: TerminalRead = await self._caller.call(read, timeout_seconds=timeout_seconds)
        if answer.exit is not None:
            self._note(answer.exit)
        return TerminalText(answer.output, answer.truncated, answer.exit)

    def _note(self, ended: TerminalExit) -> None:
        if not self._over.done():
            self._over.set_result(ended)

    async def _let_go(self) -> None:
        try:
            await self._read_end()
            # Beside the release: a client that is slow to read must not keep its command.
            publishing = self._spawn(self._publish_end())
            await asyncio.wait([publishing], timeout=STEP_SECONDS)
        finally:
            # v1 rule 50: every terminal is released.
            with suppress(AccordError):
                await self._caller.call(ReleaseTerminal(self._session_id, self.id))
            if self._watching is not None:
                self._watching.cancel()
        await publishing

    async def _read_end(self) -> None:
        # v1 rule 51: kill, then read, then release.
        try:
            if self.is_running:
                with suppress(AccordError):
                    await self._kill(STEP_SECONDS)
            try:
                self._last = await self._read(STEP_SECONDS)
            except AccordError as error:
                self._last = error
        finally:
            # It has ended, also if the client did not report how.
            self._note(TerminalExit())
            self._was_read.set()

    async def _publish_end(self) -> None:
        ended = self._over.result()
        output: bytes | UnsetType = UNSET
        if isinstance(self._last, TerminalText):
            self._last = self._last._replace(exit=ended)
            # A client in another language can send a lone surrogate.
            output = self._last.text.encode(errors="replace")
        await self._publish(TerminalChanged(self.id, output=output, exit=ended))
