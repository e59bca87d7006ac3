"""The pending calls of this side and the open requests of the peer, as a state machine without I/O.

A call is waiting, then settled once: by an answer, or because its caller gave up. A later answer is late, an answer to
an id that was never used is unknown; both are dropped. A request is open from its arrival to its one answer; a second
answer is refused, a second request under an open id too.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias, TypeVar

from accord.errors import LocalProtocolError
from accord.jsonrpc.message import RequestId

__all__ = ["PendingRequests", "Stray"]

C = TypeVar("C")
O = TypeVar("O")  # noqa: E741 - O for the open requests, beside C for the calls

Stray: TypeAlias = Literal["late", "unknown"]
"""An answer without a waiting call: to a call that is settled, or to one that was never made."""


class PendingRequests(Generic[C, O]):
    """The pending requests of one endpoint. `C` is the caller's object for a call, `O` for an open request."""

    def __init__(self) -> None:
        self._next = 0
        self._waiting: dict[RequestId, C] = {}
        self._open: dict[RequestId, O] = {}

    # --- our calls

    def next_id(self) -> int:
        """A fresh id; ids are never used twice on one connection."""
        id_ = self._next
        self._next = id_ + 1
        return id_

    @property
    def next(self) -> int:
        """The id that `next_id` will return."""
        return self._next

    def wait(self, id_: int, call: C) -> None:
        """A call waits for its answer from now on."""
        self._waiting[id_] = call

    def settle(self, id_: RequestId) -> C | Stray:
        """End the call that was answered or given up, and return it, or the reason why there is none."""
        call = self._waiting.pop(id_, None)
        if call is not None:
            return call
        return "late" if type(id_) is int and 0 <= id_ < self._next else "unknown"

    def waiting(self, id_: RequestId) -> C | None:
        """The call that waits under an id; it goes on waiting."""
        return self._waiting.get(id_)

    def settle_all(self) -> list[C]:
        """The link is gone: every call that still waited."""
        calls = list(self._waiting.values())
        self._waiting.clear()
        return calls

    @property
    def calls(self) -> int:
        return len(self._waiting)

    # --- requests of the other side

    def open(self, id_: RequestId, request: O) -> bool:
        """A request arrived; False if one under its id is still open. Null ids name nothing and may repeat."""
        if id_ is None:
            return True
        if id_ in self._open:
            return False
        self._open[id_] = request
        return True

    def opened(self, id_: RequestId) -> O | None:
        """The request that is open under an id, so that it can be cancelled."""
        return self._open.get(id_)

    def answer(self, id_: RequestId) -> None:
        """Close the request: its one answer is about to be sent.

        Raises:
            LocalProtocolError: No request is open under this id: it was answered, or never came.
        """
        if id_ is not None and self._open.pop(id_, None) is None:
            raise LocalProtocolError("a request is answered exactly once")
