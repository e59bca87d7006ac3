"""Order: one lane per session, in which things happen one after the other although handlers suspend.

A lane lives while it holds something. Its task is the only one that runs its notifications; requests leave it as tasks
of their own when their turn comes, and answers pass through it so that they do not overtake what came before them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from accord.connection.backlog import Backlog

__all__ = ["INSIDE", "Lane", "Lanes"]

Item: TypeAlias = tuple[Callable[[Any], Any], Any, int]
"""What to call, with what, and how many bytes of the budget that frees."""

INSIDE: ContextVar[object] = ContextVar("INSIDE", default=None)
"""The connection whose handler this code runs in, also in tasks that the handler started."""


class Lane:
    """The things of one session that wait for their turn."""

    __slots__ = ("items", "task")

    def __init__(self) -> None:
        self.items: deque[Item] = deque()
        self.task: asyncio.Task[None] | None = None


class Lanes:
    """All lanes of one connection; `owner` is the mark that code inside a handler can be told by.

    `failed` is called with what a notification handler raised. `get` gives the lane of a session if anything of it
    still waits or is being handled.
    """

    def __init__(self, owner: object, backlog: Backlog, failed: Callable[[Exception], None]) -> None:
        self._owner = owner
        self._backlog = backlog
        self._failed = failed
        self._lanes: dict[str | None, Lane] = {}
        self.get = self._lanes.get

    def add(self, key: str | None, item: Item) -> None:
        """Queue a thing behind everything of its session that came before."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane()
            lane.task = asyncio.get_running_loop().create_task(self._run(key, lane))
        lane.items.append(item)

    def tasks(self) -> list[asyncio.Task[None]]:
        """The tasks of the lanes that are not empty."""
        return [lane.task for lane in self._lanes.values() if lane.task is not None]

    async def _run(self, key: str | None, lane: Lane) -> None:
        INSIDE.set(self._owner)
        items, backlog = lane.items, self._backlog
        try:
            while items:
                call, argument, weight = items.popleft()
                try:
                    result = call(argument)
                    if result is not None:
                        await result
                except asyncio.CancelledError:
                    task = asyncio.current_task()
                    if task is None or task.cancelling():
                        raise
                    # The handler awaited something that was cancelled: its own affair, the lane goes on.
                except Exception as error:  # noqa: BLE001 - whatever a handler does, the next message is handled
                    self._failed(error)
                finally:
                    backlog.bytes -= weight
                    if backlog.waiter is not None:
                        backlog.look()
        finally:
            # Not `del`: a cancelled lane may have been replaced already.
            if self._lanes.get(key) is lane:
                self._lanes.pop(key)
