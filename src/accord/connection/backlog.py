"""Memory: one budget per connection for what was read and not yet handled, and a reader that waits when it is spent."""

from __future__ import annotations

import asyncio

__all__ = ["OPEN_REQUEST_BYTES", "OVERHEAD_BYTES", "Backlog"]

OVERHEAD_BYTES = 256
"""What a queued message costs beyond its text, so that a flood of tiny ones is bounded as well."""
OPEN_REQUEST_BYTES = 1024
"""What a request costs while its handler runs. Not its text: a large prompt must not keep its own cancel unread."""
STRETCH = 4
"""How far the budget stretches while a handler waits for an answer on the same connection."""


class Backlog:
    """Counts bytes in and out. `calls_inside` is how many calls handlers of this connection wait for."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self.calls_inside = 0
        self.waiter: asyncio.Future[None] | None = None
        """The reader, while it waits for room."""

    def add(self, count: int) -> None:
        """So much more waits."""
        self.bytes += count

    def free(self, count: int) -> None:
        """So much is done; wakes the reader when half the budget is free again."""
        self.bytes -= count
        if self.waiter is not None:
            self.look()

    def look(self) -> None:
        """Wake the reader if half the budget is free again."""
        if self.bytes <= self.max_bytes // 2:
            self.wake()

    @property
    def full(self) -> bool:
        """Whether the reader must wait."""
        return self.bytes > self.max_bytes

    @property
    def spent(self) -> bool:
        """Whether even the stretched budget is spent."""
        return self.bytes > STRETCH * self.max_bytes

    async def room(self) -> bool:
        """Wait until reading may go on; False if the stretched budget is spent and calls inside handlers must fail."""
        while self.full:
            if self.calls_inside:
                return not self.spent
            self.waiter = asyncio.get_running_loop().create_future()
            try:
                await self.waiter
            finally:
                self.waiter = None
        return True

    def wake(self) -> None:
        """Let the reader look again: bytes were freed, or a handler has made a call."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)
