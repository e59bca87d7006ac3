"""A session that is open here, with its turns and the clients that share it."""

from __future__ import annotations

import msgspec

from accord.agent.session import Session
from accord.agent.session_clients import SessionClients
from accord.agent.turn_runner import TurnRunner
from accord.errors import StoreError
from accord.session.dialect import Dialect
from accord.stores.interface import SessionRecord

__all__ = ["OpenSession"]


class OpenSession:
    """A session that is open here, and its turns. A view has none: another process owns the session.

    `clients` are those that share it; None if it is one client's alone.
    """

    __slots__ = ("clients", "dialect", "is_lost", "is_view", "record", "runner", "session")

    def __init__(
        self,
        session: Session,
        runner: TurnRunner,
        record: SessionRecord,
        dialect: Dialect,
        *,
        is_view: bool,
        clients: SessionClients | None,
    ) -> None:
        self.session = session
        self.runner = runner
        self.record = record
        self.dialect = dialect
        self.is_view = is_view
        self.clients = clients
        self.is_lost = False
        """Whether this process owns it no more: whatever it still does is neither kept nor sent."""

    def lose(self) -> None:
        """Another process may own the session from now on: end its turn with an error, and write nothing more.

        The same process may open it again at once, as another `OpenSession`; this one stays cut off.
        """
        self.is_lost = True
        error = StoreError("this process lost the session", reason="lost", session_id=self.session.id)
        self.session._lost = error
        self.session._publisher.cut_off(error)
        self.runner.store_failed(error)

    @property
    def current(self) -> SessionRecord:
        """The record as it would be now, if it were kept."""
        return msgspec.structs.replace(
            self.record, title=self.session.title, updated_at=max(self.record.updated_at, self.session._touched_at)
        )
