"""Knows who may send next when there is no room: senders pass one by one, in the order in which they came."""

from __future__ import annotations

from asyncio import CancelledError, Future, get_running_loop
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Turnstile"]


class Turnstile:
    """The queue before a bounded buffer; who passes is promised room for `share_bytes` more.

    Whoever makes room puts the text of the first in line in, on its behalf. So nobody overtakes it between
    being woken and running, and a cancelled sender has either passed with its whole text or left nothing
    behind.
    """

    __slots__ = ("_fits", "_put", "_share_bytes", "waiting")

    def __init__(
        self, fits: Callable[[int], bool], put: Callable[[bytes | bytearray], object], share_bytes: int = 0
    ) -> None:
        self._fits = fits
        self._put = put
        self._share_bytes = share_bytes
        self.waiting: deque[tuple[bytes | bytearray, Future[bool]]] = deque()

    def __bool__(self) -> bool:
        return bool(self.waiting)

    async def wait(self, text: bytes | bytearray) -> bool:
        """Wait until `text` was put in; False means that it never will be."""
        ticket = self.join(text)
        try:
            return await ticket[1]
        except CancelledError:
            if ticket in self.waiting:
                self.waiting.remove(ticket)
                # Room that was too small for this text may do for the next.
                self.advance()
            raise

    def join(self, text: bytes | bytearray) -> tuple[bytes | bytearray, Future[bool]]:
        """Put `text` at the end of the queue; the future says when it was put in, or False if it never will be."""
        ticket: tuple[bytes | bytearray, Future[bool]] = (text, get_running_loop().create_future())
        self.waiting.append(ticket)
        return ticket

    def advance(self) -> None:
        """Let pass whoever fits now, with what each of them may say at once."""
        waiting, promised_bytes = self.waiting, 0
        while waiting and self._fits(len(waiting[0][0]) + promised_bytes):
            promised_bytes += self._share_bytes
            text, passed = waiting.popleft()
            # Its task is cancelled but did not run yet: it must find that nothing was sent.
            if passed.done():
                continue
            self._put(text)
            passed.set_result(True)

    def shut(self) -> None:
        """Send everybody away."""
        while self.waiting:
            passed = self.waiting.popleft()[1]
            if not passed.done():
                passed.set_result(False)
