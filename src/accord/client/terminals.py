"""The terminals that a client runs for its agent in one session: processes with bounded output, ended with it."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from accord.errors import RateLimited, ResourceNotFound
from accord.session.agent_requests import (
    AwaitTerminal,
    KillTerminal,
    ReadTerminal,
    ReleaseTerminal,
    StartTerminal,
    TerminalEnded,
    TerminalRead,
    TerminalStarted,
)
from accord.session.client_requests import Done
from accord.session.event import Event, TerminalChanged, TerminalExit, TerminalOutput
from accord.workspace import Exit, RunningCommand, Workspace, start_command

__all__ = ["ClientTerminals"]

ApplyEvent: TypeAlias = Callable[[Event], Awaitable[None] | None]

# The limit for the kept output of a terminal, also if the agent requests more.
MAX_OUTPUT_BYTES = 16 * 1024 * 1024
# The limit for the kept output of all terminals of a session: each has an equal part, if that is less.
MAX_TOTAL_BYTES = 2 * MAX_OUTPUT_BYTES
# How many terminals of a session may run. Beyond it the oldest one that has ended is forgotten, as if it were released.
MAX_TERMINALS = 64
# How much of it the transcript shows, and how much is left when it begins anew after an overflow.
SCREEN_BYTES = 1024 * 1024
SCREEN_PART = 4
SCREEN_REST_BYTES = SCREEN_BYTES // SCREEN_PART
# How long the last events of terminals may wait for a consumer at the end of the session.
LAST_EVENTS_SECONDS = 1.0


class ClientTerminals:
    """One session's terminals. Their output is also published as events, so that the transcript shows it.

    `publish` gets those events; its result is awaited before the next one. With `pty` the programs see a terminal.
    """

    def __init__(self, workspace: Callable[[], Workspace], publish: ApplyEvent, *, pty: bool = False) -> None:
        self._workspace = workspace
        self._publish = publish
        self._pty = pty
        self._commands: dict[str, RunningCommand] = {}
        self._limits: dict[str, tuple[int, _Screen]] = {}
        """The output limit that the agent requested for each."""
        self._watchers: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> list[str]:
        return [id_ for id_, command in self._commands.items() if command.exit is None]

    async def start(self, request: StartTerminal, expected: Path | None = None) -> TerminalStarted:
        """Run a command; answers at once. `expected` is the real path of the directory that was allowed.

        Raises:
            RateLimited: Too many run already.
        """
        await self._free_slot()
        terminal_id = f"terminal-{secrets.token_hex(8)}"
        workspace = self._workspace()
        cwd = request.cwd or str(workspace.roots[0])
        screen = _Screen(terminal_id, self._publish)
        limit = _at_most(MAX_OUTPUT_BYTES, request.output_byte_limit)
        command = await start_command(
            [request.command, *request.args],
            cwd=cwd,
            within=workspace,
            expected=expected,
            env=dict(request.env),
            output_byte_limit=limit,
            pty=self._pty,
            on_output=screen.feed,
        )
        self._commands[terminal_id] = command
        self._limits[terminal_id] = limit, screen
        self._share()
        self._publish(TerminalChanged(terminal_id, command=shlex.join([request.command, *request.args]), cwd=cwd))
        watcher = asyncio.get_running_loop().create_task(screen.watch(command))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return TerminalStarted(terminal_id)

    async def read(self, request: ReadTerminal) -> TerminalRead:
        """Its output so far; never waits."""
        command = self._find(request.terminal_id)
        output = command.output
        return TerminalRead(output.text, output.truncated, None if command.exit is None else _exit(command.exit))

    async def wait(self, request: AwaitTerminal) -> TerminalEnded:
        return TerminalEnded(_exit(await self._find(request.terminal_id).wait()))

    async def kill(self, request: KillTerminal) -> Done:
        """End it; its output can still be read."""
        await self._find(request.terminal_id).kill()
        return Done()

    async def release(self, request: ReleaseTerminal) -> Done:
        """End it and forget it; the transcript keeps its output."""
        command = self._find(request.terminal_id)
        await self._forget(request.terminal_id, command)
        return Done()

    async def close(self) -> None:
        commands, self._commands = list(self._commands.values()), {}
        self._limits = {}
        await asyncio.gather(*(command.release() for command in commands), return_exceptions=True)
        if self._watchers:
            _, late = await asyncio.wait(self._watchers, timeout=LAST_EVENTS_SECONDS)
            for watcher in late:
                watcher.cancel()
            if late:
                await asyncio.wait(late)

    async def _free_slot(self) -> None:
        if len(self._commands) < MAX_TERMINALS:
            return
        ended = next(((id_, command) for id_, command in self._commands.items() if command.exit is not None), None)
        if ended is None:
            raise RateLimited(message=f"{MAX_TERMINALS} terminals of this session run: end or release one first")
        await self._forget(*ended)

    async def _forget(self, terminal_id: str, command: RunningCommand) -> None:
        del self._commands[terminal_id]
        del self._limits[terminal_id]
        self._share()
        await command.release()

    def _share(self) -> None:
        """Give each terminal its part of the session's output limit."""
        count = max(1, len(self._commands))
        for terminal_id, (limit, screen) in self._limits.items():
            self._commands[terminal_id].limit_output(min(limit, MAX_TOTAL_BYTES // count))
            screen.limit(min(SCREEN_BYTES, MAX_TOTAL_BYTES // 2 // count))

    def _find(self, terminal_id: str) -> RunningCommand:
        command = self._commands.get(terminal_id)
        if command is None:
            message = "There is no such terminal: it was never made, or released"
            raise ResourceNotFound(message, {"terminalId": terminal_id})
        return command


class _Screen:
    """Publishes a terminal's output: all of it up to a limit, then its end.

    A slow consumer gets the end too: the waiting output is bounded, and the program is never held up.
    """

    def __init__(self, terminal_id: str, publish: ApplyEvent) -> None:
        self._id = terminal_id
        self._publish = publish
        self._shown = bytearray()
        """The output in the transcript; kept, because its end replaces it after an overflow."""
        self._held = bytearray()
        """The output since the last publication."""
        self._is_behind = False
        self._pause: Awaitable[None] | None = None
        self._has_output = asyncio.Event()
        self._max_bytes = SCREEN_BYTES

    def limit(self, max_bytes: int) -> None:
        """Keep no more than this much published output: with many terminals, each has less."""
        self._max_bytes = max_bytes
        if len(self._shown) > max_bytes:
            self._shown = self._shown[-(max_bytes // SCREEN_PART) :]

    def feed(self, data: bytes) -> None:
        """The next output; published at once, unless earlier output still waits."""
        if self._pause is None and not self._held:
            self._pause = self._show(data)
            if self._pause is not None:
                self._has_output.set()
            return
        self._held += data
        if len(self._held) > self._max_bytes:
            self._is_behind = True
            del self._held[: -(self._max_bytes // SCREEN_PART)]
        self._has_output.set()

    async def watch(self, command: RunningCommand) -> None:
        """Publish the waiting output, and the end."""
        ending = asyncio.ensure_future(command.wait())
        try:
            while not ending.done():
                output_waiter = asyncio.ensure_future(self._has_output.wait())
                try:
                    await asyncio.wait([ending, output_waiter], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    output_waiter.cancel()
                await self._catch_up()
            self._publish(TerminalChanged(self._id, exit=_exit(ending.result())))
        finally:
            ending.cancel()

    async def _catch_up(self) -> None:
        self._has_output.clear()
        while self._pause is not None or self._held:
            if self._pause is not None:
                await self._pause
            held, self._held = bytes(self._held), bytearray()
            self._pause = self._show(held) if held else None

    def _show(self, data: bytes) -> Awaitable[None] | None:
        if not self._is_behind and len(self._shown) + len(data) <= self._max_bytes:
            self._shown += data
            return self._publish(TerminalOutput(self._id, data))
        # A slow consumer has so much new output that nothing from before the gap is left.
        self._is_behind = False
        self._shown += data
        del self._shown[: -(self._max_bytes // SCREEN_PART)]
        return self._publish(TerminalChanged(self._id, output=bytes(self._shown)))


def _at_most(limit: int, wanted: int | None) -> int:
    return limit if wanted is None else max(0, min(limit, wanted))


def _exit(ended: Exit) -> TerminalExit:
    return TerminalExit(ended.code, ended.signal)
