"""Lanes: one per session, which keeps the order of messages although handlers suspend.

A lane exists while it holds something. One runner, a task, empties the lanes that are ready, one after the other. When
a handler suspends, its runner stays with that lane and another takes over the rest: no session waits for another, and
notifications cost no task each. Requests leave their lane as tasks of their own when their turn comes, and answers
pass through it so that they do not overtake earlier messages.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeAlias

from accord.connection.budget import Budget
from accord.connection.handlers import Handler

__all__ = ["INSIDE", "Lane", "Lanes", "in_lane", "waiting"]

LaneItem: TypeAlias = tuple[Callable[[Any], Coroutine[Any, Any, Any] | None], Any, int]
"""A function, its argument, and the bytes of the budget that it frees. Handlers of authors run in coroutines alone."""

FEW = 4
"""A lane with more items than this is emptied by a task of its own."""

INSIDE: ContextVar[object] = ContextVar("INSIDE", default=None)
"""The connection whose handler this code runs in, also in tasks that the handler started."""


def in_lane(handler: Handler) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    """A handler as a lane takes it: a function that gives a coroutine and runs nothing yet."""
    if handler.suspends:
        return handler.call

    async def call(argument: Any) -> None:
        result = handler.call(argument)
        if result is not None and hasattr(result, "__await__"):
            await result

    return call


async def waiting(awaitable: Awaitable[Any]) -> None:
    """Awaits the result of a plain function that turned out to be awaitable."""
    await awaitable


class Lane:
    """The items of one session that wait for their turn, and the context in which its handlers run."""

    __slots__ = ("context", "items", "key")

    def __init__(self, key: str | None, context: Context) -> None:
        self.key = key
        self.context = context
        self.items: deque[LaneItem] = deque()


# Replaced with the first lane: a server has thousands of connections that have none.
_NONE_READY: deque[Lane] = deque(maxlen=0)


class Lanes:
    """All lanes of one connection; `owner` marks code that runs inside a handler.

    `failed` is called with the exception of a notification handler. `get` gives the lane of a session if anything of it
    still waits or is being handled.
    """

    def __init__(self, owner: object, budget: Budget, failed: Callable[[Exception], None]) -> None:
        self._budget = budget
        self._failed = failed
        self._context = copy_context()
        self._context.run(INSIDE.set, owner)
        self._lanes: dict[str | None, Lane] = {}
        self._ready = _NONE_READY
        self._runner: asyncio.Task[None] | None = None
        self._runners: set[asyncio.Task[None]] = set()
        self.get = self._lanes.get

    def add(self, key: str | None, item: LaneItem) -> None:
        """Queue an item behind all earlier items of its session."""
        lane = self._lanes.get(key)
        if lane is None:
            # A context per lane: context variables that one session's handlers set are not visible to another's.
            lane = self._lanes[key] = Lane(key, self._context.copy())
            if self._ready is _NONE_READY:
                self._ready = deque()
            self._ready.append(lane)
            if self._runner is None:
                self._start_runner()
        lane.items.append(item)

    def one_by_one(self, call: Callable[[Any], Coroutine[Any, Any, Any]]) -> Callable[[list[Any]], Any]:
        """Many arguments of one handler as one item of a lane; a failure concerns one argument alone."""

        async def call_each(arguments: list[Any]) -> None:
            for argument in arguments:
                try:
                    await call(argument)
                except asyncio.CancelledError:
                    self._raise_if_cancelled()
                except Exception as error:  # noqa: BLE001 - as in `_empty`
                    self._failed(error)

        return call_each

    def tasks(self) -> list[asyncio.Task[None]]:
        return list(self._runners)

    def _start_runner(self) -> None:
        self._runner = self._start(self._run(), None)

    def _start(self, running: Coroutine[Any, Any, None], context: Context | None) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(running, context=context)
        self._runners.add(task)
        return task

    async def _run_alone(self, lane: Lane) -> None:
        """Empty one lane in a task of its own: the task costs more than a place in the runner, each item less."""
        items, budget, runner = lane.items, self._budget, asyncio.current_task()
        try:
            while items:
                call, argument, weight = items.popleft()
                try:
                    coroutine = call(argument)
                    if coroutine is not None:
                        await coroutine
                except asyncio.CancelledError:
                    self._raise_if_cancelled()
                except Exception as error:  # noqa: BLE001 - whatever a handler does, the next message is handled
                    self._failed(error)
                finally:
                    budget.bytes -= weight
                    if budget.waiter is not None:
                        budget.look()
        finally:
            del self._lanes[lane.key]
            self._runners.discard(runner)

    async def _run(self) -> None:
        runner = asyncio.current_task()
        try:
            while self._ready and self._runner is runner:
                lane = self._ready.popleft()
                if len(lane.items) > FEW:
                    self._start(self._run_alone(lane), lane.context)
                    continue
                try:
                    await self._empty(lane)
                finally:
                    del self._lanes[lane.key]
        finally:
            self._runners.discard(runner)
            if self._runner is runner:
                self._hand_on()

    def _hand_on(self) -> None:
        """Start another runner for the other lanes: this one is busy with one lane, or at its end."""
        self._runner = None
        if self._ready:
            self._start_runner()

    async def _empty(self, lane: Lane) -> None:
        items, budget, run = lane.items, self._budget, lane.context.run
        while items:
            call, argument, weight = items.popleft()
            try:
                coroutine = call(argument)
                if coroutine is not None:
                    # By hand, not by `await`: most handlers end at once, and one that suspends must not be awaited by
                    # the other lanes.
                    waits_for = run(coroutine.send, None)
                    self._hand_on_if_mine()
                    await _go_on(coroutine, waits_for, run)
            except StopIteration:
                pass
            except asyncio.CancelledError:
                self._raise_if_cancelled()
            except Exception as error:  # noqa: BLE001 - whatever a handler does, the next message is handled
                self._failed(error)
            finally:
                budget.bytes -= weight
                if budget.waiter is not None:
                    budget.look()

    @staticmethod
    def _raise_if_cancelled() -> None:
        """Re-raise where the lane itself was cancelled, and not something that its handler awaited."""
        runner = asyncio.current_task()
        if runner is None or runner.cancelling():
            raise asyncio.CancelledError

    def _hand_on_if_mine(self) -> None:
        if self._runner is asyncio.current_task():
            self._hand_on()


@types.coroutine
def _go_on(coroutine: Coroutine[Any, Any, Any], waits_for: Any, run: Callable[..., Any]) -> Generator[Any, Any, None]:
    """Await a coroutine that has begun and waits for something, in a context of its own."""
    try:
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's, whatever it is
                waits_for = run(coroutine.throw, error)
            else:
                waits_for = run(coroutine.send, sent)
    except StopIteration:
        return
