"""The end of an agent's process: signals as an end in order, and an end without the tasks that do not end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from accord.time_scale import scaled

__all__ = ["run_to_its_end", "stop_on_signals"]

log = logging.getLogger("accord.agent")

STOP_SECONDS = scaled(1.0)


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


def run_to_its_end(program: Coroutine[Any, Any, None]) -> None:
    """`asyncio.run` that waits no longer than `STOP_SECONDS` for the tasks that the program leaves behind.

    `asyncio.run` waits for ever: one handler that takes no cancel would keep the process after its client is gone.
    """
    runner = asyncio.Runner()
    loop = runner.get_loop()
    try:
        runner.run(program)
    finally:
        left = loop.run_until_complete(_cancel_tasks())
        if left:
            log.warning("the program ends without the tasks that did not end when they were cancelled: %d", left)
            loop.close()
        else:
            runner.close()


async def _cancel_tasks() -> int:
    """Cancel all other tasks; how many have not ended when the time is over."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if not tasks:
        return 0
    _, left = await asyncio.wait(tasks, timeout=STOP_SECONDS)
    for task in left:
        task._log_destroy_pending = False  # type: ignore[attr-defined] # the log has said so
    return len(left)
