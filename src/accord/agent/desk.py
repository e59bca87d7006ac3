"""A client's sessions: opened, found again, listed, closed and forgotten, with the store behind them."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from accord.agent.asker import Asker
from accord.agent.book import Book, called
from accord.agent.client import Client
from accord.agent.fault import store_fault, unknown_session
from accord.agent.foreground import Foreground
from accord.agent.outlet import Outlet
from accord.agent.session import Session, new_id
from accord.connection import Connection
from accord.errors import InvalidParams, LocalProtocolError, StoreError
from accord.protocol.model import Unknown
from accord.session.ability import AgentAbilities
from accord.session.ask import (
    ForkSession,
    ListSessions,
    McpServer,
    NewSession,
    ReopenSession,
    SessionOpened,
    SessionsListed,
    SessionSummary,
)
from accord.session.dialect import Dialect
from accord.session.event import ConfigChanged, Event, StateChanged, ToolChanged, WorkError
from accord.session.transcript import Transcript
from accord.session.turn_input import CloseAsked, ConnectionLost
from accord.stores.interface import SessionRecord, Store

__all__ = ["Desk"]

log = logging.getLogger("accord.agent")

PAGE = 50


class _Opening(Protocol):
    """What every way of opening a session says about its place."""

    @property
    def cwd(self) -> str: ...
    @property
    def roots(self) -> list[str]: ...
    @property
    def servers(self) -> list[McpServer | Unknown]: ...


class _Live:
    """A session that is open here, and its turns."""

    __slots__ = ("foreground", "record", "session")

    def __init__(self, session: Session, foreground: Foreground, record: SessionRecord) -> None:
        self.session = session
        self.foreground = foreground
        self.record = record


class Desk:
    """The sessions of one connection."""

    def __init__(
        self,
        book: Book,
        store: Store | None,
        asker: Asker,
        connection: Connection,
        served: AgentAbilities,
        *,
        grace_seconds: float,
    ) -> None:
        self._book = book
        self._store = store
        self._asker = asker
        self._connection = connection
        self._served = served
        self._grace_seconds = grace_seconds
        self._client: Client | None = None
        self._dialect: Dialect | None = None
        self._live: dict[str, _Live] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    @property
    def has_store(self) -> bool:
        """Whether sessions are kept."""
        return self._store is not None

    def meet(self, client: Client, dialect: Dialect) -> None:
        """The client introduced itself."""
        self._client, self._dialect = client, dialect

    # --- finding

    def find(self, session_id: str) -> Session | None:
        """The session, if it is open here."""
        live = self._live.get(session_id)
        return None if live is None else live.session

    def session(self, session_id: str) -> Session:
        """The session.

        Raises:
            ResourceNotFound: It is not open here.
        """
        live = self._live.get(session_id)
        if live is None:
            raise unknown_session(session_id)
        return live.session

    def foreground(self, session_id: str) -> Foreground | None:
        """The session's turns, if it is open here."""
        live = self._live.get(session_id)
        return None if live is None else live.foreground

    # --- opening

    async def new(self, ask: NewSession) -> SessionOpened:
        """A session that nobody has seen before."""
        roots, servers = self._check(ask)
        now = time.time()
        record = SessionRecord(new_id("session"), roots[0], now, now, roots=tuple(roots[1:]))
        if self._store is not None:
            await self._store.create(record)
        live = self._make(record, roots, ask.meta)
        return await self._open(live, servers)

    async def fork(self, ask: ForkSession) -> SessionOpened:
        """A session that begins as a copy of another."""
        roots, servers = self._check(ask)
        store = self._kept()
        now = time.time()
        record = SessionRecord(new_id("session"), roots[0], now, now, roots=tuple(roots[1:]))
        origin = self._live.get(ask.session_id)
        if origin is not None:
            await origin.session.outlet.settle()
        try:
            await store.fork(ask.session_id, record)
        except StoreError as error:
            raise store_fault(error, ask.session_id) from error
        live = self._make(record, roots, ask.meta)
        await self._remember(live, store, replay=False)
        return await self._open(live, servers)

    async def reopen(self, ask: ReopenSession) -> SessionOpened:
        """A session from before: kept in the store, or still open here."""
        roots, servers = self._check(ask)
        # Two at once for one session would be two sessions.
        async with self._opening.setdefault(ask.session_id, asyncio.Lock()):
            try:
                return await self._reopen(ask, roots, servers)
            finally:
                self._opening.pop(ask.session_id, None)

    async def _reopen(self, ask: ReopenSession, roots: list[str], servers: list[McpServer]) -> SessionOpened:
        live = self._live.get(ask.session_id)
        record = live.record if live is not None else None
        if self._store is not None:
            record = await self._store.get(ask.session_id)
        if record is None:
            raise unknown_session(ask.session_id)
        if not _same(record.cwd, roots[0]):
            raise InvalidParams("The session belongs to another directory", {"field": "cwd", "expected": record.cwd})
        if live is not None:
            live.session.outlet.hold()
            try:
                await self._show_again(live, replay=ask.replay)
                return self._opened(live)
            finally:
                asyncio.get_running_loop().call_soon(live.session.outlet.release)
        live = self._make(record, roots, ask.meta)
        live.session.title = record.title
        await self._remember(live, self._kept(), replay=ask.replay)
        return await self._open(live, servers)

    async def _remember(self, live: _Live, store: Store, *, replay: bool) -> None:
        """Bring back what the session was: its conversation, its settings, its author's state."""
        session = live.session
        transcript = Transcript(await store.read(session.id))
        healing = _healing(transcript)
        if healing:
            await store.append(session.id, healing)
            for event in healing:
                transcript.fold(event)
        state = await store.state(session.id)
        session.state = None if state is None else msgspec.json.decode(state)
        session.settings.restore(transcript.config)
        await self._tell_history(live, transcript, replay=replay)

    async def _show_again(self, live: _Live, *, replay: bool) -> None:
        if self._store is None:
            await live.session.outlet.replay([live.foreground.snapshot], live.session.outlet.voice)
            return
        await self._tell_history(live, Transcript(await self._store.read(live.session.id)), replay=replay)

    async def _tell_history(self, live: _Live, transcript: Transcript, *, replay: bool) -> None:
        dialect, client = self._met()
        voice = dialect.voice(client.abilities)
        events = transcript.events(states=False)
        if not replay:
            for event in events:
                voice.say(event)
            events = []
        await live.session.outlet.replay([*events, live.foreground.snapshot], voice)

    def _make(self, record: SessionRecord, roots: Sequence[str], meta: dict[str, Any] | None) -> _Live:
        dialect, client = self._met()
        session = Session(record.id, roots, client, self._asker, self._book, self._store, meta)
        foreground = Foreground(session, self._asker, self._book, dialect, grace_seconds=self._grace_seconds)
        voice = dialect.voice(client.abilities)
        session.outlet = Outlet(record.id, dialect, voice, self._connection, self._store, foreground.store_failed)
        live = _Live(session, foreground, record)
        # Nothing of the session may leave before the answer that names it.
        session.outlet.hold()
        return live

    async def _open(self, live: _Live, servers: list[McpServer]) -> SessionOpened:
        session = live.session
        self._live[session.id] = live
        try:
            session.connect_servers(servers)
            for handler in self._book.on_session:
                await called(handler, session)
            opened = self._opened(live)
        except BaseException:
            del self._live[session.id]
            await asyncio.shield(session.close())
            raise
        dialect, _ = self._met()
        for event in dialect.left_over(opened):
            session.outlet.tell_soon(event, keep=False)
        # The answer is sent in the very step in which we return it: what is released after that comes behind it.
        asyncio.get_running_loop().call_soon(session.outlet.release)
        return opened

    def _opened(self, live: _Live) -> SessionOpened:
        session = live.session
        options = session.offered
        session.outlet.voice.say(ConfigChanged(list(session.settings.options)))  # to nobody: the answer says it
        return SessionOpened(session.id, options, session.commands, self._book.models)

    # --- the rest

    async def page(self, ask: ListSessions) -> SessionsListed:
        """One page of the sessions; without a store, those that are open here."""
        if ask.cwd is not None:
            _check_path(ask.cwd, "cwd")
        if self._store is None:
            if ask.cursor is not None:
                raise InvalidParams("There is one page only", {"field": "cursor", "expected": "no cursor"})
            records = [live.record for live in self._live.values() if ask.cwd in (None, live.record.cwd)]
            return SessionsListed([_summary(record) for record in records])
        page = await self._store.list_sessions(cwd=ask.cwd, cursor=ask.cursor, limit=PAGE)
        return SessionsListed([_summary(record) for record in page.records], page.next_cursor)

    async def close_session(self, session_id: str) -> None:
        """End the session's work and free what it holds; one that is not open is closed already."""
        live = self._live.get(session_id)
        if live is None:
            return
        live.foreground.feed(CloseAsked())
        await live.foreground.closed.wait()
        await live.session.outlet.settle()
        if self._live.get(session_id) is live:
            del self._live[session_id]
        await self._end(live)

    async def delete(self, session_id: str) -> None:
        """Forget the session; one that is not there is forgotten already."""
        await self.close_session(session_id)
        await self._kept().delete(session_id)

    async def close(self) -> None:
        """The client is gone: end everything, bounded in time."""
        lives, self._live = list(self._live.values()), {}
        for live in lives:
            live.foreground.feed(ConnectionLost())
        await asyncio.gather(*(self._end_lost(live) for live in lives))

    async def _end_lost(self, live: _Live) -> None:
        try:
            async with asyncio.timeout(self._grace_seconds + 1.0):
                await live.foreground.closed.wait()
        except TimeoutError:
            log.warning("a session did not end in time after its client was gone")
        await self._end(live)

    async def _end(self, live: _Live) -> None:
        try:
            await live.foreground.stop()
            await live.session.close()
        except Exception:
            log.exception("a session could not be ended cleanly")

    # --- checks

    def _met(self) -> tuple[Dialect, Client]:
        if self._dialect is None or self._client is None:
            raise LocalProtocolError("no client has introduced itself yet")
        return self._dialect, self._client

    def _kept(self) -> Store:
        if self._store is None:
            raise LocalProtocolError("this agent keeps nothing")
        return self._store

    def _check(self, ask: _Opening) -> tuple[list[str], list[McpServer]]:
        """The roots and the servers of a session.

        Raises:
            InvalidParams: A root is relative, or a server is one that this agent cannot reach.
        """
        _check_path(ask.cwd, "cwd")
        for place, root in enumerate(ask.roots):
            _check_path(root, f"additionalDirectories.{place}")
        servers: list[McpServer] = []
        for place, server in enumerate(ask.servers):
            if isinstance(server, Unknown) or server.type not in self._served.mcp:
                expected = f"one of {', '.join(sorted(self._served.mcp))}"
                raise InvalidParams(
                    "This agent cannot reach such an MCP server",
                    {"field": f"mcpServers.{place}.type", "expected": expected},
                )
            servers.append(server)
        return [ask.cwd, *ask.roots], servers


def _check_path(path: str, field: str) -> None:
    if not Path(path).is_absolute() or "\0" in path:
        raise InvalidParams("The path must be absolute", {"field": field, "expected": "an absolute path"})


def _same(one: str, other: str) -> bool:
    return os.path.normpath(one) == os.path.normpath(other)


def _summary(record: SessionRecord) -> SessionSummary:
    updated_at = datetime.fromtimestamp(record.updated_at, UTC).isoformat(timespec="milliseconds")
    return SessionSummary(record.id, record.cwd, list(record.roots), record.title, updated_at.replace("+00:00", "Z"))


def _healing(transcript: Transcript) -> list[Event]:
    """What is missing at the end of a log whose process died in the middle of a turn: an end for what was going on."""
    events: list[Event] = [
        ToolChanged(call.id, status="failed") for call in transcript.tool_calls.values() if not call.finished
    ]
    if transcript.state != "idle":
        error = WorkError(-32603, "The agent stopped before the turn was over")
        events.append(StateChanged("idle", "error", error))
    return events
