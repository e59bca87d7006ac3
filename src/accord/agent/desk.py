"""A client's sessions: opened, found again, listed, closed and forgotten, with the store behind them."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec

from accord.agent.asker import Asker
from accord.agent.book import Book, called
from accord.agent.client import Client
from accord.agent.fault import unknown_session
from accord.agent.foreground import Foreground
from accord.agent.history import healing, retold
from accord.agent.outlet import Outlet
from accord.agent.session import Session, new_id
from accord.connection import Connection
from accord.errors import InvalidParams, LocalProtocolError, StoreError
from accord.protocol.codec import decode_json
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
from accord.session.dialect import Dialect, Voice
from accord.session.event import ConfigChanged
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

    @property
    def current(self) -> SessionRecord:
        """The record as it would be now, if it were kept."""
        return msgspec.structs.replace(
            self.record, title=self.session.title, updated_at=max(self.record.updated_at, self.session.touched_at)
        )


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
        self._doors: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

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

    async def settled(self, session_id: str) -> Foreground | None:
        """The same, when whoever opens or closes the session just now is done with that."""
        door = self._doors.get(session_id)
        if door is not None:
            async with door:
                """Nobody else is there now."""
        return self.foreground(session_id)

    # --- opening

    async def new(self, ask: NewSession) -> SessionOpened:
        """A session that nobody has seen before."""
        roots, servers = self._check(ask)
        now = time.time()
        record = SessionRecord(new_id("session"), roots[0], now, now, roots=tuple(roots[1:]))
        if self._store is not None:
            await self._store.create(record)
        try:
            return await self._open(self._make(record, roots, ask.meta), servers)
        except BaseException:
            await asyncio.shield(self._forget(record.id))
            raise

    async def fork(self, ask: ForkSession) -> SessionOpened:
        """A session that begins as a copy of another."""
        roots, servers = self._check(ask)
        store = self._kept()
        origin = self._live.get(ask.session_id)
        if origin is not None:
            await origin.session.outlet.settle()
        parent = await store.get(ask.session_id)
        if parent is None:
            raise unknown_session(ask.session_id)
        now = time.time()
        record = SessionRecord(new_id("session"), roots[0], now, now, parent.title, tuple(roots[1:]))
        await store.fork(ask.session_id, record)
        try:
            live = self._make(record, roots, ask.meta)
            live.session.outlet.voice = self._taught(await self._remember(live, store))
            return await self._open(live, servers)
        except BaseException:
            await asyncio.shield(self._forget(record.id))
            raise

    async def reopen(self, ask: ReopenSession) -> SessionOpened:
        """A session from before: kept in the store, or still open here."""
        roots, servers = self._check(ask)
        async with self._door(ask.session_id):
            live = self._live.get(ask.session_id)
            record = live.record if live is not None else None
            if self._store is not None:
                record = await self._store.get(ask.session_id)
            if record is None:
                raise unknown_session(ask.session_id)
            if not _same(record.cwd, roots[0]):
                expected = "the directory that the session was made with"
                raise InvalidParams("The session belongs to another directory", {"field": "cwd", "expected": expected})
            if live is not None:
                return await self._reopen_live(live, replay=ask.replay)
            live = self._make(record, roots, ask.meta)
            await self._tell_history(live, await self._remember(live, self._kept()), replay=ask.replay)
            return await self._open(live, servers, known=True)

    async def _reopen_live(self, live: _Live, *, replay: bool) -> SessionOpened:
        outlet = live.session.outlet
        try:
            await outlet.pause()
            if self._store is None:
                await outlet.replay([live.foreground.snapshot], outlet.voice)
            else:
                await self._tell_history(live, Transcript(await self._store.read(live.session.id)), replay=replay)
            return await self._answer(live, known=True)
        except BaseException:
            outlet.release()
            raise

    async def _remember(self, live: _Live, store: Store) -> Transcript:
        """Bring back what the session was: its conversation, its settings, its author's state."""
        session = live.session
        transcript = Transcript(await store.read(session.id))
        missing = [] if session.id in self._book.open_sessions else healing(transcript)
        if missing:
            await store.append(session.id, missing)
            for event in missing:
                transcript.fold(event)
        state = await store.state(session.id)
        session.state = None if state is None else decode_json(state)
        session.settings.restore(transcript.config)
        return transcript

    async def _tell_history(self, live: _Live, transcript: Transcript, *, replay: bool) -> None:
        """Tell the conversation, or let the voice know it without a word; then what the session does now."""
        snapshot, outlet = live.foreground.snapshot, live.session.outlet
        if replay:
            dialect, client = self._met()
            voice = dialect.voice(client.abilities)
            voice.client_terminals |= outlet.voice.client_terminals
            await outlet.replay([*retold(transcript), snapshot], voice)
        else:
            await outlet.replay([snapshot], self._taught(transcript, outlet.voice.client_terminals))

    def _taught(self, transcript: Transcript, client_terminals: set[str] | None = None) -> Voice:
        """A voice that knows what the client knows, without having said it."""
        dialect, client = self._met()
        voice = dialect.voice(client.abilities)
        voice.client_terminals |= client_terminals or set()
        for event in retold(transcript):
            voice.say(event)
        return voice

    def _make(self, record: SessionRecord, roots: Sequence[str], meta: dict[str, Any] | None) -> _Live:
        dialect, client = self._met()
        session = Session(record.id, roots, client, self._asker, self._book, self._store, meta)
        session.title = record.title
        foreground = Foreground(session, self._asker, self._book, dialect, grace_seconds=self._grace_seconds)
        voice = dialect.voice(client.abilities)
        session.outlet = Outlet(record.id, dialect, voice, self._connection, self._store, foreground.store_failed)
        live = _Live(session, foreground, record)
        # Nothing of the session may leave before the answer that names it.
        session.outlet.hold()
        return live

    async def _open(self, live: _Live, servers: list[McpServer], *, known: bool = False) -> SessionOpened:
        session = live.session
        self._live[session.id] = live
        self._book.enter(session.id, id(self))
        try:
            session.connect_servers(servers)
            for handler in self._book.on_session:
                await called(handler, session)
            return await self._answer(live, known=known)
        except BaseException:
            self._live.pop(session.id, None)
            self._book.leave(session.id, id(self))
            await asyncio.shield(session.close())
            raise

    async def _answer(self, live: _Live, *, known: bool) -> SessionOpened:
        """What the answer says. What it has no place for leaves right before it where the client knows the session.

        For a new one it leaves right behind it. Then goes what was held back.
        """
        session, (dialect, _) = live.session, self._met()
        opened = SessionOpened(session.id, session.offered, session.commands, self._book.models)
        session.outlet.voice.say(ConfigChanged(list(session.settings.options)))  # to nobody: the answer says it
        if known:
            await session.outlet.replay(dialect.left_over(opened), session.outlet.voice)
        else:
            for event in dialect.left_over(opened):
                session.outlet.tell_soon(event, keep=False)
        # The answer is sent in the very step in which we return it: what is released after that comes behind it.
        asyncio.get_running_loop().call_soon(session.outlet.release)
        return opened

    async def _forget(self, session_id: str) -> None:
        """A session that was never opened is none that could be listed."""
        if self._store is None:
            return
        try:
            await self._store.delete(session_id)
        except StoreError as error:
            log.warning("a session that could not be opened stays in the store: %s", error)

    def _door(self, session_id: str) -> asyncio.Lock:
        """Who opens or closes a session does so alone: two at once would be two sessions of one name."""
        door = self._doors.get(session_id)
        if door is None:
            door = self._doors[session_id] = asyncio.Lock()
        return door

    # --- the rest

    async def page(self, ask: ListSessions) -> SessionsListed:
        """One page of the sessions; without a store, those that are open here."""
        if ask.cwd is not None:
            _check_path(ask.cwd, "cwd")
        if self._store is None:
            if ask.cursor is not None:
                raise InvalidParams("There is one page only", {"field": "cursor", "expected": "no cursor"})
            records = [live.current for live in self._live.values() if ask.cwd in (None, live.record.cwd)]
            records.sort(key=lambda record: record.updated_at, reverse=True)
            return SessionsListed([_summary(record) for record in records])
        page = await self._store.list_sessions(cwd=ask.cwd, cursor=ask.cursor, limit=PAGE)
        return SessionsListed([_summary(record) for record in page.records], page.next_cursor)

    async def close_session(self, session_id: str) -> None:
        """End the session's work and free what it holds; one that is not open is closed already."""
        await self._alone(session_id, self._shut)

    async def delete(self, session_id: str) -> None:
        """Forget the session; one that is not there is forgotten already."""
        await self._alone(session_id, self._erase)

    async def _alone(self, session_id: str, end: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        door = self._door(session_id)
        await door.acquire()
        # An end that its client takes back is one all the same: nothing stays half closed.
        ending = asyncio.ensure_future(end(session_id))
        ending.add_done_callback(lambda _: door.release())
        await asyncio.shield(ending)

    async def _erase(self, session_id: str) -> None:
        await self._shut(session_id)
        await self._kept().delete(session_id)

    async def _shut(self, session_id: str) -> None:
        live = self._live.get(session_id)
        if live is None:
            return
        live.foreground.feed(CloseAsked())
        await live.foreground.closed.wait()
        try:
            await live.session.outlet.settle()
        except Exception as error:  # noqa: BLE001 - whatever could not be kept, it is over
            log.warning("the end of a session could not be kept: %s", error)
        self._live.pop(session_id, None)
        await self._end(live)

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
        self._book.leave(live.session.id, id(self))
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
                # What we know by this name and did not hear as such, the edition has no words for.
                known = self._served.mcp - {server.tag} if isinstance(server, Unknown) else self._served.mcp
                expected = f"one of {', '.join(sorted(known))}"
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
