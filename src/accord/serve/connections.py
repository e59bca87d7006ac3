"""All connections of a server: made, found, taken over, expired, and ended when their principal may connect no more."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accord.serve.access import AccessCheck, HttpRefusal
from accord.serve.fleet import ServerFleet
from accord.serve.metrics import Metrics
from accord.serve.node_forwarding import NodeRequests
from accord.serve.options import HostOptions
from accord.serve.principals import Credentials, Principal, directory_of
from accord.serve.remote_connection import RemoteConnection, new_connection_id
from accord.serve.session_rules import SessionOwners, SessionRules
from accord.serve.upstream import Upstream
from accord.time_scale import scaled

__all__ = ["Connections", "KnownAnswers"]

log = logging.getLogger("accord.serve")

SWEEP_SECONDS = 1.0
RECHECK_SECONDS = scaled(30.0)
STOP_SECONDS = scaled(10.0)
DRAIN_POLL_SECONDS = 0.05
# For the answers to the prompts of turns that were ended.
ANSWER_SECONDS = scaled(5.0)
# A client that lost its link tries again within this.
RETURN_SECONDS = scaled(2.0)
# The lifetime of known answers to `initialize`.
KEPT_SECONDS = scaled(10.0)
MAX_ANSWERS = 64
MAX_KEY_CHARACTERS = 8192


class Connections:
    def __init__(
        self,
        upstream: Upstream,
        access: AccessCheck,
        metrics: Metrics,
        owners: SessionOwners | None,
        root: Path,
        options: HostOptions,
        fleet: ServerFleet | None = None,
    ) -> None:
        self._upstream = upstream
        self._access = access
        self.limits = options.limits
        self.metrics = metrics
        self._owners = owners
        self._root = root
        self.fleet = fleet
        """The nodes that clients may reach through this server; None where there is no other."""
        self.node_requests = None if fleet is None else NodeRequests(fleet)
        self._stdio_mcp = options.stdio_mcp
        self._on_disconnect = options.on_disconnect or upstream.on_disconnect
        self._all: dict[str, RemoteConnection] = {}
        self._answers = KnownAnswers()
        self._rules: dict[str, SessionRules] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._rechecked_at = time.monotonic()
        self.is_draining = False
        self._moving: set[str] = set()

    @property
    def is_ready(self) -> bool:
        """Whether new connections are taken: the server does not end, and its node has its lease."""
        return not self.is_draining and (self.fleet is None or self.fleet.is_live)

    def __len__(self) -> int:
        return len(self._all)

    @property
    def metrics_text(self) -> str:
        """The metrics, with the numbers of this moment."""
        if self.fleet is None:
            return self.metrics.text(self._gauges, {}, {})
        return self.metrics.text(self._gauges, self.fleet.counters, self.fleet.store.error_counts)

    @property
    def _gauges(self) -> dict[str, float]:
        return {
            "connections": len(self._all),
            "links": sum(connection.links for connection in self._all.values()),
            "sessions": sum(rules.open_sessions for rules in self._rules.values()),
            "running_turns": len(self._upstream.running),
            "waiting_bytes": sum(connection.streams.waiting_bytes for connection in self._all.values()),
            "draining": float(self.is_draining),
            **({} if self.fleet is None else self.fleet.gauges),
        }

    # --- making and finding

    def new_id(self) -> str:
        """The id of a new connection; in a fleet it names this node."""
        return new_connection_id() if self.fleet is None else self.fleet.new_connection_id()

    def elsewhere(self, connection_id: str | None, credentials: Credentials) -> str | None:
        """The node that has a connection, if it is not this one.

        Raises:
            HttpRefusal: 508: another node forwarded the request to this one, which would have to forward it again.
        """
        if self.fleet is None or not connection_id or connection_id in self._all:
            return None
        node = self.fleet.node_of(connection_id)
        if node is not None and credentials.forwarded_by is not None:
            raise HttpRefusal(508, "loop", "This request was forwarded already")
        return node

    def make(
        self,
        principal: Principal,
        credentials: Credentials,
        *,
        has_session_streams: bool,
        connection_id: str = "",
        instead_of: RemoteConnection | None = None,
    ) -> RemoteConnection:
        """A new connection; it starts with `start`. `instead_of` is one that ends with it, and needs no place.

        Raises:
            HttpRefusal: 503: there are too many, or the server is about to end.
        """
        self.check_room(principal, instead_of)
        root, rules = directory_of(principal, self._root), self._rules.get(principal.name)
        if rules is None:
            rules = SessionRules(
                principal,
                root,
                self._owners,
                stdio_mcp=self._stdio_mcp,
                max_sessions=self.limits.sessions_per_principal,
            )
        # A token file may give it another root than it had.
        rules = self._rules[principal.name] = rules.under(principal, root)
        connection = RemoteConnection(
            principal,
            credentials,
            rules,
            self.limits,
            self.metrics,
            has_session_streams=has_session_streams,
            connection_id=connection_id or self.new_id(),
        )
        self._all[connection.id] = connection
        self.metrics.opened_connections += 1
        connection.closing.append(lambda: self._forget(connection))
        if self._sweeper is None:
            self._sweeper = self._start_task(self._sweep())
        return connection

    def check_room(self, principal: Principal, instead_of: RemoteConnection | None = None) -> None:
        """Refuse a further connection where there are too many."""
        if self.is_draining:
            raise HttpRefusal(503, "draining", "The server is about to end", {"Retry-After": "1"})
        own = [each for each in self._of(principal) if each is not instead_of]
        full = len(self._all) - (instead_of is not None) >= self.limits.connections
        if len(own) >= self.limits.connections_per_principal or full:
            # An `initialize` whose client never came back makes room first, then the one whose client left first.
            unused = [each for each in own if each.is_unused]
            idle = min(unused, key=lambda each: (each.was_linked, each.detached_at), default=None)
            if idle is None:
                raise HttpRefusal(503, "limit", "There are too many connections", {"Retry-After": "5"})
            idle.end("it has no client and no session, and a newer connection needs the place")

    def start(self, connection: RemoteConnection) -> None:
        """Start the agent of a connection: at once, or with its second message if its first answer is known."""
        if not self._upstream.answers_alike:
            self._start_task(self._serve(connection))
            return
        key, connection.initialize_params = key_of(connection.initialize_params), {}
        answer = self._answers.find(key)
        if answer is None:
            connection.on_initialized = functools.partial(self._answers.note, key)
            self._start_task(self._serve(connection))
        else:
            connection.answer_at_once(answer, lambda: self._start_task(self._serve(connection)))

    async def _serve(self, connection: RemoteConnection) -> None:
        root = str(directory_of(connection.principal, self._root))
        try:
            is_forwarded = connection.credentials.forwarded_by is not None
            await self._upstream.serve(connection.agent, connection.principal, root, is_forwarded=is_forwarded)
            reason = "the agent ended"
        except asyncio.CancelledError:
            reason = "the server ends"
            raise
        except Exception as error:
            reason = "the agent failed"
            log.exception("the agent of %s failed", connection.principal.name, exc_info=error)
        finally:
            # By now another connection may have taken it over.
            connection.agent.peer.end(reason)

    def find(self, connection_id: str, principal: Principal) -> RemoteConnection | None:
        """The connection, if it belongs to this principal; None for another's, as for an unknown id."""
        connection = self._all.get(connection_id)
        return connection if connection is not None and connection.principal.name == principal.name else None

    def orphan(self, principal: Principal) -> RemoteConnection | None:
        """The last connection of the principal that lost its links and whose agent a new one may take over."""
        if not self._upstream.takes_over:
            return None
        candidates = [
            each
            for each in self._all.values()
            if each.principal.name == principal.name
            and each.was_linked
            and (each.is_left or not each.links)
            and each.is_initialized
        ]
        return max(candidates, key=lambda each: each.detached_at, default=None)

    def make_successor(
        self, orphan: RemoteConnection, credentials: Credentials, *, has_session_streams: bool, connection_id: str
    ) -> RemoteConnection:
        """A new connection with the agent of one that lost its links."""
        connection = self.make(
            orphan.principal,
            credentials,
            has_session_streams=has_session_streams,
            connection_id=connection_id,
            instead_of=orphan,
        )
        connection.adopt(orphan)
        log.info("connection %s of %s goes on as %s", orphan.id[:8], orphan.principal.name, connection.id[:8])
        return connection

    def _forget(self, connection: RemoteConnection) -> None:
        self._all.pop(connection.id, None)
        rules = self._rules.get(connection.principal.name)
        if rules is not None and not rules.open_sessions and not self._of(connection.principal):
            del self._rules[connection.principal.name]

    def _of(self, principal: Principal) -> list[RemoteConnection]:
        return [each for each in self._all.values() if each.principal.name == principal.name]

    # --- ending

    def _start_task(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for connection in list(self._all.values()):
                reason = self._expired(connection)
                if reason:
                    connection.end(reason)
            try:
                await self._recheck()
            except Exception:
                log.exception("the principals could not be checked again")

    def _expired(self, connection: RemoteConnection) -> str:
        now, limits = time.monotonic(), self.limits
        expires_at = connection.principal.expires_at
        if expires_at is not None and expires_at <= time.time():
            return "its token expired"
        if connection.links:
            stalled = connection.streams.waiting_bytes and now - connection.progressed_at > limits.stall_seconds
            return "its client does not read" if stalled else ""
        away = now - connection.detached_at
        if not connection.was_linked:
            return "no stream was opened" if away > limits.start_seconds else ""
        if away <= limits.grace_seconds:
            return ""
        # The turns of an agent in this process go on without a connection; those of a program need theirs.
        outlives = self._upstream.takes_over and self._on_disconnect == "continue" and connection.is_busy
        if outlives and away <= limits.detached_seconds:
            return ""
        return "its client did not come back"

    async def _recheck(self) -> None:
        """End the connections whose credentials are no longer valid."""
        seconds = getattr(self._access.authenticate, "recheck_seconds", RECHECK_SECONDS)
        if time.monotonic() - self._rechecked_at < seconds:
            return
        self._rechecked_at = time.monotonic()
        for connection in list(self._all.values()):
            if connection.credentials.forwarded_by is not None:
                continue  # the node that forwards it checks the client, and ends its link
            principal = await self._access.find(connection.credentials)
            if principal is None or principal.name != connection.principal.name:
                connection.end("its token was revoked")
            elif principal.root != connection.principal.root:
                connection.end("its root was changed")

    async def drain(self, seconds: float) -> None:
        """Begin nothing new, let the turns that run come to their end, for so long at most, and end the others.

        In a fleet a session is handed over as soon as nothing runs in it, and a connection ends when nothing is open.
        """
        self.is_draining = True
        for connection in self._all.values():
            connection.is_draining = True
        # A database that does not answer does not hold the clients up.
        marking = None if self.fleet is None else self._start_task(self.fleet.drain())
        deadline = time.monotonic() + seconds
        # Busy is a sum over all connections: no single event says that it is over.
        while self._is_at_work() and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(DRAIN_POLL_SECONDS)
        ended = set(await self._upstream.interrupt())
        # Their answers are behind the last events in the log; they come before the connections end.
        deadline = time.monotonic() + ANSWER_SECONDS
        while self._at_work() & ended and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(DRAIN_POLL_SECONDS)
        if marking is not None:
            await marking

    def _is_at_work(self) -> bool:
        """Whether a turn runs or a connection has something to be done; what has nothing is ended or handed over."""
        left = self._end_unanswered()
        if self.fleet is not None:
            self._hand_over(lambda _: True)
        working = self._working()
        return left or working or bool(self._upstream.running)

    def move(self, session_id: str, node: str) -> None:
        """Hand one session over when its turn is over; its clients go on at `node`."""
        log.warning("session %s is to be handed over to node %s", session_id, node)
        if session_id not in self._moving:
            self._moving.add(session_id)
            self._start_task(self._move(session_id, node))

    async def _move(self, session_id: str, node: str) -> None:
        try:
            while any(each.watches({session_id}) for each in self._all.values()):
                if self._hand_over(lambda each: each == session_id, node):
                    return
                await asyncio.sleep(DRAIN_POLL_SECONDS)
        finally:
            self._moving.discard(session_id)

    def _at_work(self) -> set[str | None]:
        """The sessions that open requests name."""
        return {session_id for each in self._all.values() for session_id in each.sessions_at_work}

    def _hand_over(self, wanted: Callable[[str], bool], node: str = "") -> list[str]:
        """Hand the wanted sessions over that have no turn and no open request; their ids."""
        working = self._at_work()

        def report(session_id: str) -> None:
            log.info("session %s was handed over", session_id)
            for connection in list(self._all.values()):
                connection.moved(session_id, node)
            if self.fleet is not None:
                self.fleet.report_moved(session_id, node)

        handed = self._upstream.hand_over(lambda each: each not in working and wanted(each), report)
        if self.fleet is not None:
            for session_id in handed:
                self.fleet.report_moved(session_id, None)
        return handed

    def _end_unanswered(self) -> bool:
        """End the connections that wait for the answer of a client that has left; whether there were any."""
        left_at = time.monotonic() - RETURN_SECONDS
        waiting = [each for each in self._all.values() if each.awaits_client(left_at)]
        for connection in waiting:
            connection.end("its client left a question open, and the server ends")
        return bool(waiting)

    def _working(self) -> bool:
        """Whether a connection has something to be done; in a fleet the others end now, and go on at another node."""
        left_at = time.monotonic() - RETURN_SECONDS
        running = self._upstream.running
        working = {
            each for each in self._all.values() if each.is_busy or each.has_unread(left_at) or each.watches(running)
        }
        if self.fleet is not None:
            for connection in [each for each in self._all.values() if each not in working]:
                connection.end("the server ends")
        return bool(working)

    async def close(self) -> None:
        """End all connections and their agents."""
        self.is_draining = True
        for connection in list(self._all.values()):
            connection.is_draining = True
            connection.end("the server ends")
        if self._sweeper is not None:
            self._sweeper.cancel()
        working = [task for task in self._tasks if task is not self._sweeper]
        if working:
            await asyncio.wait(working, timeout=STOP_SECONDS)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.node_requests is not None:
            self.node_requests.close()
        await self._upstream.close()
        if self.fleet is not None:
            await self.fleet.close()
        if self._owners is not None:
            self._owners.close()


class KnownAnswers:
    """Recent answers of an agent to `initialize`: a client that sends the same params gets the same answer.

    So a connection that is opened and not used has no agent. An answer may become outdated, so it is kept for
    `KEPT_SECONDS` only.
    """

    def __init__(self) -> None:
        self._answers: dict[str, tuple[float, bytes]] = {}

    def find(self, key: str) -> bytes | None:
        """The answer, with the id of its own request; None if it is not known, or too old."""
        given_at, answer = self._answers.get(key, (0.0, b""))
        return answer if answer and time.monotonic() - given_at < KEPT_SECONDS else None

    def note(self, key: str, answer: bytes) -> None:
        """Keep an answer that the agent has just given."""
        if len(key) > MAX_KEY_CHARACTERS:
            return
        self._answers.pop(key, None)
        if len(self._answers) >= MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = time.monotonic(), answer


def key_of(params: dict[str, Any]) -> str:
    """The key of the params of an `initialize`."""
    return json.dumps(params)
