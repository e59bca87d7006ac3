"""A client with a machine of its own: it serves what agents ask with real files and real processes, or fails to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from accord.errors import CallTimeout, ConnectionLost, request_error
from accord.session.ask import (
    AwaitTerminal,
    Done,
    FileRead,
    KillTerminal,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    StartTerminal,
    TerminalEnded,
    TerminalRead,
    TerminalStarted,
    WriteFile,
)
from accord.session.capability import ClientCapabilities
from accord.session.event import Event, TerminalExit
from accord.session.transcript import Transcript
from accord.workspace import RunningCommand, Workspace, WorkspaceError, start_command
from accord.workspace.output import Exit


class Machine:
    """An `Asker` whose other end is real.

    `failures` has what an ask of a kind is refused with, before anything is done. `gates` hold back the answers to a
    kind after the work was done, as a slow link would; to give up on an answer does not undo the work either.
    """

    def __init__(self, roots: tuple[Path, ...], capabilities: ClientCapabilities) -> None:
        self.capabilities = capabilities
        self.asked: list[Any] = []
        self.failures: dict[type, Exception] = {}
        self.gates: dict[type, asyncio.Event] = {}
        self.commands: dict[str, RunningCommand] = {}
        self.pids: list[int] = []
        self.knows_exits = True
        self._workspace = Workspace(roots)
        self._gone = asyncio.Event()
        self._serving: set[asyncio.Task[Any]] = set()

    def kinds(self) -> list[type]:
        return [type(ask) for ask in self.asked]

    def hold(self, kind: type) -> asyncio.Event:
        gate = self.gates[kind] = asyncio.Event()
        return gate

    def vanish(self) -> None:
        self._gone.set()

    async def ask(self, ask: Any, *, timeout_seconds: float | None = None) -> Any:
        if self._gone.is_set():
            raise ConnectionLost
        self.asked.append(ask)
        serving = asyncio.ensure_future(self._answer(ask))
        self._serving.add(serving)
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait([serving, gone], timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if self._gone.is_set():
            raise ConnectionLost
        if not serving.done():
            raise CallTimeout(type(ask).__name__, timeout_seconds or 0)
        return serving.result()

    async def close(self) -> None:
        # v1 rule 52: a client ends what it runs when its agent is gone.
        for command in self.commands.values():
            await command.release()
        for serving in self._serving:
            serving.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await serving

    async def _answer(self, ask: Any) -> Any:
        if type(ask) in self.failures:
            raise self.failures[type(ask)]
        assert ask.session_id == "s"
        serve: dict[type, Callable[[Any], Coroutine[Any, Any, Any]]] = {
            ReadFile: self._read_file,
            WriteFile: self._write_file,
            StartTerminal: self._start,
            ReadTerminal: self._read,
            AwaitTerminal: self._await,
            KillTerminal: self._kill,
            ReleaseTerminal: self._release,
        }
        try:
            answer = await serve[type(ask)](ask)
        except WorkspaceError as error:
            raise request_error(error.code, "no") from error
        if type(ask) in self.gates:
            await self.gates[type(ask)].wait()
        return answer

    async def _read_file(self, ask: ReadFile) -> FileRead:
        return FileRead(await self._workspace.read_text(ask.path, ask.line, ask.limit))

    async def _write_file(self, ask: WriteFile) -> Done:
        await self._workspace.write_text(ask.path, ask.content)
        return Done()

    async def _start(self, ask: StartTerminal) -> TerminalStarted:
        command = await start_command(
            [ask.command, *ask.args],
            cwd=ask.cwd,
            within=self._workspace,
            env=dict(ask.env),
            output_byte_limit=ask.output_byte_limit,
            grace_seconds=0.1,
        )
        terminal_id = f"client-{len(self.pids)}"
        self.commands[terminal_id] = command
        self.pids.append(command.pid)
        return TerminalStarted(terminal_id)

    async def _read(self, ask: ReadTerminal) -> TerminalRead:
        command = self._command(ask)
        ended = None if command.exit is None or not self.knows_exits else _told(command.exit)
        return TerminalRead(command.output.text, command.output.truncated, ended)

    async def _await(self, ask: AwaitTerminal) -> TerminalEnded:
        return TerminalEnded(_told(await self._command(ask).wait()))

    async def _kill(self, ask: KillTerminal) -> Done:
        await self._command(ask).kill()
        return Done()

    async def _release(self, ask: ReleaseTerminal) -> Done:
        command = self._command(ask)
        del self.commands[ask.terminal_id]
        await command.release()
        return Done()

    def _command(self, ask: Any) -> RunningCommand:
        if ask.terminal_id not in self.commands:
            raise request_error(-32002, "no such terminal")
        return self.commands[ask.terminal_id]


class Conversation:
    """What was told, in order. It may be slow, or fail from some event on."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.begun: list[Event] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.failure: Exception | None = None

    async def tell(self, event: Event) -> None:
        self.begun.append(event)
        await self.ready.wait()
        if self.failure is not None:
            raise self.failure
        self.events.append(event)

    @property
    def transcript(self) -> Transcript:
        return Transcript(self.events)


def _told(ended: Exit) -> TerminalExit:
    return TerminalExit(code=ended.code, signal=ended.signal)


@asynccontextmanager
async def machine(
    *roots: Path, read_files: bool = False, write_files: bool = False, terminals: bool = False
) -> AsyncIterator[Machine]:
    """A machine that is cleaned up."""
    made = Machine(roots, ClientCapabilities(read_files=read_files, write_files=write_files, terminals=terminals))
    try:
        yield made
    finally:
        await made.close()
