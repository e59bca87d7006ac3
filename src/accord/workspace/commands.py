"""Running commands: start, output, exit, and the termination of all their processes."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from accord.time_scale import scaled
from accord.transport.polled import PolledSource, enlarge_pipe, unread_bytes
from accord.transport.process import KILL_SECONDS
from accord.transport.streams import open_source
from accord.workspace.launch import TerminalSize, launch
from accord.workspace.output import Exit, Tail, exit_of
from accord.workspace.roots import parse_path

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from accord.transport.process import ChildProcess
    from accord.transport.threaded import ThreadedSource
    from accord.workspace.files import Workspace
    from accord.workspace.output import CommandOutput

__all__ = ["CommandResult", "RunningCommand", "run_command", "start_command"]

# The default limit: more than a person reads.
DEFAULT_OUTPUT_BYTES = 16 * 1024 * 1024

GRACE_SECONDS = scaled(1.0)

# How long the last output may take to arrive after the end of the process that wrote it.
DRAIN_SECONDS = scaled(0.25)


class CommandResult(NamedTuple):
    """The result of a command that ran to its end, or to the end of its time."""

    exit: Exit
    output: CommandOutput
    timed_out: bool


async def start_command(  # noqa: PLR0913 - each is one thing that a caller decides
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    within: Workspace | None = None,
    expected: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    output_byte_limit: int | None = None,
    pty: bool | TerminalSize = False,
    on_output: Callable[[bytes], None] | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> RunningCommand:
    """Start a program; it runs until it ends, or until it is killed or released. No shell is involved.

    Its directory must lie inside the roots of `within` where that is given, and is their first where `cwd` is not;
    `expected` is the real path of the directory that was allowed. `env` changes our own environment for it; None unsets
    a variable. It has no input, and its stdout and stderr are one stream; with `pty` they are a terminal. Of the stream
    the last `output_byte_limit` bytes are kept (16 MiB where None), and `on_output` gets every chunk as it comes.
    `grace_seconds` is how long it may take to end after SIGTERM.

    Raises:
        StartFailed: There is no such program or directory, or it may not be run.
        WorkspaceError: The directory is outside the roots.
    """
    if isinstance(argv, str):
        raise TypeError("a command is a list of arguments, not a line for a shell")
    tail = Tail(DEFAULT_OUTPUT_BYTES if output_byte_limit is None else output_byte_limit)
    size = TerminalSize() if pty is True else pty or None
    directory: AbstractContextManager[str | None]
    if within is None:
        directory = nullcontext(None if cwd is None else parse_path(cwd))
    else:
        directory = within.open_directory(within.roots[0] if cwd is None else cwd, expected=expected)
    with directory as entrance:
        process, descriptor = launch(argv, entrance, env or {}, size)
    return RunningCommand(
        process, descriptor, tail, on_output, is_terminal=size is not None, grace_seconds=grace_seconds
    )


async def run_command(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    within: Workspace | None = None,
    env: Mapping[str, str | None] | None = None,
    output_byte_limit: int | None = None,
    timeout_seconds: float | None = None,
    pty: bool | TerminalSize = False,
    on_output: Callable[[bytes], None] | None = None,
) -> CommandResult:
    """Run a program to its end, for `timeout_seconds` at most; nothing of it is left, also if this is cancelled.

    See `start_command` for the rest. The output before a timeout is in the result.

    Raises:
        StartFailed: There is no such program or directory, or it may not be run.
        WorkspaceError: The directory is outside the roots.
    """
    command = await start_command(
        argv,
        cwd=cwd,
        within=within,
        env=env,
        output_byte_limit=output_byte_limit,
        pty=pty,
        on_output=on_output,
    )
    async with command:
        in_time = await command.wait_for(timeout_seconds)
    # After the release: output that it wrote while it was being ended counts too.
    return CommandResult(await command.wait(), command.output, timed_out=not in_time)


class RunningCommand:
    """A command that was started. Made by `start_command`; to be used in one loop, and released.

    As an async context it releases itself. Its output can be read at any time, also after that.
    """

    def __init__(
        self,
        process: ChildProcess,
        descriptor: int,
        tail: Tail,
        on_output: Callable[[bytes], None] | None,
        *,
        is_terminal: bool,
        grace_seconds: float,
    ) -> None:
        self._process = process
        self._tail = tail
        self._on_output = on_output
        self._grace_seconds = grace_seconds
        self._loop = asyncio.get_running_loop()
        self._exit: Exit | None = None
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None
        self._descriptor = descriptor
        # How many bytes have to be read before the end is reported; None while it runs.
        self._owed_bytes: int | None = None
        self._source: PolledSource | ThreadedSource
        if is_terminal:
            # This end is ours alone, so the loop may watch it.
            self._source = PolledSource(descriptor, self._feed, self._fall_silent)
        else:
            enlarge_pipe(descriptor)
            self._source = open_source(descriptor, self._feed, self._fall_silent)
        # Written data can be read from a pipe at once. A terminal, or a thread that reads, may lag behind.
        self._may_lag = is_terminal or not isinstance(self._source, PolledSource)
        self._source.resume()
        process.watch(self._on_end)

    @property
    def pid(self) -> int:
        """The number of the process and of its group."""
        return self._process.pid

    @property
    def exit(self) -> Exit | None:
        """Its exit; None while it runs. By then all of its own output was read."""
        return self._exit

    @property
    def output(self) -> CommandOutput:
        """The output so far that is kept, as text. Descendants may go on writing after its end."""
        return self._tail.output(ended=self._silent.is_set())

    @property
    def output_bytes(self) -> bytes:
        """The kept output as bytes."""
        return self._tail.data()

    def limit_output(self, max_bytes: int) -> None:
        """Keep another number of bytes of its output from now on."""
        self._tail.limit(max_bytes)

    async def wait(self) -> Exit:
        """Wait for its exit; descendants may still run then."""
        await self._exited.wait()
        return self._exit or Exit(None, None)

    async def wait_for(self, seconds: float | None) -> bool:
        """Whether it has ended, after waiting for that so long at most."""
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    async def kill(self) -> None:
        """End it and its descendants: SIGTERM, after `grace_seconds` SIGKILL, then descendants that left its group.

        Output and exit can still be read. Cancelling this kills all of them at once.
        """
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())
        try:
            await asyncio.shield(self._ending)
        except asyncio.CancelledError:
            self._process.destroy()
            raise

    async def release(self) -> None:
        """Kill it if it runs, and free everything but its output. Waiters for its end get it."""
        try:
            await self.kill()
        finally:
            self._let_go()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.release()

    def __del__(self) -> None:
        # Only when the loop is closed or nothing is left to watch: a loop that watches us holds us.
        if not sys.is_finalizing() and hasattr(self, "_source"):
            self._process.destroy()
            self._source.close()

    async def _end(self) -> None:
        process = self._process
        try:
            if not process.ended:
                process.terminate()
                await process.wait(self._grace_seconds)
            process.kill()
            await process.wait(KILL_SECONDS)
            process.reap()
            await process.sweep()
            await self._drain_output()
        finally:
            process.destroy()
            self._finish()

    async def _drain_output(self) -> None:
        # No known process can write any more, so the end comes soon; unless one has left the group.
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._silent.wait()

    def _let_go(self) -> None:
        self._source.close()
        self._silent.set()
        self._finish()

    def _feed(self, data: bytes) -> None:
        if not data:
            self._fall_silent()
            return
        self._tail.feed(data)
        if self._on_output is not None:
            self._call_on_output(self._on_output, data)
        if self._owed_bytes is not None:
            self._owed_bytes -= len(data)
            if self._owed_bytes <= 0:
                self._finish()

    def _call_on_output(self, on_output: Callable[[bytes], None], data: bytes) -> None:
        try:
            on_output(data)
        except Exception as error:  # noqa: BLE001 - a listener that fails must not stop the reading
            self._loop.call_exception_handler(
                {"message": "the listener for a command's output failed", "exception": error}
            )

    def _fall_silent(self, _error: OSError | None = None) -> None:
        # A terminal ends with an error when its other side is closed everywhere.
        self._source.close()
        self._silent.set()
        if self._process.ended:
            self._finish()

    def _on_end(self) -> None:
        if self._silent.is_set():
            self._finish()
        elif self._may_lag:
            self._loop.call_later(DRAIN_SECONDS, self._finish)
        else:
            self._owed_bytes = unread_bytes(self._descriptor)
            if not self._owed_bytes:
                self._finish()

    def _finish(self) -> None:
        if self._exit is None:
            self._exit = exit_of(self._process.exit_status)
            self._exited.set()
