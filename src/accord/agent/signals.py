"""The signals that end an agent's process, as an end in order."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator

__all__ = ["stop_on_signals"]


@contextlib.contextmanager
def stop_on_signals(end: Callable[[], object]) -> Iterator[None]:
    """While this lasts, SIGTERM and SIGHUP call `end`, so that the agent closes in order."""
    loop = asyncio.get_running_loop()
    taken: list[signal.Signals] = []
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
