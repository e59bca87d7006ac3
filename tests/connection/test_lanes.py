"""The lane of a session, few and many things at a time: one after the other, whatever a handler does."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.connection.budget import Budget
from accord.connection.lanes import FEW, Lanes
from tests.limits import limit
from tests.tables import rows

# A lane with few things is emptied by the shared runner, one with many by a task of its own.
BOTH_WAYS = rows("count", [FEW, 10 * FEW])


class Emptied:
    """Lanes whose only session has some things to do, all of them queued before the first one runs."""

    def __init__(self) -> None:
        self.budget = Budget(1 << 20)
        self.failures: list[Exception] = []
        self.lanes = Lanes(self, self.budget, self.failures.append)

    async def run(self, call: Any, count: int) -> None:
        self.budget.add(count)
        for index in range(count):
            self.lanes.add("s", (call, index, 1))
        async with asyncio.timeout(limit(10)):
            while tasks := self.lanes.tasks():
                await asyncio.wait(tasks)


@BOTH_WAYS
async def test_a_thing_begins_when_the_one_before_it_is_over(count: int) -> None:
    steps: list[tuple[str, int]] = []

    async def handle(index: int) -> None:
        steps.append(("begin", index))
        await asyncio.sleep(0)
        steps.append(("end", index))

    emptied = Emptied()
    await emptied.run(handle, count)
    assert steps == [(step, index) for index in range(count) for step in ("begin", "end")]
    assert emptied.budget.bytes == 0


@BOTH_WAYS
async def test_a_handler_that_raises_or_awaits_something_cancelled_does_not_stop_its_lane(count: int) -> None:
    seen: list[int] = []

    async def fragile(index: int) -> None:
        if index == 0:
            raise RuntimeError
        if index == 1:
            raise asyncio.CancelledError
        seen.append(index)

    emptied = Emptied()
    await emptied.run(fragile, count)
    assert seen == list(range(2, count))
    assert [type(error) for error in emptied.failures] == [RuntimeError]
    assert emptied.budget.bytes == 0
