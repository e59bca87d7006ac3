"""A command that the client runs for the agent: what it is asked, in which order, and that it gets it back."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from accord.agent.client_caller import ClientCaller
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
from accord.session.event import TerminalChanged, TerminalExit
from accord.time_scale import scaled

__all__ = ["ClientTerminal"]

# How long each step before a release may take: to kill, to hear of the end, to read, to tell. More than a client needs
# that asks a stubborn program politely first.
STEP_SECONDS = scaled(2.5)


class ClientTerminal(Terminal):
    """A terminal of the client. What it answered is known from then on; it is not asked before somebody wants to know.

    The client shows the output by itself. Only the start and the end are told, for whoever hears of the session later.
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
        # What it had written, or why nobody knows.
        self._last: TerminalText | AccordError | None = None
        self._was_read = asyncio.Event()

    @property
    def is_running(self) -> bool:
        """Whether the client has not told its end yet."""
        return not self._over.done()

    @property
    def can_be_cancelled(self) -> bool:
        """Never: the client needs nobody to end what it runs itself."""
        return False

    async def _announce(self) -> None:
        """Tell that it was started."""
        await self._publish(self._started)

    async def output(self) -> TerminalText:
        """Ask for what it has written; once a release began, what was known then."""
        if self._releasing is not None:
            await self._was_read.wait()
        if isinstance(self._last, AccordError):
            raise self._last
        return self._last or await self._read()

    async def wait(self, timeout_seconds: float | None = None) -> TerminalExit | None:
        """Ask for its end, once for all who wait; None if the time was over first."""
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
        # How it ended can be asked for later too.
        with suppress(AccordError):
            await self.wait(STEP_SECONDS)

    async def _watch(self) -> None:
        try:
            answer: TerminalEnded = await self._caller.call(AwaitTerminal(self._session_id, self.id))
        finally:
            # If it failed, the next one who waits asks again.
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
            # Beside the release: a client that is slow to hear must not keep its command.
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
            # Over it is, whether or not anybody said how.
            self._note(TerminalExit())
            self._was_read.set()

    async def _publish_end(self) -> None:
        ended = self._over.result()
        output: bytes | UnsetType = UNSET
        if isinstance(self._last, TerminalText):
            self._last = self._last._replace(exit=ended)
            # Half a character is what a client in another language can send.
            output = self._last.text.encode(errors="replace")
        await self._publish(TerminalChanged(self.id, output=output, exit=ended))
