"""A `ForkedProgram` for the loop that runs: its output is read as streams, and its end is awaited."""

from __future__ import annotations

import asyncio
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from tests.forked import ForkedProgram, accord_command

__all__ = ["AwaitedProgram", "serve_command"]

# What `accord serve` imports as it needs it.
OF_A_SERVER = (
    *("accord.agent.agent", "accord.agent.mcp", "accord.cli.verbs.serve", "accord.serve.runner", "accord.serve.fleet"),
    *("accord.cli.verbs.fleet", "accord.stores.postgres", "psycopg"),
    *("accord.session.event_check", "accord.session.replay", "uvicorn.lifespan.on", "uvicorn.main"),
    "uvicorn.protocols.websockets.websockets_sansio_impl",
)


class AwaitedProgram:
    """Has of `asyncio.subprocess.Process` what tests of servers use."""

    stdout: asyncio.StreamReader | None = None
    stderr: asyncio.StreamReader | None = None

    def __init__(self, program: ForkedProgram) -> None:
        self._program = program
        self.pid = program.pid

    @classmethod
    async def start(cls, main: Callable[[], int], argv: Sequence[str], **options: Any) -> AwaitedProgram:
        started = cls(ForkedProgram(main, argv, bufsize=0, **options))
        started.stdout = await _stream(started._program.stdout)
        started.stderr = await _stream(started._program.stderr)
        return started

    @property
    def returncode(self) -> int | None:
        return self._program.poll()

    def send_signal(self, number: int) -> None:
        self._program.send_signal(number)

    def kill(self) -> None:
        self._program.kill()

    async def wait(self) -> int:
        if self._program.poll() is None:
            await self._ended()
        return self._program.wait()

    async def _ended(self) -> None:
        if sys.platform != "linux":
            await asyncio.to_thread(self._program.wait)
            return
        loop, ended, process = asyncio.get_running_loop(), asyncio.Event(), os.pidfd_open(self.pid)
        loop.add_reader(process, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(process)
            os.close(process)

    async def communicate(self) -> tuple[bytes, bytes]:
        """All of its output, and its end."""
        assert self.stdout is not None
        assert self.stderr is not None
        out, error = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, error


async def _stream(pipe: IO[bytes] | None) -> asyncio.StreamReader | None:
    if pipe is None:
        return None
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


def serve_command(seconds: Mapping[str, float] | None = None) -> Callable[[], int]:
    """`accord` for a server, which imports as `python -m` does: from PYTHONPATH too.

    `seconds` are other values for the product's own times, by names such as `accord.serve.runner.PING_SECONDS` or
    `accord.connection.connection.Connection.grace_seconds`: a test need not wait for those that it does not judge.
    """
    command = accord_command()
    for name in OF_A_SERVER:
        importlib.import_module(name)

    def main() -> int:
        for name, value in (seconds or {}).items():
            owner, _, last = name.rpartition(".")
            found = pkgutil.resolve_name(owner)
            # A constant of a module, or what a class takes where its caller says nothing.
            values = vars(found)["__init__"].__kwdefaults__ if isinstance(found, type) else vars(found)
            assert last in values, name
            values[last] = value
        sys.path[:0] = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
        return command()

    return main
