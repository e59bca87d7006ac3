"""Signals to a command that has something to set back: the first one cancels it, the second one leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Signals"]

_BASE = 128
"""A shell's status of a command that a signal ended is this much and its number."""


class Signals:
    """SIGINT, SIGTERM and SIGHUP while a task runs.

    Plain handlers, not the loop's: the second signal has to count also while the loop is busy. Processes that were
    started are ended by the watchdog, however we leave.
    """

    def __init__(self) -> None:
        self.status = _BASE + signal.SIGINT
        """The exit status after the first signal."""
        self._count = 0

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch them while this lasts; the first one cancels the task that is in here."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def on_signal(number: int, _frame: FrameType | None) -> None:
            self._count += 1
            if self._count > 1:
                os._exit(_BASE + number)
            self.status = _BASE + number
            if task is not None and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

        wanted = [signal.SIGINT, signal.SIGTERM] + ([] if sys.platform == "win32" else [signal.SIGHUP])
        before: dict[int, Any] = {number: signal.signal(number, on_signal) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
