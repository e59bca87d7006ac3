"""The session registry of one client: opens, finds, reopens, lists, closes and deletes sessions, with their store."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, TypeAlias
from weakref import WeakValueDictionary

from accord.agent.client import Client, ClientCaller
from accord.agent.kept_sessions import SessionList, cursor_of, learned, outlined, released, reopened, restored
from accord.agent.registrations import Registrations
from accord.agent.request_errors import lost_session, unknown_session
from accord.agent.session import Session, new_id
from accord.agent.session_clients import Attachment, SessionClients, SharedPublisher, publisher_of
from accord.agent.session_paths import check_session_params, same_directory
from accord.agent.shared_sessions import OpenSession, SharedSessions
from accord.agent.turn_runner import TurnRunner
from accord.connection import Connection
from accord.errors import InvalidParams, LocalProtocolError, ResourceNotFound, SessionInUse, StoreError
from accord.session.capability import AgentCapabilities
from accord.session.client_requests import (
    ForkSession,
    ListSessions,
    McpServer,
    NewSession,
    ReopenSession,
    SessionOpened,
    SessionsListed,
)
from accord.session.dialect import Dialect
from accord.session.event import ConfigChanged
from accord.session.replay import Outline
from accord.session.turn_io import ClientLost, CloseRequested
from accord.stores.interface import SessionRecord, Store

__all__ = ["InUse", "SessionRegistry"]

log = logging.getLogger("accord.agent")

InUse: TypeAlias = Literal["error", "read_only"]
"""The result for a client that opens a session which another process has open."""


class SessionRegistry:
    def __init__(  # noqa: PLR0913 - what an agent has, passed on
        self,
        registrations: Registrations,
        store: Store | None,
        caller: ClientCaller,
        connection: Connection,
        served: AgentCapabilities,
        *,
        grace_seconds: float,
        in_use: InUse = "error",
        shared: SharedSessions | None = None,
        principal: str | None = None,
    ) -> None:
        self._registrations = registrations
        self._store = store
        self._caller = caller
        self._connection = connection
        self._served = served
        self._grace_seconds = grace_seconds
        self._in_use = in_use
        self._client: Client | None = None
        self._dialect: Dialect | None = None
        self._live: dict[str, OpenSession] = {}
        self._list = SessionList(store, principal)
        self._principal = principal
        """The principal of the client, where the store keeps it; None: every session may be opened."""
        self._lost: set[str] = set()
        """Sessions that were open here until this process lost them."""
        self._shared = shared
        self._attachments: dict[str, Attachment] = {}
        """The attachment of this client to each of its sessions that others may share."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary() if shared is None else shared._locks

    @property
    def has_store(self) -> bool:
        return self._store is not None

    def meet(self, client: Client, dialect: Dialect) -> None:
        self._client, self._dialect = client, dialect

    # --- finding

    def _get(self, session_id: str) -> OpenSession | None:
        """The session, if it is open here; another client that shares it may have closed it."""
        live = self._live.get(session_id)
        if live is not None and (live.session.is_closed or live.is_lost):
            self._live.pop(session_id)
            self._attachments.pop(session_id, None)
            if live.is_lost:
                self._lost.add(session_id)
            return None
        return live

    def unknown(self, session_id: str) -> ResourceNotFound:
        """The error for a session that is not open here; it says so where it was, and was lost."""
        return lost_session(session_id) if session_id in self._lost else unknown_session(session_id)

    def find(self, session_id: str) -> Session | None:
        live = self._get(session_id)
        return None if live is None else live.session

    def session(self, session_id: str) -> Session:
        """The session, to be changed.

        Raises:
            ResourceNotFound: It is not open here.
            SessionInUse: It is, but as a view.
        """
        live = self._get(session_id)
        if live is None:
            raise self.unknown(session_id)
        if live.is_view:
            raise SessionInUse(session_id)
        return live.session

    def runner(self, session_id: str) -> TurnRunner | None:
        """The session's turn runner, if its opening is complete and it is no view."""
        live = self._get(session_id)
        return None if live is None or live.is_view or not live.is_ready else live.runner

    async def settled(self, session_id: str) -> TurnRunner | None:
        """The same, after a concurrent opening or closing of the session."""
        lock = self._locks.get(session_id)
        if lock is not None:
            async with lock:
                pass
        live = self._get(session_id)
        if live is not None and live.is_view:
            raise SessionInUse(session_id)
        return self.runner(session_id)

    # --- opening

    @property
    def _transports(self) -> frozenset[str]:
        """Of MCP servers: those that are served, and those that the edition has every agent take."""
        dialect, _ = self._met()
        return self._served.mcp | dialect.baseline_transports

    async def new(self, request: NewSession) -> SessionOpened:
        roots, servers = check_session_params(request, self._transports)
        now = time.time()
        record = SessionRecord(
            new_id("session"), roots[0], now, now, roots=tuple(roots[1:]), principal=self._principal or ""
        )
        try:
            if self._store is not None:
                await self._list.prune()
                await self._store.create(record, owned=True)
            return await self._open(self._make(record, roots, request.meta), servers)
        except BaseException:
            await asyncio.shield(self._forget(record.id))
            raise

    async def fork(self, request: ForkSession) -> SessionOpened:
        """A session that begins as a copy of another."""
        roots, servers = check_session_params(request, self._transports)
        store = self._kept()
        origin = self._live.get(request.session_id)
        if origin is not None:
            await origin.session._publisher.flush()
        parent = await self._record(request.session_id)
        now = time.time()
        record = SessionRecord(
            new_id("session"), roots[0], now, now, parent.title, tuple(roots[1:]), principal=self._principal or ""
        )
        try:
            await store.fork(request.session_id, record, owned=True)
            live = self._make(record, roots, request.meta)
            # A turn that still runs in the source is an interrupted turn in the copy.
            await learned(live.session, store, await restored(live.session, store, heal=True))
            return await self._open(live, servers)
        except BaseException:
            await asyncio.shield(self._forget(record.id))
            raise

    async def reopen(self, request: ReopenSession) -> SessionOpened:
        """A session from before: kept in the store, or still open here."""
        roots, servers = check_session_params(request, self._transports)
        async with self._lock(request.session_id):
            live = self._get(request.session_id)
            shared = None if self._shared is None else self._shared._get(request.session_id)
            record = await self._record(request.session_id, live or shared)
            if not same_directory(record.cwd, roots[0]):
                expected = "the directory that the session was made with"
                raise InvalidParams("The session belongs to another directory", {"field": "cwd", "expected": expected})
            if live is not None and live.is_view:
                # Its owner process may have ended by now.
                await self._shut(request.session_id)
            elif live is not None:
                live.set_places(roots, servers)
                return await self._reopen_live(live, request)
            elif shared is not None:
                return await self._attach(shared, request)
            return await self._reopen_kept(request, roots, servers)

    async def _record(self, session_id: str, live: OpenSession | None = None) -> SessionRecord:
        record = live.record if live is not None else None
        if self._store is not None:
            record = await self._store.get(session_id)
        if record is None or not self._is_own(record):
            raise unknown_session(session_id)
        return record

    def _is_own(self, record: SessionRecord) -> bool:
        """Whether the client may have the session: another principal's counts as unknown."""
        return self._principal is None or record.principal == self._principal

    async def _reopen_kept(self, request: ReopenSession, roots: list[str], servers: list[McpServer]) -> SessionOpened:
        store = self._kept()
        try:
            first = await store.acquire(request.session_id)
        except StoreError as error:
            if self._in_use != "read_only" or error.reason not in {"in_use", "read_only"}:
                raise
            return await self._view(request, roots, store)
        try:
            # Read when it is ours: another process may have changed the title until then.
            live = self._make(await self._record(request.session_id), roots, request.meta)
            await self._replay_history(live, store, await restored(live.session, store, heal=first), request)
            return await self._open(live, servers, known=True)
        except BaseException as error:
            await asyncio.shield(released(self._store, request.session_id))
            if isinstance(error, StoreError) and error.reason == "not_owned":
                raise lost_session(request.session_id) from error
            raise

    async def _view(self, request: ReopenSession, roots: list[str], store: Store) -> SessionOpened:
        """The history as it is now, of a session that another process works on: nothing is healed, kept or prepared."""
        live = self._make(await self._record(request.session_id), roots, request.meta, is_view=True)
        await self._replay_history(live, store, await restored(live.session, store, heal=False), request)
        self._live[request.session_id] = live
        return await self._answer(live, known=True)

    async def _reopen_live(self, live: OpenSession, request: ReopenSession) -> SessionOpened:
        publisher = live.session._publisher
        if isinstance(publisher, SharedPublisher):
            publisher.target = self._attachments[live.session.id].view
        if live.runner.repair is not None:
            await live.runner.repair.run_behind_turn()
        try:
            await publisher.pause()
            if self._store is None:
                await publisher.replay([live.runner.snapshot], publisher.encoder)
            else:
                store, outline = self._store, await outlined(self._store, live.session.id)
                await self._replay_history(live, store, outline, request)
            return await self._answer(live, known=True)
        except BaseException:
            publisher.release()
            raise

    async def _attach(self, live: OpenSession, request: ReopenSession) -> SessionOpened:
        """Open a session that another client has open: from now on both have it."""
        session_id, (dialect, client) = live.session.id, self._met()
        clients = live.clients
        if clients is None or live.dialect.edition is not dialect.edition:
            # Its turns are answered by the rules of the edition that it was opened in.
            raise SessionInUse(session_id)
        attachment = Attachment.make(session_id, dialect, client, self._caller, self._connection)
        self._live[session_id], self._attachments[session_id] = live, attachment
        try:
            opened = await self._reopen_live(live, request)
        except BaseException:
            del self._live[session_id], self._attachments[session_id]
            raise
        # Its publisher still holds what happened meanwhile: the new client gets all of it.
        clients.attach(attachment)
        live.session.client = client
        asyncio.get_running_loop().call_soon(clients.ask_open, attachment)
        return opened

    async def _replay_history(self, live: OpenSession, store: Store, outline: Outline, request: ReopenSession) -> None:
        """Replay what the client asks for, or only let the encoder learn it; then send the current state."""
        dialect, client = self._met()
        publisher = live.session._publisher
        encoder = dialect.encoder(client.capabilities)
        encoder.client_terminals |= publisher.encoder.client_terminals
        after = cursor_of(request)
        async for known, sent in reopened(store, live.session.id, outline, replay=request.replay, after=after):
            for event in known:
                encoder.encode(event)
            await publisher.replay(sent, encoder)
            if after is None and live.session.id not in self._live:
                # Only a client that has it open can still get chunks of an earlier message.
                encoder.forget_messages()
        await publisher.replay([live.runner.snapshot], encoder)

    def _make(
        self, record: SessionRecord, roots: Sequence[str], meta: dict[str, Any] | None, *, is_view: bool = False
    ) -> OpenSession:
        dialect, client = self._met()
        clients = None if self._shared is None or is_view else SessionClients()
        caller: ClientCaller = self._caller if clients is None else clients
        session = Session(record.id, roots, client, caller, self._registrations, self._store, meta)
        session.title = record.title
        runner = TurnRunner(session, caller, self._registrations, dialect, grace_seconds=self._grace_seconds)
        store = None if is_view else self._store
        attachment = Attachment.make(record.id, dialect, client, self._caller, self._connection)
        if clients is not None:
            self._attachments[record.id] = attachment
            clients.attach(attachment)
        session._publisher = publisher_of(attachment, clients, dialect, record.id, store, runner.store_failed)
        live = OpenSession(session, runner, record, dialect, is_view=is_view, clients=clients)
        if runner.repair is not None and self._shared is not None:
            runner.repair.on_taken = functools.partial(self._shared.lose, [record.id])
        # Nothing of the session may leave before the answer that names it.
        session._publisher.hold()
        return live

    async def _open(self, live: OpenSession, servers: list[McpServer], *, known: bool = False) -> SessionOpened:
        session = live.session
        self._live[session.id] = live
        self._lost.discard(session.id)
        if self._shared is not None:
            self._shared._live[session.id] = live
        try:
            if known and self._store is not None:
                # The claim may have been lost while the log was read, before a loss was anything to this session.
                await self._store.patch(session.id)
            session._connect_servers(servers)
            for handler in self._registrations.on_session:
                await self._registrations.threads.call(handler, session)
            return await self._answer(live, known=known)
        except BaseException:
            self._drop(session.id)
            await asyncio.shield(session._close())
            raise

    async def _answer(self, live: OpenSession, *, known: bool) -> SessionOpened:
        """The response that opens a session. Settings that it has no field for are sent as events.

        They are sent right before it where the client knows the session, and right behind it for a new one. Then the
        publisher is released.
        """
        session, (dialect, _) = live.session, self._met()
        meta = {"accord": {"readOnly": True}} if live.is_view else None
        opened = SessionOpened(session.id, session._offered, session.commands, self._registrations.models, meta)
        session._publisher.encoder.encode(
            ConfigChanged(list(session._settings.options))
        )  # not sent: the response has the options
        if known:
            await session._publisher.replay(dialect.leftover_events(opened), session._publisher.encoder)
        else:
            for event in dialect.leftover_events(opened):
                session._publisher.publish_soon(event, keep=False)
        # The answer is sent in the very step in which it is returned: events that are released later follow it.
        asyncio.get_running_loop().call_soon(session._publisher.release)
        live.is_ready = True
        return opened

    async def _forget(self, session_id: str) -> None:
        """Delete the record of a session whose opening failed, so that it is not listed."""
        if self._store is None:
            return
        try:
            await self._store.delete(session_id)
        except StoreError as error:
            log.warning("a session that could not be opened stays in the store: %s", error)
        await released(self._store, session_id)

    def _lock(self, session_id: str) -> asyncio.Lock:
        """The lock of one session id: openings and closings of a session exclude each other."""
        lock = self._locks.get(session_id)
        if lock is None:
            lock = self._locks[session_id] = asyncio.Lock()
        return lock

    # --- the rest

    async def page(self, request: ListSessions) -> SessionsListed:
        return await self._list.page(request, (live.current for live in self._live.values()))

    async def close_session(self, session_id: str) -> None:
        """End the session's work and free its resources; on a session that is not open this does nothing."""
        await self._alone(session_id, self._shut)

    async def delete(self, session_id: str) -> None:
        """Delete the session; one that does not exist is deleted already."""
        await self._alone(session_id, self._erase)

    async def _alone(self, session_id: str, end: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        lock = self._lock(session_id)
        await lock.acquire()
        # A close whose request is cancelled still happens: no session stays half closed.
        ending = asyncio.ensure_future(end(session_id))
        ending.add_done_callback(lambda _: lock.release())
        await asyncio.shield(ending)

    async def _erase(self, session_id: str) -> None:
        record = None if self._principal is None else await self._kept().get(session_id)
        if record is not None and not self._is_own(record):
            return  # as for a session that does not exist
        # Also where others have it open, and this client has not: their turn would wait for ever.
        await self._shut(session_id, None if self._shared is None else self._shared._get(session_id))
        await self._kept().delete(session_id)

    def _drop(self, session_id: str) -> None:
        self._live.pop(session_id, None)
        self._attachments.pop(session_id, None)
        if self._shared is not None:
            self._shared._live.pop(session_id, None)

    async def _shut(self, session_id: str, live: OpenSession | None = None) -> None:
        live = live or self._get(session_id)
        if live is None:
            return
        live.runner.feed(CloseRequested())
        await live.runner.closed.wait()
        try:
            await live.session._publisher.flush()
        except Exception as error:  # noqa: BLE001 - whatever could not be kept, it is over
            log.warning("the end of a session could not be kept: %s", error)
        self._drop(session_id)
        await self._end(live)

    async def close(self) -> None:
        """The client is gone: end every session that no other client has open, bounded in time."""
        lives = [live for live in self._live.values() if not live.session.is_closed and not live.is_lost]
        self._live = {}
        await asyncio.gather(*(self._end_lost(live) for live in lives if not self._leave(live)))

    def _leave(self, live: OpenSession) -> bool:
        """Whether the session goes on without this client: others have it open, or its turn may come to its end."""
        attachment, shared = self._attachments.pop(live.session.id, None), self._shared
        if shared is None or attachment is None:
            return False
        return shared._leave(live, attachment, lambda: self._end_detached(live, shared))

    async def _end_detached(self, live: OpenSession, shared: SharedSessions) -> None:
        """Wait for the end of a turn without a client; then end the session, unless a client has come."""
        async with self._registrations.threads.in_use(self._grace_seconds):
            try:
                await shared._wait(live)
            finally:
                if shared._is_abandoned(live):
                    await asyncio.shield(self._end_lost(live))

    async def _end_lost(self, live: OpenSession) -> None:
        live.runner.feed(ClientLost())
        try:
            async with asyncio.timeout(self._grace_seconds + 1.0):
                await live.runner.closed.wait()
        except TimeoutError:
            log.warning("a session did not end in time after its client was gone")
        await self._end(live)

    async def _end(self, live: OpenSession) -> None:
        try:
            await live.runner.stop()
            await live.session._close()
        except Exception:
            log.exception("a session could not be ended cleanly")
        finally:
            # A lost session was released at once, and may have been acquired again: that is not to be undone here.
            if not live.is_view and not live.is_lost:
                await asyncio.shield(released(self._store, live.session.id))

    # --- checks

    def _met(self) -> tuple[Dialect, Client]:
        if self._dialect is None or self._client is None:
            raise LocalProtocolError("no client has sent initialize yet")
        return self._dialect, self._client

    def _kept(self) -> Store:
        if self._store is None:
            raise LocalProtocolError("this agent keeps nothing")
        return self._store
