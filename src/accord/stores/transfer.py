"""The copy of sessions from one store to another: from SQLite to PostgreSQL, and back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from accord.errors import StoreError
from accord.stores.interface import Store

__all__ = ["copy_sessions"]


async def copy_sessions(
    source: Store,
    target: Store,
    *,
    principal: str | None = None,
    target_principal: str | None = None,
    progress: Callable[[int, str], None] | None = None,
) -> int:
    """Copy every session of `source` into `target`: record, log and state, the last updated first; returns how many.

    With `principal` only that one's; with `target_principal` they belong to that one in the target. A session whose id
    the target has already is left as it is there. Each is complete or not there: one that fails half way is deleted
    again. `progress` is called after each with the number so far and the id. Stop the writers of `source` before:
    events that follow the copy of a log are not copied.

    Raises:
        StoreError: One of the stores failed; the sessions before are copied.
    """
    count, cursor = 0, None
    while True:
        page = await source.list_sessions(cursor=cursor, principal=principal)
        for record in page.records:
            owner = record.principal if target_principal is None else target_principal
            try:
                await target.create(msgspec.structs.replace(record, principal=owner, events=0), owned=True)
            except StoreError as error:
                if error.reason != "session_exists":
                    raise
                continue
            try:
                await _copy_log(source, target, record.id)
            except BaseException:
                await target.delete(record.id)
                raise
            finally:
                await target.release(record.id)
            count += 1
            if progress is not None:
                progress(count, record.id)
        cursor = page.next_cursor
        if cursor is None:
            return count


async def _copy_log(source: Store, target: Store, session_id: str) -> None:
    position = 0
    while events := await source.read_page(session_id, position):
        position += len(events)
        await target.append(session_id, events)
    state = await source.state(session_id)
    if state is not None:
        await target.patch(session_id, state=state)
