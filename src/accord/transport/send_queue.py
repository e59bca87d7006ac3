"""The queue of senders before a bounded buffer: served one by one, in the order in which they came."""

from __future__ import annotations

from asyncio import CancelledError, Future, current_task, get_running_loop
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

__all__ = ["CREDIT_BYTES", "SendQueue"]

CREDIT_BYTES = 16 * 1024
"""How much a sender that had to wait may send before it has to wait again behind the others."""


class SendQueue:
    """Senders that wait for room. `fits` says whether the buffer has room for so many bytes, `put` puts a frame in.

    The code that makes room puts in the frame of the first sender, on its behalf. So no other sender overtakes it
    between being woken and running, and a cancelled sender has either sent its whole frame or left nothing behind.

    `is_over` says whether the buffer holds more than its high-water mark, which a single large frame may: `drain` waits
    for the end of that.
    """

    __slots__ = (
        "_credit_bytes",
        "_credit_holder",
        "_drains",
        "_fits",
        "_is_over",
        "_loop",
        "_put",
        "_reserve",
        "waiting",
    )

    def __init__(
        self,
        fits: Callable[[int], bool],
        put: Callable[[bytes | bytearray], object],
        is_over: Callable[[], bool],
        *,
        grants_credit: bool = False,
    ) -> None:
        self._loop: AbstractEventLoop | None = None
        self._fits = fits
        self._put = put
        self._is_over = is_over
        self._reserve = CREDIT_BYTES if grants_credit else 0
        self._credit_holder: object = None
        self._credit_bytes = 0
        self._drains: list[Future[bool]] = []
        self.waiting: deque[tuple[bytes | bytearray, Future[bool]]] = deque()
        """The frames for which there was no room, each with the future of its sender."""

    async def wait(self, frame: bytes | bytearray) -> bool:
        """Wait until `frame` was put in; False means that it never will be."""
        loop = self._loop = get_running_loop()
        ticket: tuple[bytes | bytearray, Future[bool]] = (frame, loop.create_future())
        self.waiting.append(ticket)
        try:
            was_put = await ticket[1]
        except CancelledError:
            if ticket in self.waiting:
                self.waiting.remove(ticket)
                # Room that was too small for this frame may do for the next.
                self.advance()
            raise
        # Many senders, each of which sends several texts, would otherwise wait once for each text.
        self._credit_holder, self._credit_bytes = current_task(loop), self._reserve
        return was_put

    def spend_credit(self, size_bytes: int) -> bool:
        """Whether the running task was the last to be served, and may still send so much although others wait."""
        # With the loop: to find the running one is a system call, and this is asked for each text.
        if self._credit_bytes < size_bytes or self._credit_holder is not current_task(self._loop):
            return False
        self._credit_bytes -= size_bytes
        return True

    async def drain(self) -> bool:
        """Wait while the buffer holds more than its high-water mark; False if the queue was closed meanwhile."""
        while self._is_over():
            drained: Future[bool] = get_running_loop().create_future()
            self._drains.append(drained)
            if not await drained:
                return False
        return True

    def advance(self) -> None:
        """Let in the frames that fit now, with the credit of their senders."""
        waiting, reserved_bytes = self.waiting, 0
        while waiting and self._fits(len(waiting[0][0]) + reserved_bytes):
            reserved_bytes += self._reserve
            frame, was_put = waiting.popleft()
            # Its task is cancelled but did not run yet: it must find that nothing was sent.
            if was_put.done():
                continue
            self._put(frame)
            was_put.set_result(True)
        if self._drains and not self._is_over():
            self._end_drains(is_drained=True)

    def close(self) -> None:
        """Turn all waiting senders away."""
        while self.waiting:
            was_put = self.waiting.popleft()[1]
            if not was_put.done():
                was_put.set_result(False)
        self._end_drains(is_drained=False)

    def _end_drains(self, *, is_drained: bool) -> None:
        drains, self._drains = self._drains, []
        for drained in drains:
            if not drained.done():
                drained.set_result(is_drained)
