"""A session that is open here, with its turns and the clients that share it."""

from __future__ import annotations

import msgspec

from accord.agent.session import Session
from accord.agent.session_clients import SessionClients
from accord.agent.turn_runner import TurnRunner
from accord.session.dialect import Dialect
from accord.stores.interface import SessionRecord

__all__ = ["OpenSession"]


class OpenSession:
    """A session that is open here, and its turns. A view has none: another process owns the session.

    `clients` are those that share it; None if it is one client's alone.
    """

    __slots__ = ("clients", "dialect", "is_view", "record", "runner", "session")

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

    @property
    def current(self) -> SessionRecord:
        """The record as it would be now, if it were kept."""
        return msgspec.structs.replace(
            self.record, title=self.session.title, updated_at=max(self.record.updated_at, self.session._touched_at)
        )
