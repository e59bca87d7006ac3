"""An agent's program as the official SDK's users see one: with the names of `asyncio.subprocess.Process`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping

from accord.compat.acp.engine import installed_sdk
from accord.transport import spawn
from accord.transport.child import GRACE_SECONDS
from accord.transport.interface import ProcessTransport

__all__ = ["AgentProcess", "StderrReader", "spawned"]

MAX_STDERR_BYTES = 1024 * 1024
_LOOK_SECONDS = 0.02


class StderrReader:
    """The stderr of a program. It is always read from the program, so that the program never waits.

    At most 1 MiB waits here to be read; beyond that the oldest is dropped.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._changed = asyncio.Event()
        self._is_over = False

    def feed(self, data: bytes) -> None:
        self._held += data
        del self._held[: max(0, len(self._held) - MAX_STDERR_BYTES)]
        self._changed.set()

    def finish(self) -> None:
        self._is_over = True
        self._changed.set()

    def at_eof(self) -> bool:
        """Whether the program has ended and everything was read."""
        return self._is_over and not self._held

    async def read(self, n: int = -1) -> bytes:
        """Up to `n` bytes as soon as there are some; all until the program's end where `n` is negative."""
        while not self._is_over and (n < 0 or (n > 0 and not self._held)):
            await self._wait()
        return self._take(len(self._held) if n < 0 else n)

    async def readline(self) -> bytes:
        """One line with its newline; the rest at the program's end."""
        while not self._is_over and b"\n" not in self._held:
            await self._wait()
        return self._take(self._held.find(b"\n") + 1 or len(self._held))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while line := await self.readline():
            yield line

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _take(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken


class AgentProcess:
    """The program of an agent. Its stdin and stdout belong to the connection."""

    stdin = None
    stdout = None

    def __init__(self, transport: ProcessTransport, stderr: StderrReader | None) -> None:
        self._transport = transport
        self.stderr = stderr
        """The stderr of the program, where it was asked for."""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._transport.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._transport.exit_status

    async def wait(self) -> int:
        """Wait for the end of the program; its exit status."""
        while self.returncode is None:  # noqa: ASYNC110 - a transport has no event for its exit status
            await asyncio.sleep(_LOOK_SECONDS)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the program; nothing happens when it has ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the program to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the program."""
        self.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


async def spawned(
    command: str,
    *args: str,
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    stderr: int | None = subprocess.PIPE,
    shutdown_timeout: float = GRACE_SECONDS,
    limit: int | None = None,  # noqa: ARG001 - see below
) -> tuple[ProcessTransport, AgentProcess]:
    """Start an agent with the environment that the SDK would give it: a few variables, and `env`.

    `stderr` is a constant of `subprocess`, or None for ours. The SDK's `limit` has no meaning here: a message may have
    64 MiB.

    Raises:
        ConnectFailed: There is no such program or directory, or it may not be run.
    """
    given: dict[str, str] = {**installed_sdk().default_environment(), **(env or {})}
    changes: dict[str, str | None] = {**dict.fromkeys(os.environ), **given}
    reader = StderrReader() if stderr == subprocess.PIPE else None
    listener: Callable[[bytes], None] | None = reader.feed if reader else _to_ours if stderr is None else None
    transport = await spawn(command, *args, cwd=cwd, env=changes, stderr=listener, grace_seconds=shutdown_timeout)
    return transport, AgentProcess(transport, reader)


def _to_ours(data: bytes) -> None:
    with contextlib.suppress(OSError):
        os.write(2, data)
