"""Slow work of the interpreter, such as imports, in a thread of its own.

The loop goes on meanwhile. The thread is a daemon: unlike those of `asyncio.to_thread` it does not hold up the end of a
process whose client has left in the first seconds.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["in_thread"]

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """The result of a function, or its exception. Cancelling this does not stop the thread."""
    done: Future[T] = Future()
    # From now on it cannot be cancelled: the thread sets its result in any case.
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(function(*arguments))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, name="accord-coder", daemon=True).start()
    return await asyncio.wrap_future(done)
