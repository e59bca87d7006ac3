"""What `receive` awaits: its task is resumed in the instant in which bytes were read."""

from __future__ import annotations

import types
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Generator
    from contextvars import Context

__all__ = ["ReadWaiter"]


class ReadWaiter:
    """A future for one task at a time, to be awaited again and again.

    A future of asyncio schedules its task for the next turn of the loop. A round trip takes one more turn at each end
    then, and 5 to 10 % more CPU (`benchmarks/run --scenarios ping`). But the callback that has read the bytes runs in
    no task, so it may resume the receiver itself. Tasks take any object that has `_asyncio_future_blocking`, see
    `asyncio.isfuture`, `_loop`, and the methods below.
    """

    __slots__ = ("_asyncio_future_blocking", "_cancelled", "_context", "_loop", "resume")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._asyncio_future_blocking = False
        self._cancelled = False
        self._context: Context | None = None
        self.resume: Callable[[Any], object] | None = None
        """Resumes the task that waits; None where none does."""

    @types.coroutine
    def wait(self) -> Generator[ReadWaiter, None, None]:
        """Wait for the next `wake`."""
        self._cancelled = False
        self._asyncio_future_blocking = True
        yield self

    def wake(self) -> None:
        """Resume the task at once; to be called by a callback of the loop, not by a task."""
        resume, context = self.resume, self._context
        if resume is not None and context is not None:
            self.resume = None
            context.run(resume, self)

    def wake_soon(self) -> None:
        """Resume the task in the next turn of the loop."""
        resume = self.resume
        if resume is not None:
            self.resume = None
            self._loop.call_soon(resume, self, context=self._context)

    # --- what a task asks of a future

    def add_done_callback(self, resume: Callable[[Any], object], *, context: Context | None = None) -> None:
        """The task waits from now on."""
        self.resume, self._context = resume, context

    def result(self) -> None:
        """Whether the task goes on, or ends.

        Raises:
            CancelledError: It was cancelled.
        """
        if self._cancelled:
            raise CancelledError

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002 - the task keeps it
        """The task was cancelled; False if it is resumed already."""
        if self.resume is None:
            return False
        self._cancelled = True
        self.wake_soon()
        return True
