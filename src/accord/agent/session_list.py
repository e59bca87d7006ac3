"""The list of an agent's sessions, page by page; unprompted ones are deleted after a week."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import UTC, datetime

from accord.agent.session_paths import check_path
from accord.errors import InvalidParams, StoreError
from accord.session.client_requests import ListSessions, SessionsListed, SessionSummary
from accord.stores.interface import SessionRecord, Store

__all__ = ["SessionList"]

log = logging.getLogger("accord.agent")

PAGE = 50
UNPROMPTED_SECONDS = 7 * 24 * 3600.0
"""How long a session without a prompt is kept; it is listed only while it is open."""


class SessionList:
    """The sessions of a store, or, without one, those that are open."""

    def __init__(self, store: Store | None, principal: str | None = None) -> None:
        self._store = store
        self._principal = principal
        self._is_pruned = False

    async def page(self, request: ListSessions, open_ones: Iterable[SessionRecord]) -> SessionsListed:
        """One page of the sessions; without a store, the open ones."""
        if request.cwd is not None:
            check_path(request.cwd, "cwd")
        if self._store is None:
            if request.cursor is not None:
                raise InvalidParams("There is one page only", {"field": "cursor", "expected": "no cursor"})
            records = [record for record in open_ones if request.cwd in (None, record.cwd)]
            records.sort(key=lambda record: record.updated_at, reverse=True)
            return SessionsListed([_summary(record) for record in records])
        await self.prune()
        # Named only where there is one: a store of another author may know no principals.
        owned = {} if self._principal is None else {"principal": self._principal}
        page = await self._store.list_sessions(
            cwd=request.cwd, cursor=request.cursor, limit=PAGE, unprompted=False, **owned
        )
        return SessionsListed([_summary(record) for record in page.records], page.next_cursor)

    async def prune(self) -> None:
        """Once for each client: delete week-old sessions without a prompt. A failure is logged and stops nothing."""
        if self._is_pruned or self._store is None:
            return
        self._is_pruned = True
        try:
            gone = await self._store.prune_unprompted(time.time() - UNPROMPTED_SECONDS)
        except StoreError as error:
            log.debug("sessions without a prompt stay in the store: %s", error)
        else:
            if gone:
                log.info("%d sessions without a prompt were deleted", len(gone))


def _summary(record: SessionRecord) -> SessionSummary:
    updated_at = datetime.fromtimestamp(record.updated_at, UTC).isoformat(timespec="milliseconds")
    return SessionSummary(record.id, record.cwd, list(record.roots), record.title, updated_at.replace("+00:00", "Z"))
