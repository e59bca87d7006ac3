"""Time that passes only while nothing else can happen: an hour in a test takes no time, and is always an hour."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _Clock(selectors.DefaultSelector):
    """Instead of waiting it lets the time be later."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("nothing will ever happen any more")
            self.now += max(0.0, timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def in_no_time(work: Coroutine[Any, Any, None]) -> None:
    """Run a test that touches nothing outside of this process and starts no threads."""

    async def bounded() -> None:
        async with asyncio.timeout(24 * 3600):
            await work

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(bounded())


def now() -> float:
    """The time of the running loop, in seconds."""
    return asyncio.get_running_loop().time()
