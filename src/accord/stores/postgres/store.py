"""The store in PostgreSQL: a writing and two reading threads beside the loop, a lease, and watchers that are notified.

The rounds of `stores.rounds` are committed by one statement that carries the fence (`events`), ownership is a lease per
process (`lease`), and watchers are woken by a notification of each commit (`listener`).
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import weakref
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from accord.errors import StoreError
from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.event import Event
from accord.stores.interface import SessionPage, SessionRecord
from accord.stores.postgres import search
from accord.stores.postgres.nodes import NodeRecord
from accord.stores.postgres.writer import PostgresWriter
from accord.stores.rounds import as_awaitable

if TYPE_CHECKING:
    from accord.stores.postgres.connection import PostgresConnection
    from accord.stores.postgres.listener import CommitListener

__all__ = ["PostgresStore"]

T = TypeVar("T")

# The stores of this process that are not closed yet.
_open: weakref.WeakSet[PostgresStore] = weakref.WeakSet()


class PostgresStore(PostgresWriter):
    """A `Store` in PostgreSQL, which the processes of many machines may share.

    `conninfo` is a connection string (`postgresql://…` or `host=… dbname=…`); it is never part of an error or a log.
    `node` names this process in a fleet and `address` is where other nodes reach it; of two processes with one name
    that live at the same time the second is refused (`name_taken`). A session that this process acquires is its own as
    long as it renews its lease of `lease_seconds`; `on_lost` reports the sessions of a lost lease. A call that changes
    something waits up to `patience_seconds`, as long as the lease unless given, for a server that is away or does not
    answer, and is repeated meanwhile; reads wait for five seconds at most. Where `conninfo` leads through a transaction
    pooler, `direct` is the connection string of the server itself, for the lease and the notifications. `schema` is the
    PostgreSQL schema of all tables, which are made at the first call.

    An append whose result is not known when the time is over gives up the claim on its session: further writes to it
    fail with `not_owned` until it was released and acquired again.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        node: str = "",
        address: str = "",
        lease_seconds: float = 10.0,
        patience_seconds: float | None = None,
        direct: str | None = None,
        schema: str = "accord",
    ) -> None:
        patience_seconds = lease_seconds if patience_seconds is None else patience_seconds
        if lease_seconds <= 0 or patience_seconds <= 0:
            raise ValueError("lease_seconds and patience_seconds must be positive")
        record = NodeRecord("", node, address)
        super().__init__(
            conninfo, direct, schema, record, lease_seconds=lease_seconds, patience_seconds=patience_seconds
        )
        self.node: str = node
        """The name of this process in a fleet; "" where it has none."""
        self.lease_seconds: float = lease_seconds
        """How long the sessions of this process stay its own when it can reach the database no more."""
        self._listener: CommitListener | None = None
        self._process = os.getpid()
        _open.add(self)

    @property
    def address(self) -> str:
        """Where other nodes reach this process; it may be set until the store is opened."""
        return self._node.address

    @address.setter
    def address(self, address: str) -> None:
        self._node = msgspec.structs.replace(self._node, address=address)

    def __repr__(self) -> str:
        return f"PostgresStore(node={self.node!r})"

    @property
    def incarnation(self) -> str:
        """The id of the lease that this process has now, new for each lease; "" without one."""
        return "" if self._lease is None else self._lease.incarnation

    async def open(self) -> None:
        """Connect, check the tables or make them, and where the store has a node name, register it.

        Every call does this when it is needed: a server does it at its start, to fail there.
        """
        await self._write(self._open_now)

    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        """Keep a new session with an empty log; with `owned` it is acquired too."""
        await self._write(lambda: self._make(record, None, owned=owned))

    async def acquire(self, session_id: str) -> bool:
        """Make this process the owner of the session; whether it was open nowhere in this process."""
        future = self._submit_writing(lambda: self._take(session_id))
        try:
            return await asyncio.shield(as_awaitable(future))
        except asyncio.CancelledError:
            # The caller was cancelled, so no other code would release it.
            with contextlib.suppress(StoreError):
                self._submit_writing(lambda: self._give_back(session_id, future))
            raise

    async def release(self, session_id: str) -> None:
        """Undo one `acquire`, after the queued events are committed."""
        await asyncio.shield(as_awaitable(self._submit_writing(lambda: self._let_go(session_id))))

    async def get(self, session_id: str) -> SessionRecord | None:
        """The session's record, or None where there is no such session."""
        return await self._read(lambda connection: self._sessions.get(connection, session_id))

    async def exists(self, session_id: str) -> bool:
        """Whether there is such a session."""
        return await self.get(session_id) is not None

    async def patch(
        self,
        session_id: str,
        *,
        title: Maybe[str] = UNSET,
        updated_at: float | UnsetType = UNSET,
        state: Maybe[bytes] = UNSET,
    ) -> None:
        """Change the given fields, all or none; `UNSET` keeps, None clears."""
        await self._write(
            lambda: self._change(
                session_id,
                lambda connection, fence: self._sessions.patch(connection, session_id, fence, title, updated_at, state),
            )
        )

    async def state(self, session_id: str) -> bytes | None:
        """The author's own state, as it was last patched."""
        return await self._read(lambda connection: self._sessions.state(connection, session_id))

    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events behind position `after`, in order, including those queued before this call."""
        return await self._read(lambda connection: self._events.read(connection, session_id, after, limit))

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        """The next events behind position `after`, as many as fit into a page; decoded on a reading thread."""
        return await self._read(lambda connection: self._events.read_page(connection, session_id, after))

    async def list_sessions(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        unprompted: bool = True,
        principal: str | None = None,
    ) -> SessionPage:
        """One page of the sessions, the last updated first, of exactly that `cwd` and `principal` where given."""
        return await self._read(
            lambda connection: self._sessions.list_sessions(
                connection, cwd, cursor, limit, unprompted=unprompted, principal=principal
            )
        )

    async def search_sessions(
        self, text: str, *, principal: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> SessionPage:
        """One page of the sessions whose title or messages have the words of `text`, the last updated first.

        `text` is read as in a search engine: all words, "a phrase", -without. Messages that were written since the last
        search are indexed first, of those sessions alone that may be found.
        """
        await self._settle()
        while await self._read_now(lambda connection: search.index_some(connection, self._sessions, principal)):
            pass  # until nothing is left to index: each step is bounded in size
        return await self._read_now(
            lambda connection: search.find(connection, self._sessions, text, principal, cursor, limit)
        )

    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        """Create a session with a copy of the log, including queued events, and of the state."""
        await self._write(lambda: self._make(record, session_id, owned=owned))

    async def publish(self, draft_id: str, session_id: str) -> None:
        """Give a draft its own id, in one transaction."""
        await self._write(
            lambda: self._change(
                draft_id,
                lambda connection, fence: self._sessions.publish(connection, draft_id, session_id, fence),
            )
        )

    async def delete(self, session_id: str) -> None:
        """Delete the session, its log and its state."""
        await self._write(
            lambda: self._change(
                session_id, lambda connection, fence: self._sessions.delete(connection, session_id, fence)
            )
        )

    async def prune_unprompted(self, before: float) -> list[str]:
        """Delete the sessions without a prompt and an owner whose `updated_at` is earlier."""
        return await self._write(
            lambda: self._writing().run(lambda connection, _: self._sessions.prune_unprompted(connection, before))
        )

    async def prune_older(self, before: float) -> list[str]:
        """Delete all sessions without an owner whose `updated_at` is earlier: retention by age; returns their ids."""
        return await self._write(
            lambda: self._writing().run(lambda connection, _: self._sessions.prune_older(connection, before))
        )

    async def watch(self, session_id: str, after: int = 0) -> AsyncIterator[list[tuple[int, Event]]]:
        """The events behind position `after`, and every later one as soon as it is committed, by any process.

        Each with its position, in order, none twice and none missing: first those of the log, then later ones. It waits
        for a database that is away. Raises `unknown_session` where the session does not exist or was deleted.
        """
        listener = self._listening()
        position = max(after, 0)
        subscription = await listener.subscribe(session_id)
        try:
            while True:
                try:
                    page = await self._read_now(
                        lambda connection: self._events.read_page(connection, session_id, position)  # noqa: B023
                    )
                except StoreError as error:
                    if error.reason not in {"away", "slow", "busy", "read_only"}:
                        raise
                    page = []
                if page:
                    yield list(enumerate(page, position + 1))
                    position += len(page)
                else:
                    await subscription.wait(position)
        finally:
            listener.unsubscribe(subscription)

    # --- the fleet

    async def owner_of(self, session_id: str) -> NodeRecord | None:
        """The node that owns the session, if its lease lasts; None for a free session and for an unknown one."""
        return await self._read_now(lambda connection: self._nodes.owner_of(connection, session_id))

    async def epoch_of(self, session_id: str, incarnation: str) -> int:
        """The number of a node's claim on a session, also where another has claimed it since; 0 for an unknown one."""
        return await self._read_now(lambda connection: self._nodes.epoch_of(connection, session_id, incarnation))

    async def end_of(self, session_id: str, epoch: int) -> int:
        """The position of the last event that was written by the claim `epoch`, or by an earlier one."""
        return await self._read_now(lambda connection: self._nodes.end_of(connection, session_id, epoch))

    @property
    def lease_left_seconds(self) -> float:
        """The rest of the lease of this process, by its own clock; 0 without one. Asks no database."""
        return 0.0 if self._lease is None else self._lease.left_seconds

    @property
    def counters(self) -> dict[str, float]:
        """Counts since the start: commits, the seconds that they took, and failed renewals of the lease."""
        failed = 0 if self._lease is None else self._lease.failed_renewals
        counted = self._statistics
        return {"commits": counted.commits, "commit_seconds": counted.commit_seconds, "failed_renewals": failed}

    @property
    def error_counts(self) -> dict[str, int]:
        """Failed statements and refused writes since the start, by the `reason` of their `StoreError`."""
        return dict(self._statistics.errors)

    async def nodes(self) -> list[NodeRecord]:
        """The nodes whose lease lasts, by name."""
        return await self._read_now(self._nodes.live)

    async def end_if_dead(self, incarnation: str) -> bool:
        """End the lease of a node whose process the database sees to be gone; whether it has ended."""
        return await self._read_now(lambda connection: self._nodes.end_if_dead(connection, incarnation))

    async def counts(self) -> list[NodeRecord]:
        """The nodes whose lease lasts, by name, each with the number of its sessions."""
        return await self._read_now(self._nodes.counted)

    async def set_draining(self) -> None:
        """Mark this node, for every other one, as taking no more sessions; it keeps those that it has."""
        await self._write(lambda: self._leased().set_draining())

    async def ask_to_drain(self, name: str) -> bool:
        """Ask another node to drain, by its row, which it reads; whether there is a live node of this name."""
        return await self._write(
            lambda: self._writing().run(lambda connection, _: self._nodes.ask_to_drain(connection, name))
        )

    async def release_all(self) -> list[str]:
        """Release every session of this process, after the queued events are committed; returns their ids.

        For a node that ends: its later writes to them fail with `not_owned`.
        """
        return await self._write(lambda: [] if self._lease is None else self._lease.release_all())

    def on_lost(self, callback: Callable[[frozenset[str]], None]) -> None:
        """Have `callback` called, in the running loop, with the sessions that were lost with a lease.

        From then on every write to them fails with `not_owned`. They may be acquired again after each was released.
        """
        self._lost_callbacks.append((asyncio.get_running_loop(), callback))

    async def close(self) -> None:
        """Commit the queued events, release the sessions of this store and close it; may be called again."""
        with self._lock:
            if self._closed:
                return
            self._seal_round()
            self._closed = True
            _open.discard(self)
            ending = self._writer.submit(self._end_writing)
        self._writer.shutdown(wait=False)
        self._reader.shutdown(wait=False)
        await asyncio.shield(as_awaitable(ending))
        if self._listener is not None:
            await asyncio.to_thread(self._listener.close)
        await asyncio.to_thread(self._end_reading)
        self._writer.shutdown()
        with self._lock:
            self._ledger.raise_any_loss()

    # --- on the loop

    async def _write(self, job: Callable[[], T]) -> T:
        return await as_awaitable(self._submit_writing(job))

    async def _read(self, job: Callable[[PostgresConnection], T]) -> T:
        await self._settle()
        return await self._read_now(job)

    async def _read_now(self, job: Callable[[PostgresConnection], T]) -> T:
        """Read committed data, without waiting for queued events."""
        with self._lock:
            self._refuse_when_closed()
            future = self._reader.submit(self._run_reading, job)
        return await as_awaitable(future)

    def _listening(self) -> CommitListener:
        with self._lock:
            self._refuse_when_closed()
            if self._listener is None:
                self._listener = self._make_listener()
            return self._listener

    def _make_listener(self) -> CommitListener:
        address = self._address(self._direct)
        from accord.stores.postgres.listener import CommitListener  # noqa: PLC0415 - needs the driver

        return CommitListener(address, self._schema, self._short_patience, self._prepare)

    def _disconnect(self) -> None:
        """At the end of the program: close the connections; those of a parent are not a forked child's."""
        if self._process != os.getpid():
            return
        if self._listener is not None:
            self._listener.close()
        self._end_reading()


@atexit.register
def _disconnect_all() -> None:
    for store in list(_open):
        store._disconnect()  # noqa: SLF001 - one module
