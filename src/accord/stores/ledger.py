"""The losses of a store: which queued events are lost, and which losses are not reported yet.

A commit that failed must not be followed by one that succeeds before the caller knows of it: the log would have a
hole. So a session that lost events goes on losing them until the loss was reported. Tickets are numbers that only grow.
Nothing here waits or locks; the store does.
"""

from __future__ import annotations

from accord.errors import StoreError

__all__ = ["LossLedger"]

# Of each session this many failures are remembered for tickets that are still to be asked for.
_REMEMBERED = 32


class _Loss:
    __slots__ = ("error", "first", "last", "reported")

    def __init__(self, ticket: int, error: StoreError) -> None:
        self.first = ticket
        self.last = ticket
        self.error = error
        self.reported = False


class LossLedger:
    """The losses of one store, by session."""

    def __init__(self) -> None:
        self._issued = 0
        self._losses: dict[str, list[_Loss]] = {}

    def issue(self) -> int:
        self._issued += 1
        return self._issued

    def lose(self, session_id: str, ticket: int, error: StoreError) -> None:
        """Note that the events of a ticket will never be kept. Tickets of one session are noted in order."""
        losses = self._losses.setdefault(session_id, [])
        if losses and not losses[-1].reported:
            losses[-1].last = ticket
            return
        losses.append(_Loss(ticket, error))
        del losses[:-_REMEMBERED]

    def lose_also(self, session_id: str, ticket: int) -> bool:
        """Whether the ticket is lost too, because an earlier loss of its session is not reported yet."""
        losses = self._losses.get(session_id)
        if not losses or losses[-1].reported:
            return False
        losses[-1].last = ticket
        return True

    def raise_loss(self, session_id: str, ticket: int) -> None:
        """Raise the error by which the ticket was lost, if it was; the session may go on then."""
        for loss in self._losses.get(session_id, ()):
            if loss.first <= ticket <= loss.last:
                raise _reported(loss, session_id)

    def raise_any_loss(self) -> None:
        """Raise the first error that is not reported yet; all sessions may go on then."""
        untold = [(loss, name) for name, losses in self._losses.items() for loss in losses if not loss.reported]
        errors = [_reported(loss, name) for loss, name in untold]
        if errors:
            raise errors[0]


def _reported(loss: _Loss, session_id: str) -> StoreError:
    loss.reported = True
    # A new one each time: several tasks may get it, and each adds its own traceback.
    error = StoreError(str(loss.error), reason=loss.error.reason, path=loss.error.path, session_id=session_id)
    error.__cause__ = loss.error
    return error
