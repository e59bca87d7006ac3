"""The store in memory: keeps sessions as long as the process lives, for tests and short-lived agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec

from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.event import Event
from accord.stores.errors import LossLedger, closed, session_exists, unknown_session
from accord.stores.interface import PAGE_BYTES, PAGE_EVENTS, SessionPage, SessionRecord, is_draft
from accord.stores.polling import poll_events
from accord.stores.text import decode_cursor, decode_event, encode_cursor, encode_event, is_prompt

__all__ = ["MemoryStore"]

# How many events are read before others get a turn.
_SLICE = 500


class _Session:
    def __init__(self, record: SessionRecord) -> None:
        self.record = record
        # As texts: an event that the caller changes later must not change here.
        self.texts: list[bytes] = []
        self.state: bytes | None = None
        self.claims = 0


class MemoryStore:
    """A `Store` in memory. Closing it forgets everything. For one event loop."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._ledger = LossLedger()
        self._closed = False

    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        """Keep a new session with an empty log."""
        self._admit(record).claims = int(owned)

    async def acquire(self, session_id: str) -> bool:
        """Count one more owner; a memory store belongs to one process, which owns all its sessions."""
        session = self._find(session_id)
        session.claims += 1
        return session.claims == 1

    async def release(self, session_id: str) -> None:
        """Undo one `acquire`."""
        session = self._open_sessions().get(session_id)
        if session is not None and session.claims:
            session.claims -= 1

    async def get(self, session_id: str) -> SessionRecord | None:
        """The session's record, or None where there is no such session."""
        session = self._open_sessions().get(session_id)
        return None if session is None or is_draft(session_id) else _counted(session)

    async def exists(self, session_id: str) -> bool:
        """Whether there is such a session."""
        return await self.get(session_id) is not None

    async def patch(
        self,
        session_id: str,
        *,
        title: Maybe[str] = UNSET,
        updated_at: float | UnsetType = UNSET,
        state: Maybe[bytes] = UNSET,
    ) -> None:
        """Change the given fields; `UNSET` keeps, None clears."""
        session = self._find(session_id)
        if title is not UNSET:
            session.record = msgspec.structs.replace(session.record, title=title)
        if updated_at is not UNSET:
            session.record = msgspec.structs.replace(session.record, updated_at=updated_at)
        if state is not UNSET:
            session.state = state

    async def state(self, session_id: str) -> bytes | None:
        """The author's own state, as it was last patched."""
        return self._find(session_id).state

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        """Append events to the log; they are kept at once, and `commit` raises if they could not be."""
        sessions = self._open_sessions()
        texts = [encode_event(event) for event in events]
        ticket = self._ledger.issue()
        if self._ledger.lose_also(session_id, ticket):
            return ticket
        if session_id in sessions:
            sessions[session_id].texts += texts
        else:
            self._ledger.lose(session_id, ticket, unknown_session(session_id))
        return ticket

    async def commit(self, session_id: str, ticket: int) -> None:
        """Raise if the events of the ticket could not be kept."""
        self._open_sessions()
        # As in any other store, other tasks get a turn: no caller may rely on the contrary.
        await asyncio.sleep(0)
        self._ledger.raise_loss(session_id, ticket)

    async def flush(self) -> None:
        """Raise the first failure that was not reported yet."""
        self._open_sessions()
        await asyncio.sleep(0)
        self._ledger.raise_any_loss()

    async def append(self, session_id: str, events: Sequence[Event]) -> int:
        """Queue and commit; returns the position of the last event of the log."""
        ticket = self.queue(session_id, events)
        session = self._sessions.get(session_id)
        position = 0 if session is None else len(session.texts)
        await self.commit(session_id, ticket)
        return position

    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events behind position `after`, in order."""
        texts = self._find(session_id).texts[max(after, 0) :]
        if limit is not None:
            texts = texts[: max(limit, 0)]
        events: list[Event] = []
        for start in range(0, len(texts), _SLICE):
            events += map(decode_event, texts[start : start + _SLICE])
            await asyncio.sleep(0)
        return events

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        """The next events behind position `after`, as many as fit into a page."""
        texts = self._find(session_id).texts
        events: list[Event] = []
        size = 0
        for text in texts[max(after, 0) : max(after, 0) + PAGE_EVENTS]:
            size += len(text)
            if events and size > PAGE_BYTES:
                break
            events.append(decode_event(text))
        await asyncio.sleep(0)
        return events

    def watch(self, session_id: str, after: int = 0) -> AsyncIterator[list[tuple[int, Event]]]:
        """The events behind position `after`, and every later one, with their positions; looks every 50 ms."""
        return poll_events(self, session_id, after)

    async def list_sessions(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        unprompted: bool = True,
        principal: str | None = None,
    ) -> SessionPage:
        """One page of the sessions, the last updated first."""
        sessions = self._open_sessions().values()
        shown = [each for each in sessions if unprompted or each.claims or _is_prompted(each)]
        records = [each.record for each in shown if not is_draft(each.record.id)]
        wanted = (one for one in records if cwd in (None, one.cwd) and principal in (None, one.principal))
        positions = sorted(((one.updated_at, one.id) for one in wanted), reverse=True)
        if cursor is not None:
            last = decode_cursor(cursor)
            positions = [place for place in positions if place < last]
        found = [_counted(self._sessions[session_id]) for _, session_id in positions[: max(limit, 1)]]
        has_more = len(positions) > len(found)
        return SessionPage(found, encode_cursor(found[-1].updated_at, found[-1].id) if has_more else None)

    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        """Create a session with a copy of the log and of the state."""
        source = self._find(session_id)
        copy = self._admit(record)
        copy.texts = source.texts.copy()
        copy.state = source.state
        copy.claims = int(owned)

    async def publish(self, draft_id: str, session_id: str) -> None:
        """Give a draft its own id."""
        session = self._find(draft_id)
        if session_id in self._sessions:
            raise session_exists(session_id)
        session.record = msgspec.structs.replace(session.record, id=session_id)
        session.claims = 0
        self._sessions[session_id] = self._sessions.pop(draft_id)

    async def delete(self, session_id: str) -> None:
        """Delete the session, its log and its state."""
        self._open_sessions().pop(session_id, None)

    async def prune_unprompted(self, before: float) -> list[str]:
        """Delete the sessions without a prompt and an owner whose `updated_at` is earlier."""
        sessions = self._open_sessions()
        found = [
            each.record.id
            for each in sessions.values()
            if not each.claims
            and (is_draft(each.record.id) or (each.record.updated_at < before and not _is_prompted(each)))
        ]
        for session_id in found:
            del sessions[session_id]
        return [session_id for session_id in found if not is_draft(session_id)]

    async def close(self) -> None:
        """Forget everything."""
        if not self._closed:
            self._closed = True
            self._sessions.clear()
            self._ledger.raise_any_loss()

    def _open_sessions(self) -> dict[str, _Session]:
        if self._closed:
            raise closed()
        return self._sessions

    def _find(self, session_id: str) -> _Session:
        session = self._open_sessions().get(session_id)
        if session is None:
            raise unknown_session(session_id)
        return session

    def _admit(self, record: SessionRecord) -> _Session:
        if record.id in self._open_sessions():
            raise session_exists(record.id)
        session = self._sessions[record.id] = _Session(record)
        return session


def _is_prompted(session: _Session) -> bool:
    return any(map(is_prompt, session.texts))


def _counted(session: _Session) -> SessionRecord:
    return msgspec.structs.replace(session.record, events=len(session.texts))
