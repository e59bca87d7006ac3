"""Ctrl+C: the first one stops what goes on, politely; the second one leaves at once."""

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

__all__ = ["Interrupts"]


class Interrupts:
    """The signals of one run of the loop.

    Plain signal handlers, not the loop's: the second Ctrl+C must count also while the loop waits in a write to a pipe
    that nobody empties. What was started is ended by the watchdog, however we leave.
    """

    def __init__(self, leave: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        self._leave = leave
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], None] = lambda: None

    @contextmanager
    def caught(self) -> Iterator[Interrupts]:
        """Catch them while this lasts; until something else is to be stopped, that is the task that is in here."""
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        self._stop = lambda: None if task is None else _cancel(task)
        wanted = [signal.SIGINT, signal.SIGTERM] + ([] if sys.platform == "win32" else [signal.SIGHUP])
        before: dict[int, Any] = {number: signal.signal(number, self._on_signal) for number in wanted}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

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
            # Not through Python's own end: that would wait for what we are asked not to wait for.
            os._exit(Status.INTERRUPTED)
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._stop)


def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
