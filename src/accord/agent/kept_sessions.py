"""Kept sessions: their list, the outline and replay of their logs, a session restored, the end of an interrupted turn.

A log is read in pages, twice, so that a long one neither fills the memory nor keeps other sessions waiting
(`accord.session.replay` has the reason).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Iterable

import msgspec

from accord.agent.session import Session
from accord.agent.session_paths import check_path
from accord.errors import InvalidParams, StoreError
from accord.protocol.codec import decode_json
from accord.session.client_requests import ListSessions, ReopenSession, SessionsListed, SessionSummary
from accord.session.event import (
    CompactionChanged,
    ConfigChanged,
    Event,
    PlanChanged,
    PlanEntry,
    StateChanged,
    TerminalChanged,
    TerminalExit,
    ToolChanged,
    WorkError,
)
from accord.session.replay import Outline, Replay
from accord.stores.interface import SessionRecord, Store, date_of

__all__ = [
    "SessionList",
    "cursor_of",
    "healing",
    "learned",
    "outlined",
    "released",
    "reopened",
    "replayed",
    "restored",
    "stopped_plans",
]

log = logging.getLogger("accord.agent")

PAGE = 50
UNPROMPTED_SECONDS = 7 * 24 * 3600.0
"""How long a session without a prompt is kept; it is listed only while it is open."""


async def outlined(store: Store, session_id: str) -> Outline:
    """The outline of a log as it is now."""
    outline = Outline()
    while page := await store.read_page(session_id, outline.length):
        outline.add(page)
        await asyncio.sleep(0)
    return outline


async def replayed(store: Store, session_id: str, outline: Outline) -> AsyncIterator[list[Event]]:
    """The conversation for a client that loads it, some events at a time, as far as the outline goes.

    The options are left out: the response has their current values.
    """
    yield [event for event in outline.settings() if not isinstance(event, ConfigChanged)]
    replay = Replay(outline)
    position = 0
    for count in outline.pages:
        page = await store.read(session_id, position, count)
        position += count
        yield replay.add(page)
        await asyncio.sleep(0)


async def reopened(
    store: Store, session_id: str, outline: Outline, *, replay: bool, after: int | None
) -> AsyncIterator[tuple[list[Event], list[Event]]]:
    """A log for a client that reopens it: page by page what is only learned, and what is sent.

    With `replay` all of it is sent; with a position `after` what is behind it, as it came: a client may have the first
    part of an entry.
    """
    position = 0
    if after is None:
        async for events in replayed(store, session_id, outline):
            yield ([], events) if replay else (events, [])
        return
    while page := await store.read_page(session_id, position):
        known = max(after - position, 0)
        yield page[:known], page[known:]
        position += len(page)
        await asyncio.sleep(0)


def cursor_of(request: ReopenSession) -> int | None:
    """The position up to which the client has the conversation; None where it does not say."""
    given = (request.meta or {}).get("accord")
    after = given.get("after") if isinstance(given, dict) else None
    return after if type(after) is int and after >= 0 else None


_STOPPED = WorkError(-32603, "The agent stopped before the turn was over")


def healing(outline: Outline, error: WorkError = _STOPPED, background: Collection[tuple[str, str]] = ()) -> list[Event]:
    """The events that end a log that breaks off in a turn: for each open part that is over, and for the turn.

    `background` has the kinds and ids of the parts that go on.
    """
    terminals = (each for each in outline.open_terminals if ("terminal", each) not in background)
    tools = (each for each in outline.open_tools if ("tool_call", each) not in background)
    events: list[Event] = [
        *(TerminalChanged(each, exit=TerminalExit(), cancellable=False) for each in terminals),
        *(ToolChanged(each, status="failed", cancellable=False) for each in tools),
        *(CompactionChanged(each, "failed", error=error.message) for each in outline.open_compactions),
    ]
    if not outline.is_idle:
        events += stopped_plans(outline.plans.values())
        events.append(StateChanged("idle", "error", error))
    return events


def stopped_plans(plans: Iterable[PlanChanged]) -> list[PlanChanged]:
    """The plans of a turn that did not reach its end, as they are now: those of which an entry was in progress."""
    return [
        PlanChanged([_stopped(entry) for entry in plan.entries], plan.id, plan.meta)
        for plan in plans
        if any(entry.status == "in_progress" for entry in plan.entries)
    ]


def _stopped(entry: PlanEntry) -> PlanEntry:
    return msgspec.structs.replace(entry, status="pending") if entry.status == "in_progress" else entry


# --- a session and its log


async def restored(session: Session, store: Store, *, heal: bool) -> Outline:
    """Restore the session: its settings, its author's state, and the outline of its log.

    Only a new owner may heal the log: an open turn of another process is not an interrupted one.
    """
    outline = await outlined(store, session.id)
    session.broke_off = heal and not outline.is_idle
    missing = healing(outline) if heal else []
    if missing:
        await store.append(session.id, missing)
        outline.add(missing)
    state = await store.state(session.id)
    session.state = None if state is None else decode_json(state)
    session._settings.restore(outline.config)
    return outline


async def learned(session: Session, store: Store, outline: Outline) -> None:
    """Encode the history of a copy without sending it: its client knows it from the source."""
    async for events in replayed(store, session.id, outline):
        for event in events:
            session._publisher.encoder.encode(event)


async def released(store: Store | None, session_id: str) -> None:
    """Release a session; one that cannot be released stays this process's until that ends."""
    if store is None:
        return
    try:
        await store.release(session_id)
    except StoreError as error:
        log.warning("a session could not be released: %s", error)


# --- the list


class SessionList:
    """The sessions of a store, or, without one, those that are open. Unprompted ones are deleted after a week."""

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
        if page.left_out:
            log.warning("left out of the list, as their records are damaged: %s", ", ".join(map(ascii, page.left_out)))
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
    updated_at = date_of(record.updated_at).isoformat(timespec="milliseconds")
    return SessionSummary(record.id, record.cwd, list(record.roots), record.title, updated_at.replace("+00:00", "Z"))
