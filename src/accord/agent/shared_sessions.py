"""Sessions that several connections of one agent may have open at the same time, and that may outlive all of them.

A session has one log, one turn at a time and one publisher; `session_clients` has the clients of each.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from accord.agent.session import Session
from accord.agent.session_clients import Attachment, SessionClients
from accord.agent.turn_runner import TurnRunner
from accord.errors import StoreError
from accord.session.client_requests import McpServer
from accord.session.dialect import Dialect
from accord.session.turn_io import CloseRequested
from accord.stores.interface import SessionRecord
from accord.time_scale import scaled

__all__ = ["OpenSession", "SharedSessions"]


class OpenSession:
    """A session that is open here, and its turns. A view has none: another process owns the session.

    `clients` are those that share it; None if it is one client's alone.
    """

    __slots__ = ("clients", "dialect", "is_lost", "is_ready", "is_view", "record", "runner", "session")

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
        self.is_ready = False
        """Whether its opening is complete, so that turns may begin."""
        self.is_lost = False
        """Whether this process owns it no more: its further events are neither kept nor sent."""

    def lose(self) -> None:
        """Another process may own the session from now on: end its turn with an error, and write nothing more.

        The same process may open it again at once, as another `OpenSession`; this one stays cut off.
        """
        self.is_lost = True
        if self.runner.repair is not None:
            self.runner.repair.is_lost = True
        error = StoreError("this process lost the session", reason="lost", session_id=self.session.id)
        self.session._publisher.cut_off(error)
        self.runner.store_failed(error)

    def set_places(self, roots: Sequence[str], servers: Sequence[McpServer]) -> None:
        """A client opens the session again: its lists are whole (v1 rule 17, v2 rule A26), and change no other's."""
        if self.clients is None or len(self.clients.attachments) == 1:
            self.session._set_roots(roots)
            self.session._connect_servers(servers, lambda: self.runner.is_free)

    @property
    def current(self) -> SessionRecord:
        """The record as it would be now, if it were kept."""
        return msgspec.structs.replace(
            self.record, title=self.session.title, updated_at=max(self.record.updated_at, self.session._touched_at)
        )


log = logging.getLogger("accord.agent")

DETACHED_SECONDS = scaled(3600.0)


class SharedSessions:
    """The open sessions of all connections that were served with it: give the same one to each call of `Agent.serve`.

    A connection that opens a session which another one has open is attached to it. With `keeps_turns` a turn goes on
    when its last client is gone, for `detached_seconds` at most; its questions wait for the next client.
    """

    def __init__(self, *, keeps_turns: bool = True, detached_seconds: float = DETACHED_SECONDS) -> None:
        self.keeps_turns: bool = keeps_turns
        """Whether a turn goes on without a client."""
        self._detached_seconds = detached_seconds
        self._live: dict[str, OpenSession] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End the turns that go on without a client."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def lose(self, session_ids: Iterable[str]) -> None:
        """This process owns the sessions no more, for example because its lease ended: stop their turns at once.

        Their clients get errors, and may open them again.
        """
        for session_id in session_ids:
            live = self._live.pop(session_id, None)
            if live is None:
                continue
            live.lose()
            task = asyncio.get_running_loop().create_task(self._end(live))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @property
    def running(self) -> int:
        """How many sessions have a turn that is not over, those left out that ask something and have no client."""
        return sum(
            live.runner.snapshot.state != "idle" and not (live.clients is not None and live.clients.is_forsaken)
            for live in self._live.values()
        )

    def __len__(self) -> int:
        return len(self._live)

    def _get(self, session_id: str) -> OpenSession | None:
        live = self._live.get(session_id)
        return None if live is None or live.session.is_closed else live

    def _leave(self, live: OpenSession, attachment: Attachment, end: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """A client of the session is gone; whether the session goes on. `end` ends it when its turn is over."""
        clients = live.clients
        if clients is None:
            return False
        clients.detach(attachment)
        if clients.attachments:
            live.session.client = clients.attachments[-1].client
            return True
        if not self.keeps_turns or live.runner.snapshot.state == "idle":
            self._live.pop(live.session.id, None)
            return False
        task = asyncio.get_running_loop().create_task(end())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _wait(self, live: OpenSession) -> None:
        """Wait until the turn of a session without clients is over, or a client has come, or it takes too long."""
        try:
            async with asyncio.timeout(self._detached_seconds):
                while self._is_detached(live) and live.runner.snapshot.state != "idle":
                    await live.runner.next_end()
        except TimeoutError:
            log.warning("a turn went on without a client for too long, and is cancelled")

    def _is_detached(self, live: OpenSession) -> bool:
        return live.clients is not None and not live.clients.attachments

    def _is_abandoned(self, live: OpenSession) -> bool:
        """Whether the session has to be ended: no client has come. Then none can any more."""
        if not self._is_detached(live) or live.session.is_closed:
            return False
        self._live.pop(live.session.id, None)
        return True

    async def _end(self, live: OpenSession) -> None:
        """End a session that was lost. Its turn ends within the grace of its runner."""
        try:
            # First, so that it can be acquired again: what is left of this one is cut off from the store.
            async with self._lock(live.session.id):
                if live.session._store is not None:
                    await live.session._store.release(live.session.id)
            while not live.runner.is_free:
                await live.runner.next_end()
            # Not before: the prompts of a session that is being closed are answered as cancelled, and these failed.
            live.runner.feed(CloseRequested())
            await live.runner.closed.wait()
            await live.runner.stop()
            await live.session._close()
        except Exception:
            log.exception("a session that was lost could not be ended cleanly")

    def _lock(self, session_id: str) -> asyncio.Lock:
        """The lock of one session id: openings and closings of a session exclude each other."""
        lock = self._locks.get(session_id)
        if lock is None:
            lock = self._locks[session_id] = asyncio.Lock()
        return lock
