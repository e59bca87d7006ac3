"""SIGINT, SIGTERM and SIGHUP: the first signal stops the running work, the second one exits at once.

Plain signal handlers, not the loop's: the second signal has to count also while the loop is busy or waits in a write to
a pipe that is not read. Processes that were started are ended by the watchdog, however we leave.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from accord.cli.status import Status


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    wanted = [signal.SIGINT, signal.SIGTERM] + ([] if sys.platform == "win32" else [signal.SIGHUP])
    before: dict[int, Any] = {number: signal.signal(number, handler) for number in wanted}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class Interrupts:
    """Signals that stop a turn first, and the task only where there is no turn."""

    def __init__(self, leave: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        self._leave = leave
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], None] = lambda: None

    @contextmanager
    def caught(self) -> Iterator[Interrupts]:
        """Catch the signals while this lasts; they cancel the task in this block, unless `stopping` is active."""
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        self._stop = lambda: None if task is None else _cancel(task)
        with _handled_by(self._on_signal):
            yield self

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """While this lasts, the first Ctrl+C calls `stop`, in the loop."""
        before, self._stop = self._stop, stop
        if self.count:
            stop()
        try:
            yield
        finally:
            self._stop = before

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            self._leave()
            # Not through Python's own exit: that would wait for threads.
            os._exit(Status.INTERRUPTED)
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._stop)


def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()


_BASE = 128
"""A shell adds the number of a signal to this for the status of a command that the signal ended."""


class Signals:
    """Signals that cancel a task; the exit status is the shell's for the signal."""

    def __init__(self) -> None:
        self.status = _BASE + signal.SIGINT
        """The exit status after the first signal."""
        self._count = 0

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals while this lasts; the first one cancels the task in this block."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def on_signal(number: int, _frame: FrameType | None) -> None:
            self._count += 1
            if self._count > 1:
                os._exit(_BASE + number)
            self.status = _BASE + number
            if task is not None and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

        with _handled_by(on_signal):
            yield
