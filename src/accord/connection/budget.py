"""The memory budget of one connection, in bytes, for both directions, and the receiver that waits when it is spent.

Three things count, each from the moment it exists:

- the load: notifications that wait in lanes, requests whose handlers run, refusals that are not written;
- held requests: read, and not started because there is no room for their answers (`admission`);
- unwritten answers: encoded, and not yet written by the transport.

When no call here waits for an answer of the peer, reading pauses while the sum is over the budget. While a call of ours
waits, its answer comes behind other messages of the peer. Two peers that each stop reading until the other one reads
would wait for ever, so unwritten answers alone do not stop the reader then: it pauses for the load, as always, and for
held requests beyond `STRETCH` budgets. A peer of this library never has that many requests open, because `outgoing`
sends no more than `max_calls`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["OPEN_REQUEST_BYTES", "OVERHEAD_BYTES", "STRETCH", "Budget"]

OVERHEAD_BYTES = 256
"""The cost of a queued message beyond its text, so that a flood of tiny ones is bounded as well."""
OPEN_REQUEST_BYTES = 1024
"""The cost of a request while its handler runs. Not its text: a large prompt must not keep its own cancel unread."""
STRETCH = 4
"""The factor of the budget while a call of ours waits for an answer on the same connection."""

HUNG_UP_SECONDS = 0.5
"""The interval in which a reader that waits for room checks whether the peer is still there."""


class Budget:
    """Counts bytes in and out. `calls_inside` is how many calls handlers of this connection wait for."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        """The sum of all bytes that count."""
        self.held_bytes = 0
        """The part of it that is requests which are not started."""
        self.unwritten_bytes = 0
        """The part of it that is answers which are not written."""
        self.calls = 0
        """How many calls of ours wait for their answers."""
        self.calls_inside = 0
        self.max_calls = max(16, 2 * max_bytes // OPEN_REQUEST_BYTES)
        """How many calls may be open at once: so many requests a peer with the same budget holds without a pause."""
        self.ended = False
        """Whether the peer is gone, so that little more can come."""
        self.waiter: asyncio.Future[None] | None = None
        """The reader, while it waits for room."""

    def add(self, count: int) -> None:
        self.bytes += count

    def free(self, count: int) -> None:
        """Free so many bytes; wakes the reader when half the budget is free again."""
        self.bytes -= count
        if self.waiter is not None:
            self.look()

    def hold(self, count: int) -> None:
        """Count a request of so many bytes that is not started yet."""
        self.bytes += count
        self.held_bytes += count

    def unhold(self, count: int) -> None:
        """Stop counting a held request: it is started, or withdrawn."""
        self.held_bytes -= count
        self.free(count)

    def answered(self, count: int) -> None:
        """Count an encoded answer of so many bytes."""
        self.bytes += count
        self.unwritten_bytes += count

    def written(self, count: int) -> None:
        self.unwritten_bytes -= count
        self.free(count)

    @property
    def load_bytes(self) -> int:
        """The bytes that are neither held nor unwritten."""
        return self.bytes - self.held_bytes - self.unwritten_bytes

    def look(self) -> None:
        """Wake the reader if half the budget is free again."""
        half = self.max_bytes // 2
        if self.bytes <= half or (self.calls and self.load_bytes <= half and self.held_bytes <= STRETCH * half):
            self.wake()

    @property
    def full(self) -> bool:
        """Whether the reader must wait."""
        if self.bytes <= self.max_bytes or self.ended:
            return False
        if self.calls:
            return self.load_bytes > self.max_bytes or self.held_bytes > STRETCH * self.max_bytes
        return True

    @property
    def spent(self) -> bool:
        """Whether even the stretched budget is spent."""
        return self.load_bytes + self.held_bytes > STRETCH * self.max_bytes

    async def free_bytes(self, hung_up: Callable[[], bool] = lambda: False) -> bool:
        """Wait until reading may go on; False if the stretched budget is spent and calls inside handlers must fail.

        A reader that waits does not see the end of the stream. So `hung_up` is polled: the rest that a gone peer left
        behind is read in any case, since it is no more than a pipe holds.
        """
        while self.full:
            if self.calls_inside:
                return not self.spent
            self.waiter = asyncio.get_running_loop().create_future()
            try:
                await asyncio.wait((self.waiter,), timeout=HUNG_UP_SECONDS)
            finally:
                self.waiter = None
            self.ended = self.ended or hung_up()
        return True

    def wake(self) -> None:
        """Have the reader check again: bytes were freed, or a call was made."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)
