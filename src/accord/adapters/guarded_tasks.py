"""Tasks that cannot end the loop: what a framework's agent raises beside `Exception` stays an error of its turn.

asyncio lets `SystemExit` and `KeyboardInterrupt` out of the loop, past everything that awaits the task, and frameworks
run tools, nodes and callbacks in tasks of their own. So the task is the place: a factory of the loop makes those that
were started by a guarded one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

__all__ = ["failure_of", "guard_tasks"]

_is_guarded = ContextVar("accord_guarded_tasks", default=False)


def guard_tasks() -> None:
    """Guard the tasks that this one starts from now on, and theirs; tasks of others stay as they are."""
    _is_guarded.set(True)
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    if not isinstance(before, _TaskFactory):
        loop.set_task_factory(_TaskFactory(before))


def failure_of(error: BaseException) -> BaseException:
    """An exception unchanged, unless it would end more than what raised it: then a `RuntimeError`."""
    if isinstance(error, Exception | asyncio.CancelledError | GeneratorExit):
        return error
    return RuntimeError(f"the agent's code raised {type(error).__name__}")


class _TaskFactory:
    def __init__(self, before: Callable[..., Any] | None) -> None:
        self._make = before or (lambda loop, work, **options: asyncio.Task(work, loop=loop, **options))

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        context = options.get("context")
        is_guarded = _is_guarded.get() if context is None else context.get(_is_guarded, False)
        return self._make(loop, _Guarded(work) if is_guarded else work, **options)


class _Guarded(Coroutine[Any, Any, Any]):
    """A coroutine whose exceptions beside `Exception` are `RuntimeError`s; everything else of it is unchanged."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work

    def send(self, value: Any) -> Any:
        return self._step(self._work.send, value)

    def throw(self, *exception: Any) -> Any:
        return self._step(self._work.throw, *exception)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Any:
        return self._work.__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)  # what debuggers and anyio read: `cr_frame` and the like

    @staticmethod
    def _step(step: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except BaseException as error:
            failure = failure_of(error)
            if failure is error:
                raise
            raise failure from error
