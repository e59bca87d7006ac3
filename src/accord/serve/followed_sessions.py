"""The open sessions of a relay's client, as they are reopened at their next owners, each from its cursor."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable
from typing import Any

from accord.errors import StoreError
from accord.serve.fleet import FleetStore
from accord.serve.message_text import params_of
from accord.serve.relayed_requests import Opening

__all__ = ["FollowedSessions"]

log = logging.getLogger("accord.serve")


class FollowedSessions:
    """The sessions that one client has open, here or at another node."""

    def __init__(self, store: FleetStore) -> None:
        self._store = store
        self._opened: dict[str, dict[str, Any]] = {}
        """The params that reopen each."""
        self._epochs: dict[str, int] = {}
        """The claim of each under which the client has all its events."""
        self._ends: dict[str, int] = {}
        """The positions up to which the client has the events of sessions whose links broke."""
        self._broken: set[str] = set()

    def __contains__(self, session_id: str) -> bool:
        """Whether it can be reopened."""
        return session_id in self._opened and session_id in self._epochs

    def among(self, session_ids: Iterable[str]) -> list[str]:
        return [session_id for session_id in session_ids if session_id in self._opened]

    async def note(self, session_id: str, opening: Opening) -> None:
        """The session was opened: from now on the client gets what its present owner writes."""
        if not opening.follows:
            self._opened[session_id] = {**params_of(opening.text), "sessionId": session_id}
        # Where the claim cannot be read, it is not followed: a cursor from before would send known events again.
        self._epochs.pop(session_id, None)
        self.resumed(session_id)
        # Another node may claim it until the answer is there: what that one writes, the client does not have.
        owner = self._store.incarnation if opening.link is None else opening.link.node
        try:
            self._epochs[session_id] = await self._store.epoch_of(session_id, owner)
        except StoreError as error:
            log.warning("the claim on a session could not be read: %s", error)

    def forget(self, session_id: str) -> None:
        self.resumed(session_id)
        self._opened.pop(session_id, None)
        self._epochs.pop(session_id, None)

    async def note_end(self, session_id: str) -> None:
        """The link of its owner, which may live and write, has broken."""
        self._broken.add(session_id)
        with contextlib.suppress(StoreError):
            end = await self._store.end_of(session_id, self._epochs.get(session_id, 0))
            if session_id in self._broken:  # else it goes on by now
                self._ends[session_id] = end

    def resumed(self, session_id: str) -> None:
        """The link goes on, and nothing was missed."""
        self._broken.discard(session_id)
        self._ends.pop(session_id, None)

    async def set_cursor(self, opening: Opening) -> None:
        """Write the request that reopens a session, for the events behind those that the client has."""
        session_id = opening.session_id
        end = await self._store.end_of(session_id, self._epochs[session_id])
        after = min(end, self._ends.get(session_id, end))
        params = {**self._opened[session_id], "_meta": {"accord": {"after": after}}}
        message = {"jsonrpc": "2.0", "id": opening.message.id, "method": opening.message.method, "params": params}
        opening.text = json.dumps(message).encode()
