"""The transport to a child process; closing it ends that process and all of its descendants."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

from accord.errors import ConnectionLost
from accord.time_scale import scaled
from accord.transport.process import KILL_SECONDS, start
from accord.transport.streams import FLUSH_SECONDS, StreamTransport, open_source
from accord.wire import DEFAULT_MAX_BYTES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from accord.transport.interface import ProcessTransport
    from accord.transport.process import ChildProcess, Pipes
    from accord.wire import Framing

__all__ = ["ChildTransport", "spawn"]

GRACE_SECONDS = scaled(2.0)
TERMINATE_SECONDS = scaled(1.0)

# How long the end of a process is waited for when its stdout has ended, so that its status is known.
EXIT_SECONDS = scaled(1.0)

# How long a descendant that outlives the child and holds its stdout may go on writing.
DRAIN_SECONDS = scaled(0.25)


async def spawn(
    *argv: str,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
    framing: Framing = "lines",
    max_bytes: int = DEFAULT_MAX_BYTES,
    stderr: Callable[[bytes], None] | None = None,
    stderr_tail_bytes: int = 64 * 1024,
    grace_seconds: float = GRACE_SECONDS,
) -> ProcessTransport:
    """Start a program and talk to it over its stdin and stdout; no shell is involved.

    `env` changes our own environment for it; None unsets a variable. Its stderr is always read; `stderr` gets
    the chunks as they come, and the last `stderr_tail_bytes` are kept. `grace_seconds` is how long it may
    take to end by itself once its stdin is closed.

    Raises:
        ConnectFailed: There is no such program or directory, or it may not be run.
    """
    process, pipes = start(argv, cwd, env or {})
    tail = _Tail(stderr_tail_bytes, stderr)
    return ChildTransport(process, pipes, tail, framing=framing, max_bytes=max_bytes, grace_seconds=grace_seconds)


class _Tail:
    """The end of what a child wrote to stderr."""

    def __init__(self, max_bytes: int, listener: Callable[[bytes], None] | None) -> None:
        self._max_bytes = max_bytes
        self._listener = listener
        self._held = bytearray()

    def feed(self, data: bytes) -> None:
        self._held += data
        # Not at every chunk: moving the tail costs as much as the tail is long.
        if len(self._held) > 2 * self._max_bytes:
            del self._held[: len(self._held) - self._max_bytes]
        if self._listener is not None and data:
            self._listener(data)

    def text(self) -> str:
        last = self._held[max(0, len(self._held) - self._max_bytes) :]
        return last.decode(errors="replace")


class ChildTransport(StreamTransport):
    """A `Transport` to a program that was started for it. Made by `spawn`.

    The stream of a child never ends well by itself: `receive` raises `ConnectionLost`, with the exit status and the end
    of stderr, and returns an empty list only after `close`. That ends the program: by the end of its stdin, then by
    signals, and then every descendant that can be found.
    """

    def __init__(
        self,
        process: ChildProcess,
        pipes: Pipes,
        tail: _Tail,
        *,
        framing: Framing,
        max_bytes: int,
        grace_seconds: float,
    ) -> None:
        super().__init__(pipes.stdout, pipes.stdin, framing=framing, max_bytes=max_bytes)
        self._process = process
        self._tail = tail
        self._grace_seconds = grace_seconds
        self._closing: asyncio.Task[None] | None = None
        self._may_wait_for_exit = True
        self._stderr = open_source(pipes.stderr, self._on_stderr, _ignore)
        self._stderr.resume()
        process.watch(self._on_exit)

    @property
    def pid(self) -> int:
        """The number of the process and of its group."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.exit_status

    @property
    def stderr_tail(self) -> str:
        """The end of what it wrote to stderr so far."""
        return self._tail.text()

    @property
    def hung_up(self) -> bool:
        """See `Transport.hung_up`; descendants of a program that has ended may still hold its pipes."""
        return self._process.ended or super().hung_up

    async def close(self) -> None:
        """End the program and every process that it started.

        Its stdin is closed; after `grace_seconds` its process group gets SIGTERM, a second later SIGKILL; on
        Linux descendants that left the group are found and killed too. Cancelling this kills all of them at
        once.
        """
        if self._closing is None:
            self._begin_close()
            self._closing = self._loop.create_task(self._shut_down())
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._process.destroy()
            raise

    def __del__(self) -> None:
        # Only where the loop was closed before us: a living loop watches the descriptors and so holds us.
        if not sys.is_finalizing() and not self._gone.is_set():
            self._process.destroy()
            self._release()

    async def _shut_down(self) -> None:
        process = self._process
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._grace_seconds):
                    await self._leave()
            if not process.ended:
                process.terminate()
                await process.wait(TERMINATE_SECONDS)
            process.kill()
            await process.wait(KILL_SECONDS)
            process.reap()
            await process.sweep()
        finally:
            process.destroy()
            self._release()

    async def _leave(self) -> None:
        """Close the child's stdin and wait for its end."""
        # Its last output is read and discarded: it could be blocked in writing that.
        self._source.resume()
        await self._flush(min(FLUSH_SECONDS, self._grace_seconds / 2))
        self._sink.close()
        await self._process.wait(self._grace_seconds)

    def _release(self) -> None:
        self._stderr.close()
        super()._release()

    async def _end(self) -> None:
        if self._reader.fault is not None:
            await super()._end()
        await self._wait_for_exit()
        # Closed while we waited: then the end of the process was requested and is no error.
        if not self._closed:
            raise self._lost("stdout")

    async def _loss(self) -> ConnectionLost:
        if not self._closed:
            await self._wait_for_exit()
        if self._closed:
            return ConnectionLost(exit_status=self.exit_status, clean=True)
        return self._lost("stdin")

    async def _wait_for_exit(self) -> None:
        # Once is enough: a program that closes its pipes and lives on would cost a second at every call.
        if self._may_wait_for_exit:
            await self._process.wait(EXIT_SECONDS)
            self._may_wait_for_exit = False

    def _lost(self, closed: str) -> ConnectionLost:
        status = self.exit_status
        return ConnectionLost(
            f"the program closed its {closed}" if status is None else "the program ended",
            exit_status=status,
            stderr_tail=self.stderr_tail,
            clean=status == 0,
        )

    def _on_exit(self) -> None:
        self._loop.call_later(DRAIN_SECONDS, self._on_drain_timeout)

    def _on_drain_timeout(self) -> None:
        self._process.reap()
        if not self._closed:
            self._source.end_soon()

    def _on_stderr(self, data: bytes) -> None:
        try:
            self._tail.feed(data)
        except Exception as error:  # noqa: BLE001 - a listener that fails must not stop the reading
            self._loop.call_exception_handler(
                {"message": "the listener for a child's stderr failed", "exception": error}
            )


def _ignore(_error: OSError) -> None:
    """Ignore that stderr cannot be read."""
