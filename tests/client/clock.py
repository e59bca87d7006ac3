"""Time that passes only while nothing else can happen: an hour in a test takes no time, and is always an hour.

While a file or a socket is watched, a thread works or a program runs, time is real.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["in_no_time", "now", "timeless"]


class _Clock(selectors.DefaultSelector):
    """Instead of waiting it lets the time be later."""

    now = 0.0
    outside = 0
    """How many threads and programs work for it."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # The loop watches a pipe of its own.
        if self.outside or len(self.get_map()) > 1:
            began = time.monotonic()
            ready = super().select(timeout)
            self.now += time.monotonic() - began
            return ready
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("nothing will ever happen any more")
            self.now += max(0.0, timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)

        def leave(_: asyncio.Future[Any]) -> None:
            self._clock.outside -= 1

        self._clock.outside += 1
        future.add_done_callback(leave)
        return future

    async def subprocess_exec(self, protocol_factory: Callable[[], Any], *arguments: Any, **options: Any) -> Any:
        def until_it_ends() -> Any:
            protocol = protocol_factory()
            exited = protocol.process_exited

            def process_exited() -> None:
                self._clock.outside -= 1
                exited()

            protocol.process_exited = process_exited
            return protocol

        self._clock.outside += 1
        try:
            return await super().subprocess_exec(until_it_ends, *arguments, **options)
        except OSError:
            self._clock.outside -= 1
            raise


def in_no_time(work: Coroutine[Any, Any, None]) -> None:
    """Run a test in a loop of its own time."""

    async def bounded() -> None:
        async with asyncio.timeout(24 * 3600):
            await work

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(bounded())


def timeless(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test in a loop of its own time."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        in_no_time(test(**arguments))

    return run


def now() -> float:
    """The time of the running loop, in seconds."""
    return asyncio.get_running_loop().time()
