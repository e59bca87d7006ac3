"""The terminals that a client runs for its agent in one session: real processes, bounded output, nothing survives."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import Callable

from accord.errors import ResourceNotFound
from accord.session.agent_ask import (
    AwaitTerminal,
    KillTerminal,
    ReadTerminal,
    ReleaseTerminal,
    StartTerminal,
    TerminalEnded,
    TerminalRead,
    TerminalStarted,
)
from accord.session.ask import Done
from accord.session.event import Event, TerminalChanged, TerminalExit, TerminalOutput
from accord.workspace import Command, Exit, Workspace, start_command

__all__ = ["ClientTerminals"]

SCREEN_BYTES = 1024 * 1024


class ClientTerminals:
    """One session's terminals. What they print is also told as events, so that the transcript shows them.

    `tell` gets those events. With `pty` the programs see a terminal.
    """

    def __init__(self, workspace: Callable[[], Workspace], tell: Callable[[Event], None], *, pty: bool = False) -> None:
        self._workspace = workspace
        self._tell = tell
        self._pty = pty
        self._commands: dict[str, Command] = {}
        self._watchers: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> list[str]:
        """The ids of those that run."""
        return [id_ for id_, command in self._commands.items() if command.exit is None]

    async def start(self, ask: StartTerminal) -> TerminalStarted:
        """Run a command; answers at once."""
        terminal_id = f"terminal-{secrets.token_hex(8)}"
        workspace = self._workspace()
        cwd = ask.cwd or str(workspace.roots[0])
        self._tell(TerminalChanged(terminal_id, command=shlex.join([ask.command, *ask.args]), cwd=cwd))
        screen = _Screen(terminal_id, self._tell)
        command = await start_command(
            [ask.command, *ask.args],
            cwd=cwd,
            within=workspace,
            env=dict(ask.env),
            output_byte_limit=ask.output_byte_limit,
            pty=self._pty,
            on_output=screen.feed,
        )
        self._commands[terminal_id] = screen.command = command
        watcher = asyncio.get_running_loop().create_task(self._watch(terminal_id, command))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return TerminalStarted(terminal_id)

    async def read(self, ask: ReadTerminal) -> TerminalRead:
        """What it has written so far; never waits."""
        command = self._find(ask.terminal_id)
        output = command.output
        return TerminalRead(output.text, output.truncated, None if command.exit is None else _exit(command.exit))

    async def wait(self, ask: AwaitTerminal) -> TerminalEnded:
        """Its end."""
        return TerminalEnded(_exit(await self._find(ask.terminal_id).wait()))

    async def kill(self, ask: KillTerminal) -> Done:
        """End it; its output can still be read."""
        await self._find(ask.terminal_id).kill()
        return Done()

    async def release(self, ask: ReleaseTerminal) -> Done:
        """End it and forget it; the transcript keeps what it wrote."""
        command = self._find(ask.terminal_id)
        del self._commands[ask.terminal_id]
        await command.release()
        return Done()

    async def close(self) -> None:
        """End all of them."""
        commands, self._commands = list(self._commands.values()), {}
        await asyncio.gather(*(command.release() for command in commands), return_exceptions=True)
        watchers = list(self._watchers)
        for watcher in watchers:
            watcher.cancel()
        if watchers:
            await asyncio.wait(watchers)

    async def _watch(self, terminal_id: str, command: Command) -> None:
        ended = await command.wait()
        self._tell(TerminalChanged(terminal_id, exit=_exit(ended)))

    def _find(self, terminal_id: str) -> Command:
        command = self._commands.get(terminal_id)
        if command is None:
            message = "There is no such terminal: it was never made, or released"
            raise ResourceNotFound(message, {"terminalId": terminal_id})
        return command


class _Screen:
    """What is told of a terminal's output: all of it, until that is more than anybody reads; then its end."""

    def __init__(self, terminal_id: str, tell: Callable[[Event], None]) -> None:
        self.command: Command | None = None
        self._id = terminal_id
        self._tell = tell
        self._told_bytes = 0

    def feed(self, data: bytes) -> None:
        self._told_bytes += len(data)
        if self._told_bytes <= SCREEN_BYTES or self.command is None:
            self._tell(TerminalOutput(self._id, data))
            return
        kept = self.command.output_bytes[-SCREEN_BYTES // 4 :]
        self._told_bytes = len(kept)
        self._tell(TerminalChanged(self._id, output=kept))


def _exit(ended: Exit) -> TerminalExit:
    return TerminalExit(ended.code, ended.signal)
