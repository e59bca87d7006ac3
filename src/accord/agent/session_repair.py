"""The repair of a session's log behind a commit that failed: the session is claimed again, and the log ended.

A commit whose result is not known may still take effect. So the session is released and acquired: a late statement of
the earlier claim does nothing then. What is open in the log is ended before anything else is written to it. Events that
were committed although that seemed to fail are not sent: a client that loads the session gets them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Protocol

from accord.agent.kept_sessions import healing, outlined
from accord.agent.request_errors import work_error
from accord.agent.session import Session
from accord.errors import StoreError
from accord.stores.interface import Store

__all__ = ["SessionRepair"]

log = logging.getLogger("accord.agent")

# How long to wait before a log that could not be written is tried again, the first time and at most.
FIRST_SECONDS, MAX_SECONDS = 0.25, 4.0
# A session that another process may own by now is claimed again only where a client wants it.
_LOST = frozenset({"lost", "not_owned", "in_use"})


class Turns(Protocol):
    """The turns of the session: see `TurnRunner`."""

    @property
    def is_free(self) -> bool: ...

    async def next_end(self) -> None: ...

    def _start_task(self, work: Any) -> asyncio.Task[Any]: ...


class SessionRepair:
    """Repairs the log of one open session: by itself, and before anything that needs the log."""

    def __init__(self, session: Session, store: Store, turns: Turns) -> None:
        self._session = session
        self._store = store
        self._turns = turns
        self._lock = asyncio.Lock()
        self._trying: asyncio.Task[None] | None = None
        self.is_lost = False
        """Whether this process owns the session no more, and must not claim it for its present clients."""
        self.on_taken: Callable[[], None] = lambda: None
        """Called where another process turns out to own it."""

    async def run(self) -> None:
        """Repair the log, if a commit has failed.

        Raises:
            StoreError: It is not possible yet, or the session is lost.
        """
        publisher = self._session._publisher
        async with self._lock:
            failure = publisher.failure
            if failure is None:
                return
            if self.is_lost:
                raise failure
            try:
                await self._claim_and_end(failure)
            except StoreError as error:
                if error.reason == "in_use":
                    self.on_taken()
                raise
            if self.is_lost:
                # Meanwhile: what is to be released was released before this claim.
                await self._store.release(self._session.id)
                raise publisher.failure or failure
            publisher.resume()

    async def _claim_and_end(self, failure: Exception) -> None:
        session, store = self._session, self._store
        await store.release(session.id)
        await store.acquire(session.id)
        missing = healing(await outlined(store, session.id), work_error(failure), session._background)
        if missing:
            await store.append(session.id, missing)

    async def run_behind_turn(self) -> None:
        """The same before the log is replayed: behind the end of the turn whose commit failed."""
        while self._session._publisher.failure is not None and not self._turns.is_free:
            # The next prompt may be repairing it, and its turn take long.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._turns.next_end(), FIRST_SECONDS)
        await self.run()

    def run_later(self) -> None:
        """Repair it as soon as that is possible: until then the log may show a turn without an end."""
        failure = self._session._publisher.failure
        is_lost = isinstance(failure, StoreError) and failure.reason in _LOST
        if failure is not None and not is_lost and (self._trying is None or self._trying.done()):
            self._trying = self._turns._start_task(self._try())

    async def _try(self) -> None:
        pause = FIRST_SECONDS
        while self._session._publisher.failure is not None:
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_SECONDS)
            if self._turns.is_free:
                try:
                    await self.run()
                except Exception as error:  # noqa: BLE001 - whatever a store raises, it may work later
                    log.debug("the log of a session cannot be continued yet: %s", error)

    async def touch(self) -> None:
        """Note the use of the session by a prompt; one that was lost unnoticed is claimed again first."""
        publisher = self._session._publisher
        if publisher.failure is None:
            try:
                await self._session._touch()
            except StoreError as error:
                if error.reason != "not_owned":
                    raise
                publisher.cut_off(error)
            else:
                return
        await self.run()
        await self._session._touch()
