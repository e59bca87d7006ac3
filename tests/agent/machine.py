"""A client with a machine of its own: it serves what agents ask with real files and real processes, or fails to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from accord.errors import CallTimeout, ConnectionLost, request_error
from accord.session.agent_requests import (
    AwaitTerminal,
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
from accord.session.client_requests import Done
from accord.session.event import Event, TerminalExit
from accord.session.transcript import Transcript
from accord.workspace import RunningCommand, Workspace, WorkspaceError, start_command
from accord.workspace.output import Exit


class Machine:
    """A `ClientCaller` whose other end is real.

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
        return [type(request) for request in self.asked]

    def hold(self, kind: type) -> asyncio.Event:
        gate = self.gates[kind] = asyncio.Event()
        return gate

    def vanish(self) -> None:
        self._gone.set()

    async def call(self, request: Any, *, timeout_seconds: float | None = None) -> Any:
        if self._gone.is_set():
            raise ConnectionLost
        self.asked.append(request)
        serving = asyncio.ensure_future(self._answer(request))
        self._serving.add(serving)
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait([serving, gone], timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if self._gone.is_set():
            raise ConnectionLost
        if not serving.done():
            raise CallTimeout(type(request).__name__, timeout_seconds or 0)
        return serving.result()

    async def close(self) -> None:
        # v1 rule 52: a client ends what it runs when its agent is gone.
        for command in self.commands.values():
            await command.release()
        for serving in self._serving:
            serving.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await serving

    async def _answer(self, request: Any) -> Any:
        if type(request) in self.failures:
            raise self.failures[type(request)]
        assert request.session_id == "s"
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
            answer = await serve[type(request)](request)
        except WorkspaceError as error:
            raise request_error(error.code, "no") from error
        if type(request) in self.gates:
            await self.gates[type(request)].wait()
        return answer

    async def _read_file(self, request: ReadFile) -> FileRead:
        return FileRead(await self._workspace.read_text(request.path, request.line, request.limit))

    async def _write_file(self, request: WriteFile) -> Done:
        await self._workspace.write_text(request.path, request.content)
        return Done()

    async def _start(self, request: StartTerminal) -> TerminalStarted:
        command = await start_command(
            [request.command, *request.args],
            cwd=request.cwd,
            within=self._workspace,
            env=dict(request.env),
            output_byte_limit=request.output_byte_limit,
            grace_seconds=0.1,
        )
        terminal_id = f"client-{len(self.pids)}"
        self.commands[terminal_id] = command
        self.pids.append(command.pid)
        return TerminalStarted(terminal_id)

    async def _read(self, request: ReadTerminal) -> TerminalRead:
        command = self._command(request)
        ended = None if command.exit is None or not self.knows_exits else _told(command.exit)
        return TerminalRead(command.output.text, command.output.truncated, ended)

    async def _await(self, request: AwaitTerminal) -> TerminalEnded:
        return TerminalEnded(_told(await self._command(request).wait()))

    async def _kill(self, request: KillTerminal) -> Done:
        await self._command(request).kill()
        return Done()

    async def _release(self, request: ReleaseTerminal) -> Done:
        command = self._command(request)
        del self.commands[request.terminal_id]
        await command.release()
        return Done()

    def _command(self, request: Any) -> RunningCommand:
        if request.terminal_id not in self.commands:
            raise request_error(-32002, "no such terminal")
        return self.commands[request.terminal_id]


class Conversation:
    """What was told, in order. It may be slow, or fail from some event on."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.begun: list[Event] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.failure: Exception | None = None

    async def publish(self, event: Event) -> None:
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
