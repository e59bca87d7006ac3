"""A watcher for stores of one machine: looks for new events again and again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from accord.session.event import Event
from accord.stores.interface import Store

__all__ = ["poll_events"]

POLL_SECONDS = 0.05


async def poll_events(store: Store, session_id: str, after: int = 0) -> AsyncIterator[list[tuple[int, Event]]]:
    """The pages of a log behind position `after`, and then every later event, until the consumer stops.

    Raises:
        StoreError: The session does not exist, or not any more.
    """
    position = max(after, 0)
    while True:
        page = await store.read_page(session_id, position)
        if not page:
            await asyncio.sleep(POLL_SECONDS)
            continue
        yield list(enumerate(page, position + 1))
        position += len(page)
