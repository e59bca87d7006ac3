"""Admission control: which requests of the peer may start, by the memory for their answers and their texts.

A peer that sends requests and never reads makes answers accumulate. Answers that exist count in the budget (`budget`),
and no request starts while they are over it. But many requests that run at once have no answer yet, and each of them
may return a large one. So a part of the budget is reserved for the answer while the handler runs:

- as much as the largest answer of that method on this connection so far, if that was more than `SMALL_ANSWER_BYTES`;
- at least the share that the handler was registered with, for methods whose answers are known to be large;
- at most the whole budget: such a request runs when nothing else is reserved or unwritten. So an answer of any size
  can be given, one at a time.

A request whose answers have been small reserves nothing and waits for no reservation. Requests that wait do so in the
order of their arrival, without a task.

Reservations lapse when another request waits for them and none of them has ended for `LAPSE_SECONDS`. Handlers may
take as long as they like, and may depend on another request (a terminal's end on its kill): no set of them blocks the
others for good.

The text of a large request counts while its handler runs, up to `TEXTS` budgets; beyond that large requests wait for
the end of an earlier one, and small ones pass them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from accord.connection.budget import OPEN_REQUEST_BYTES, Budget
from accord.connection.request import OpenRequest

__all__ = ["LARGE_TEXT_BYTES", "SMALL_ANSWER_BYTES", "Admission"]

SMALL_ANSWER_BYTES = OPEN_REQUEST_BYTES
"""An answer of this size is covered by the cost of a running request."""
LARGE_TEXT_BYTES = 4096
"""From this size on the text of a request counts while it runs."""
TEXTS = 8
"""How many budgets the texts of large requests that run may take."""
LAPSE_SECONDS = 0.25
_NONE: deque[OpenRequest] = deque(maxlen=0)


class Admission:
    """The requests of one connection that wait to start; `start` is called with each when there is room for it."""

    def __init__(self, budget: Budget, start: Callable[[OpenRequest], None]) -> None:
        self._budget = budget
        self._start = start
        # Made when a request has to wait: a server has thousands of connections on which none ever does.
        self._small = self._large = self._heavy = _NONE
        self.largest_bytes: dict[str, int] = {}
        """The largest answer of each method whose answers are not all small."""
        self._reserved_bytes = 0
        self._lapses = 0
        self._moves = False
        """Whether a handler with a reservation has ended since the timer was set."""
        self._timer: asyncio.TimerHandle | None = None
        self._texts_bytes = 0
        self.waits = 0
        """How many requests wait."""

    def admits(self, request: OpenRequest) -> bool:
        """Whether a request may start now; if not, it waits here."""
        if self._small is _NONE:
            self._small, self._large, self._heavy = deque(), deque(), deque()
        queue = self._large if self._expected_bytes(request) else self._small
        if not self._fits_text(request):
            queue = self._heavy
        elif not queue and self._fits_answer(request):
            self._admit(request)
            return True
        self._budget.hold(request.size_bytes + OPEN_REQUEST_BYTES)
        queue.append(request)
        self.waits += 1
        self._set_timer()
        return False

    def returned(self, request: OpenRequest, answer_bytes: int) -> None:
        """A handler is done; its answer, if there is one, is counted by now or was written."""
        if request.weighs:
            request.weighs = False
            self._texts_bytes -= request.size_bytes
        if request.reserved is not None:
            (reserved_bytes, lapses), request.reserved = request.reserved, None
            self._moves = True
            if lapses == self._lapses:
                self._reserved_bytes -= reserved_bytes
        largest_bytes = self.largest_bytes.get(request.method, 0)
        if answer_bytes > max(largest_bytes, SMALL_ANSWER_BYTES):
            self.largest_bytes[request.method] = answer_bytes
        elif 0 < answer_bytes < largest_bytes and request.handler.share:
            # Decays towards its share. Without a share it stays: nothing else would bound the next large answer.
            self.largest_bytes[request.method] = largest_bytes - largest_bytes // 8
        if self.waits:
            self.go_on()

    def go_on(self) -> None:
        """Start the requests for which there is room now."""
        budget = self._budget
        while self._heavy and (self._is_over(self._heavy[0]) or self._fits_text(self._heavy[0])):
            request = self._pop(self._heavy)
            if not self._is_over(request) and self.admits(request):
                self._start(request)
        # Not more of them than may run at all: they are counted when they are started.
        while self._small and budget.unwritten_bytes <= budget.max_bytes and budget.load_bytes <= budget.max_bytes:
            self._go(self._small)
        while self._large and (self._is_over(self._large[0]) or self._fits_answer(self._large[0])):
            self._go(self._large)
        self._set_timer()

    def stop(self) -> None:
        for queue in (self._small, self._large, self._heavy):
            while queue:
                self._pop(queue)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _go(self, queue: deque[OpenRequest]) -> None:
        request = self._pop(queue)
        if not self._is_over(request):
            self._admit(request)
            self._start(request)

    def _pop(self, queue: deque[OpenRequest]) -> OpenRequest:
        request = queue.popleft()
        self.waits -= 1
        self._budget.unhold(request.size_bytes + OPEN_REQUEST_BYTES)
        return request

    @staticmethod
    def _is_over(request: OpenRequest) -> bool:
        """Whether it was cancelled while it waited, and so answered or started."""
        return request.began or request.task is not None

    def _admit(self, request: OpenRequest) -> None:
        request.admitted = True
        expected_bytes = self._expected_bytes(request)
        if expected_bytes:
            self._reserved_bytes += expected_bytes
            request.reserved = expected_bytes, self._lapses
        if request.size_bytes > LARGE_TEXT_BYTES:
            request.weighs = True
            self._texts_bytes += request.size_bytes

    def _expected_bytes(self, request: OpenRequest) -> int:
        share, max_bytes = request.handler.share, self._budget.max_bytes
        least_bytes = max_bytes // share if share else 0
        return min(max_bytes, max(least_bytes, self.largest_bytes.get(request.method, 0)))

    def _fits_answer(self, request: OpenRequest) -> bool:
        unwritten_bytes, max_bytes = self._budget.unwritten_bytes, self._budget.max_bytes
        expected_bytes = self._expected_bytes(request)
        if not expected_bytes:
            return unwritten_bytes <= max_bytes
        taken_bytes = unwritten_bytes + self._reserved_bytes
        return not taken_bytes or taken_bytes + expected_bytes <= max_bytes

    def _fits_text(self, request: OpenRequest) -> bool:
        size_bytes, taken_bytes = request.size_bytes, self._texts_bytes
        return (
            size_bytes <= LARGE_TEXT_BYTES
            or not taken_bytes
            or (taken_bytes + size_bytes <= TEXTS * self._budget.max_bytes)
        )

    def _set_timer(self) -> None:
        if self._large and self._reserved_bytes and self._timer is None:
            self._moves = False
            self._timer = asyncio.get_running_loop().call_later(LAPSE_SECONDS, self._lapse)

    def _lapse(self) -> None:
        self._timer = None
        if not self._moves:
            self._lapses += 1
            self._reserved_bytes = 0
        self.go_on()
