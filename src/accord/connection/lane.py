"""Order: one lane per session, in which things happen one after the other although handlers suspend.

A lane exists while it holds something. One runner, a task, empties the lanes that are ready, one after the other. When
a handler suspends, its runner stays with that lane and another takes over the rest: no session waits for another, and
notifications cost no task each. Requests leave their lane as tasks of their own when their turn comes, and answers
pass through it so that they do not overtake what came before them.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeAlias

from accord.connection.backlog import Backlog

__all__ = ["INSIDE", "Lane", "Lanes"]

Item: TypeAlias = tuple[Callable[[Any], Any], Any, int]
"""What to call, with what, and how many bytes of the budget that frees."""

INSIDE: ContextVar[object] = ContextVar("INSIDE", default=None)
"""The connection whose handler this code runs in, also in tasks that the handler started."""


class Lane:
    """The things of one session that wait for their turn, and the context in which its handlers run."""

    __slots__ = ("context", "items", "key")

    def __init__(self, key: str | None, context: Context) -> None:
        self.key = key
        self.context = context
        self.items: deque[Item] = deque()


class Lanes:
    """All lanes of one connection; `owner` is the mark that code inside a handler can be told by.

    `failed` is called with what a notification handler raised. `get` gives the lane of a session if anything of it
    still waits or is being handled.
    """

    def __init__(self, owner: object, backlog: Backlog, failed: Callable[[Exception], None]) -> None:
        self._backlog = backlog
        self._failed = failed
        self._context = copy_context()
        self._context.run(INSIDE.set, owner)
        self._lanes: dict[str | None, Lane] = {}
        self._ready: deque[Lane] = deque()
        self._runner: asyncio.Task[None] | None = None
        self._runners: set[asyncio.Task[None]] = set()
        self.get = self._lanes.get

    def add(self, key: str | None, item: Item) -> None:
        """Queue a thing behind everything of its session that came before."""
        lane = self._lanes.get(key)
        if lane is None:
            # Of its own: what one session's handlers set is not seen by another's.
            lane = self._lanes[key] = Lane(key, self._context.copy())
            self._ready.append(lane)
            if self._runner is None:
                self._start_runner()
        lane.items.append(item)

    def tasks(self) -> list[asyncio.Task[None]]:
        """The tasks that run handlers now."""
        return list(self._runners)

    def _start_runner(self) -> None:
        self._runner = asyncio.get_running_loop().create_task(self._run())
        self._runners.add(self._runner)

    async def _run(self) -> None:
        runner = asyncio.current_task()
        try:
            while self._ready and self._runner is runner:
                lane = self._ready.popleft()
                try:
                    await self._empty(lane)
                finally:
                    del self._lanes[lane.key]
        finally:
            self._runners.discard(runner)
            if self._runner is runner:
                self._hand_on()

    def _hand_on(self) -> None:
        """The runner is busy with one lane, or at its end: somebody else has to look after the others."""
        self._runner = None
        if self._ready:
            self._start_runner()

    async def _empty(self, lane: Lane) -> None:
        items, backlog, context = lane.items, self._backlog, lane.context
        while items:
            call, argument, weight = items.popleft()
            try:
                result = context.run(call, argument)
                if result is not None:
                    await self._drive(result, context)
            except asyncio.CancelledError:
                runner = asyncio.current_task()
                if runner is None or runner.cancelling():
                    raise
                # The handler awaited something that was cancelled: its own affair, the lane goes on.
            except Exception as error:  # noqa: BLE001 - whatever a handler does, the next message is handled
                self._failed(error)
            finally:
                backlog.bytes -= weight
                if backlog.waiter is not None:
                    backlog.look()

    @types.coroutine
    def _drive(self, coroutine: Coroutine[Any, Any, Any], context: Context) -> Generator[Any, Any, None]:
        """Await a coroutine in a context of its own, and hand the other lanes on when it suspends."""
        send = coroutine.send
        try:
            waiting_for = context.run(send, None)
            if self._runner is not None and self._runner is asyncio.current_task():
                self._hand_on()
            while True:
                try:
                    sent = yield waiting_for
                except BaseException as error:  # noqa: BLE001 - it is the coroutine's, whatever it is
                    waiting_for = context.run(coroutine.throw, error)
                else:
                    waiting_for = context.run(send, sent)
        except StopIteration:
            return
