"""Knows which queued events are lost, and who has not been told so yet.

A commit that failed must not be followed by one that succeeds behind the back of whoever waits: the log would have a
hole. So a session that lost events goes on losing them until somebody was told. Tickets are numbers that only grow.
Nothing here waits or locks; the store does.
"""

from __future__ import annotations

from accord.errors import StoreError

__all__ = ["Ledger"]

# Of each session this many failures are remembered for tickets that are still to be asked for.
_REMEMBERED = 32


class _Loss:
    __slots__ = ("error", "first", "last", "told")

    def __init__(self, ticket: int, error: StoreError) -> None:
        self.first = ticket
        self.last = ticket
        self.error = error
        self.told = False


class Ledger:
    """The losses of one store, by session."""

    def __init__(self) -> None:
        self._issued = 0
        self._losses: dict[str, list[_Loss]] = {}

    def issue(self) -> int:
        """The next ticket."""
        self._issued += 1
        return self._issued

    def lose(self, session_id: str, ticket: int, error: StoreError) -> None:
        """Note that the events of a ticket will never be kept. Tickets of one session are noted in order."""
        losses = self._losses.setdefault(session_id, [])
        if losses and not losses[-1].told:
            losses[-1].last = ticket
            return
        losses.append(_Loss(ticket, error))
        del losses[:-_REMEMBERED]

    def lose_more(self, session_id: str, ticket: int) -> bool:
        """Whether the ticket is lost too, because nobody was told of an earlier loss of its session."""
        losses = self._losses.get(session_id)
        if not losses or losses[-1].told:
            return False
        losses[-1].last = ticket
        return True

    def tell(self, session_id: str, ticket: int) -> None:
        """Raise the error by which the ticket was lost, if it was; the session may go on then."""
        for loss in self._losses.get(session_id, ()):
            if loss.first <= ticket <= loss.last:
                raise _told(loss, session_id)

    def tell_any(self) -> None:
        """Raise the first error of which nobody was told; all sessions may go on then."""
        untold = [(loss, name) for name, losses in self._losses.items() for loss in losses if not loss.told]
        errors = [_told(loss, name) for loss, name in untold]
        if errors:
            raise errors[0]


def _told(loss: _Loss, session_id: str) -> StoreError:
    loss.told = True
    # A new one each time: several tasks may be told, and each adds its own traceback.
    error = StoreError(str(loss.error), reason=loss.error.reason, path=loss.error.path, session_id=session_id)
    error.__cause__ = loss.error
    return error
