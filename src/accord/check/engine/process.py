"""The judged program: a process of its own, or a peer that runs in this process."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeAlias

from accord.transport.process import ChildProcess, Pipes, start

# The end of stderr is kept: it has the reason of a failure.
STDERR_BYTES = 20_000
_READ_BYTES = 64 * 1024


class Peer(Protocol):
    """A program that is judged without a process: it reads lines and writes bytes until there are no more lines."""

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None], /) -> None:
        """Run until `lines` ends; lines come without newlines, written bytes need them."""
        ...


Program: TypeAlias = Sequence[str] | Callable[[], Peer]
"""A command, or a factory of peers, called for each start."""


class RunningProgram(Protocol):
    """One start of a program. `on_data` gets its stdout, b"" at the end."""

    stderr: bytearray

    def write(self, data: bytes) -> None: ...

    def close_stdin(self) -> None: ...

    async def wait(self, seconds: float) -> bool:
        """Whether it has ended, after a wait of at most so many seconds."""
        ...

    def terminate(self) -> None: ...

    async def destroy(self) -> int | None:
        """Kill the rest of it; returns its exit status."""
        ...


async def start_program(
    program: Program, env: Mapping[str, str | None], on_data: Callable[[bytes], None]
) -> RunningProgram:
    """Start a program.

    Raises:
        ConnectFailed: There is no such command.
    """
    if callable(program):
        return RunningPeer(program(), on_data)
    child, pipes = start(program, None, env)
    running = RunningProcess(child, pipes, on_data)
    await running.open()
    return running


class RunningProcess:
    """A process with its descendants; none of them survives us."""

    def __init__(self, child: ChildProcess, pipes: Pipes, on_data: Callable[[bytes], None]) -> None:
        self._child = child
        self._pipes = pipes
        self._on_data = on_data
        self._stdin: asyncio.WriteTransport | None = None
        self._readers: list[asyncio.ReadTransport] = []
        self.stderr = bytearray()
        child.watch(lambda: None)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for descriptor, take in ((self._pipes.stdout, self._on_data), (self._pipes.stderr, self._on_stderr)):
            transport, _ = await loop.connect_read_pipe(
                lambda take=take: _Reader(take),  # type: ignore[misc]
                os.fdopen(descriptor, "rb", buffering=0),
            )
            self._readers.append(transport)
        self._stdin, _ = await loop.connect_write_pipe(
            asyncio.BaseProtocol, os.fdopen(self._pipes.stdin, "wb", buffering=0)
        )

    def _on_stderr(self, data: bytes) -> None:
        self.stderr += data
        del self.stderr[:-STDERR_BYTES]

    def write(self, data: bytes) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    def close_stdin(self) -> None:
        if self._stdin is not None:
            self._stdin.close()

    async def wait(self, seconds: float) -> bool:
        return await self._child.wait(seconds)

    def terminate(self) -> None:
        self._child.terminate()

    async def destroy(self) -> int | None:
        self._child.kill()
        await self._child.wait(2.0)
        await self._child.sweep()
        self._child.destroy()
        # The content of the pipes has been read by now.
        await asyncio.sleep(0)
        for transport in (*self._readers, self._stdin):
            if transport is not None:
                transport.close()
        await asyncio.sleep(0)
        return self._child.exit_status


class _Reader(asyncio.Protocol):
    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def eof_received(self) -> None:
        self._take(b"")


class RunningPeer:
    """A peer in this process. It cannot be killed, but it is cancelled and abandoned."""

    def __init__(self, peer: Peer, on_data: Callable[[bytes], None]) -> None:
        self._on_data = on_data
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = b""
        stderr = getattr(peer, "stderr", None)
        self.stderr = stderr if isinstance(stderr, bytearray) else bytearray()
        self._task = asyncio.ensure_future(self._run(peer))

    async def _run(self, peer: Peer) -> int:
        try:
            await peer.serve(self._iterate(), self._on_data)
        except asyncio.CancelledError:
            return -15
        except SystemExit as end:
            return int(end.code or 0)
        except Exception as error:  # noqa: BLE001 - it is the peer's, as a traceback on stderr would be
            self.stderr += f"{type(error).__name__}: {error}\n".encode()
            return 1
        finally:
            self._on_data(b"")
        return 0

    async def _iterate(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            yield line

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line)

    def close_stdin(self) -> None:
        self._lines.put_nowait(None)

    async def wait(self, seconds: float) -> bool:
        done, _ = await asyncio.wait([self._task], timeout=seconds)
        return bool(done)

    def terminate(self) -> None:
        self._task.cancel()

    async def destroy(self) -> int | None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            return await self._task
        return None


# --- processes that are not our children

_PAUSE_SECONDS = 0.01


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    with suppress(OSError):
        # A zombie does nothing any more.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True


async def outlives(pid: int, seconds: float) -> bool:
    """Whether a process that is not our child still runs after some seconds; polls."""
    until = time.monotonic() + seconds
    while is_running(pid):
        if time.monotonic() > until:
            return True
        await asyncio.sleep(_PAUSE_SECONDS)
    return False
