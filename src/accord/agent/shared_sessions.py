"""Sessions that several connections of one agent may have open at the same time, and that may outlive all of them.

A session has one log, one turn at a time and one publisher; `session_clients` has the clients of each.
"""

from __future__ import annotations

import asyncio
import contextlib
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
INSERTION_SECONDS = 0.05
# Beyond the grace of a handler that ignores its cancellation.
INTERRUPT_SECONDS = scaled(10.0)


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
        self._handing_over: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End the turns that go on without a client; sessions that are handed over are released."""
        for task in self._tasks - self._handing_over:
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
            self._start_task(self._end(live))

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def hand_over(self, wanted: Callable[[str], bool], on_released: Callable[[str], object]) -> list[str]:
        """Close the wanted sessions that have no turn and release them, for another process; their ids at once.

        `on_released` is called with each when another process may have it. Clients that use one here get errors.
        """
        handed = [
            live
            for session_id, live in self._live.items()
            # A session without a client is ended by the task that waits for its turn.
            if live.is_ready
            and live.runner.is_free
            and not self._is_detached(live)
            and wanted(session_id)
            # One that is being opened or closed has its lock held.
            and not self._lock(session_id).locked()
        ]
        for live in handed:
            del self._live[live.session.id]
            live.is_lost = True
            task = self._start_task(self._hand_over(live, on_released))
            self._handing_over.add(task)
            task.add_done_callback(self._handing_over.discard)
        return [live.session.id for live in handed]

    async def _hand_over(self, live: OpenSession, on_released: Callable[[str], object]) -> None:
        async with self._lock(live.session.id):
            await self._close(live)
            await self._release(live)
        on_released(live.session.id)

    async def interrupt(self, failure: Callable[[str, bool], Exception]) -> list[str]:
        """End every running turn with an error, in its log and then in the answer to its prompt; their sessions.

        `failure` makes the error; it gets the session, and whether its turn waits for an answer of a person.
        """
        busy = [live for live in self._live.values() if not live.runner.is_free]
        try:
            async with asyncio.timeout(INTERRUPT_SECONDS):
                await asyncio.gather(*(self._interrupt(live, failure) for live in busy))
        except TimeoutError:
            log.warning("a turn could not be ended in time: the next owner of its session ends it in the log")
        return [live.session.id for live in busy]

    async def _interrupt(self, live: OpenSession, failure: Callable[[str, bool], Exception]) -> None:
        clients = live.clients
        asks = live.runner.snapshot.state == "requires_action" or (clients is not None and clients.asks)
        error = failure(live.session.id, asks)
        while not live.runner.is_free:
            live.runner.fail(error)
            # A prompt that is just being inserted has no turn yet that could be ended.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(INSERTION_SECONDS):
                    await live.runner.next_end()

    @property
    def running(self) -> set[str]:
        """The sessions with a turn that is not over, those left out that ask something and have no client."""
        return {
            session_id
            for session_id, live in self._live.items()
            if live.runner.snapshot.state != "idle" and not (live.clients is not None and live.clients.is_forsaken)
        }

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
        self._start_task(end())
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
        # First, so that it can be acquired again: what is left of this one is cut off from the store.
        async with self._lock(live.session.id):
            await self._release(live)
        while not live.runner.is_free:
            await live.runner.next_end()
        # Not before: the prompts of a session that is being closed are answered as cancelled, and these failed.
        await self._close(live)

    async def _close(self, live: OpenSession) -> None:
        try:
            live.runner.feed(CloseRequested())
            await live.runner.closed.wait()
            await live.runner.stop()
            await live.session._close()
        except Exception:
            log.exception("a session that this process gave up could not be ended cleanly")

    async def _release(self, live: OpenSession) -> None:
        try:
            if live.session._store is not None:
                await live.session._store.release(live.session.id)
        except StoreError as error:
            log.warning("a session could not be released, it is free after the lease of this process: %s", error)

    def _lock(self, session_id: str) -> asyncio.Lock:
        """The lock of one session id: openings and closings of a session exclude each other."""
        lock = self._locks.get(session_id)
        if lock is None:
            lock = self._locks[session_id] = asyncio.Lock()
        return lock
