"""The copy of sessions into a store: from another store, from SQLite to PostgreSQL and back, or from a file."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from accord.errors import StoreError
from accord.session.event import Event, StateChanged
from accord.stores.interface import DRAFT, SessionRecord, Store

__all__ = ["SessionSource", "copy_session", "copy_sessions"]


# A failure with one of these reasons ends the copy of one session, and not that of the others.
_OF_ONE_SESSION = frozenset({"session_differs", "unreadable", "damaged"})
# So many sessions that were not copied are named.
_NAMED = 5


class SessionSource(Protocol):
    """The source of a copied session; every `Store` is one."""

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        """The next events behind position `after`; none at the end of the log."""
        ...

    async def state(self, session_id: str) -> bytes | None:
        """The author's own state."""
        ...


async def copy_sessions(
    source: Store,
    target: Store,
    *,
    principal: str | None = None,
    target_principal: str | None = None,
    progress: Callable[[int, str], None] | None = None,
    event_progress: Callable[[int, int], None] | None = None,
    extend: bool = False,
    on_cut: Callable[[str], None] | None = None,
) -> int:
    """Copy every session of `source` into `target`: record, log and state, the last updated first; returns how many.

    With `principal` only that one's; with `target_principal` they belong to that one in the target. Each is copied as
    `copy_session` does it: a copy that breaks off, however it does, is made again by the next call. A session that
    the target has already, with as many events, is left as it is there; with `extend` one that has grown since gets
    its later events, title and state. `progress` is called after each with the number so far and the id,
    `event_progress` meanwhile with the events so far and all of that session. Stop the writers of `source` before:
    events that follow the copy of a log are not copied. `on_cut` is called with the id of each session that was copied
    in the middle of a turn.

    Raises:
        StoreError: One of the stores failed; the sessions before are copied. `session_differs`: all are copied but
            some that the target has with another number of events; those are left as they are there. `unreadable`,
            `damaged`: all but some that the source cannot read.
    """
    # What earlier copies have left.
    await target.prune_unprompted(-math.inf)
    count, cursor = 0, None
    differing: list[StoreError] = []
    while True:
        page = await source.list_sessions(cursor=cursor, principal=principal)
        for record in page.records:
            owner = record.principal if target_principal is None else target_principal
            wanted = msgspec.structs.replace(record, principal=owner)
            try:
                is_new = await _copied(source, target, wanted, event_progress, on_cut, extend=extend)
            except StoreError as error:
                if error.reason not in _OF_ONE_SESSION:
                    raise
                differing.append(StoreError(str(error), reason=error.reason, session_id=record.id))
                continue
            count += is_new
            if is_new and progress is not None:
                progress(count, record.id)
        differing += map(_left_out, page.left_out)
        cursor = page.next_cursor
        if cursor is None:
            break
    if differing:
        some = "; ".join(map(str, differing[:_NAMED]))
        sentence = f"{count} sessions were copied, {len(differing)} were not: {some}"
        raise StoreError(sentence, reason=differing[0].reason, session_id=differing[0].session_id)
    return count


def _left_out(session_id: str) -> StoreError:
    return StoreError(f"the record of {session_id!a} cannot be read", reason="unreadable", session_id=session_id)


class _WatchedSource:
    """A source that notes the last state in the events that were read."""

    def __init__(self, source: SessionSource) -> None:
        self._source = source
        self.last_state: str = "idle"

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        page = await self._source.read_page(session_id, after)
        for event in page:
            if isinstance(event, StateChanged):
                self.last_state = event.state
        return page

    async def state(self, session_id: str) -> bytes | None:
        return await self._source.state(session_id)


async def _copied(
    source: SessionSource,
    target: Store,
    record: SessionRecord,
    progress: Callable[[int, int], None] | None,
    on_cut: Callable[[str], None] | None,
    *,
    extend: bool,
) -> bool:
    watched, is_new = _WatchedSource(source), True
    try:
        is_new = await copy_session(watched, target, record, progress)
    except StoreError as error:
        if error.reason != "session_differs" or not extend or not await _extended(watched, target, record):
            raise
    if is_new and on_cut is not None and watched.last_state != "idle":
        on_cut(record.id)
    return is_new


async def _extended(source: SessionSource, target: Store, record: SessionRecord) -> bool:
    """Append the events that the source has behind the log of the target; False where that is not its beginning."""
    kept = await target.read(record.id)
    position = 0
    await target.acquire(record.id)
    try:
        while page := await source.read_page(record.id, position):
            known = kept[position : position + len(page)]
            if known != page[: len(known)]:
                return False
            position += len(page)
            if len(known) < len(page):
                await target.append(record.id, page[len(known) :])
        if position < len(kept):
            return False
        last = await source.state(record.id)
        await target.patch(record.id, title=record.title, updated_at=record.updated_at, state=last)
        return True
    finally:
        await target.release(record.id)


async def copy_session(
    source: SessionSource,
    target: Store,
    record: SessionRecord,
    progress: Callable[[int, int], None] | None = None,
) -> bool:
    """Copy the session of the record, whose `events` is the length of its log; False where the target has it already.

    It is a draft until its last event and its state are in. One that another process has left is replaced.

    Raises:
        StoreError: One of the stores failed, and the target has nothing of it. `session_differs`: the target has this
            id with another number of events, which it keeps. `in_use`: it is being copied already.
    """
    if await _is_there(target, record):
        return False
    draft_id = DRAFT + record.id
    await _create_draft(target, msgspec.structs.replace(record, id=draft_id, events=0))
    position = 0
    try:
        while events := await source.read_page(record.id, position):
            position = await target.append(draft_id, events)
            if progress is not None:
                progress(position, record.events)
        state = await source.state(record.id)
        if state is not None:
            await target.patch(draft_id, state=state)
        await target.publish(draft_id, record.id)
    except BaseException as error:
        # One that cannot be deleted is still a draft.
        with contextlib.suppress(StoreError):
            await asyncio.shield(target.delete(draft_id))
        # Another process may have copied or made it meanwhile.
        if not isinstance(error, StoreError) or error.reason != "session_exists" or not await _is_there(target, record):
            raise
        return False
    finally:
        with contextlib.suppress(StoreError):
            await target.release(draft_id)
    return True


async def _is_there(target: Store, record: SessionRecord) -> bool:
    found = await target.get(record.id)
    if found is not None and found.events != record.events:
        sentence = f"{record.id} is there already, with {found.events} events and not {record.events}"
        raise StoreError(sentence, reason="session_differs", session_id=record.id)
    return found is not None


async def _create_draft(target: Store, record: SessionRecord) -> None:
    """Create a draft that this process owns, also in place of one that has no owner any more."""
    try:
        await target.create(record, owned=True)
    except StoreError as error:
        if error.reason != "session_exists":
            raise
        try:
            is_first = await target.acquire(record.id)
            try:
                if not is_first:
                    raise StoreError("", reason="in_use")
                await target.delete(record.id)
            finally:
                await target.release(record.id)
            await target.create(record, owned=True)
        except StoreError as again:
            if again.reason not in {"in_use", "session_exists", "unknown_session"}:
                raise
            name = record.id.removeprefix(DRAFT)
            sentence = f"{name} is being copied by another process: wait for its end, and try again"
            raise StoreError(sentence, reason="in_use", session_id=name) from again
