"""The fleet that a server belongs to: its own node, the other live nodes, and the passes between them.

The nodes are rows of the store, each with a lease (docs/fleet.md). This module keeps the list of live ones;
`node_forwarding` forwards requests and sockets to them, `session_relay` the messages of a session.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlsplit

from accord.errors import LocalProtocolError, StoreError
from accord.serve.access import HttpRefusal
from accord.serve.fleet_pass import FleetPass, PassRefused, PassSigner
from accord.serve.principals import Principal

__all__ = ["FleetStore", "Node", "ServerFleet", "check_address", "check_node_name"]

log = logging.getLogger("accord.serve")

T = TypeVar("T")

REFRESH_SECONDS = 1.0
# Added to the end of a lease, so that the next read of the nodes finds it ended.
_BEHIND_SECONDS = 0.02
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")
_SEPARATOR = "."


class Node(Protocol):
    """One live process of the fleet, as the store knows it."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def incarnation(self) -> str: ...

    @property
    def draining(self) -> bool: ...

    @property
    def is_live(self) -> bool: ...

    @property
    def left_seconds(self) -> float: ...


@runtime_checkable
class FleetStore(Protocol):
    """The part of a store that nodes on several machines share; `accord.stores.PostgresStore` has it."""

    @property
    def node(self) -> str: ...

    @property
    def incarnation(self) -> str: ...

    @property
    def lease_seconds(self) -> float: ...

    @property
    def lease_left_seconds(self) -> float: ...

    @property
    def counters(self) -> dict[str, float]: ...

    @property
    def error_counts(self) -> dict[str, int]: ...

    async def open(self) -> None: ...

    async def owner_of(self, session_id: str) -> Any: ...

    async def epoch_of(self, session_id: str, incarnation: str) -> int: ...

    async def end_of(self, session_id: str, epoch: int) -> int: ...

    async def nodes(self) -> list[Any]: ...

    async def end_if_dead(self, incarnation: str) -> bool: ...

    async def set_draining(self) -> None: ...

    async def release_all(self) -> Any: ...

    def on_lost(self, callback: Callable[[frozenset[str]], None]) -> Any: ...

    async def close(self) -> None: ...


def check_node_name(name: str) -> None:
    """Refuse a name that cannot stand in the id of a connection.

    Raises:
        LocalProtocolError: It has other characters than letters, digits and hyphens, or too many.
    """
    if _NAME.fullmatch(name) is None:
        message = f"{name!r} is no name of a node: use letters, digits and hyphens, at most 63"
        raise LocalProtocolError(message, field="node", expected="letters, digits and hyphens")


def check_address(address: str) -> None:
    """Refuse an address under which no other node could reach this one.

    Raises:
        LocalProtocolError: It is no `http` or `https` address of a host, or has a path or a password.
    """
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.path.strip("/"):
        message = f"{address!r} is no address of a node: use http://HOST:PORT or https://HOST:PORT"
        raise LocalProtocolError(message, field="node_address", expected="http://HOST:PORT")


class ServerFleet:
    """The nodes of a fleet, seen from one of them. Without a secret it forwards nothing."""

    def __init__(self, store: FleetStore, secret: str = "") -> None:
        self.store = store
        self._signer = PassSigner(secret) if secret else None
        self._nodes: dict[str, Node] = {}
        self._incarnations: set[str] = set()
        """All incarnations of this process: after a lost lease it goes on under a new one."""
        self._links: dict[str, set[Callable[[], object]]] = {}
        """Of each incarnation of a node: the callbacks that end what is open to it."""
        self.unreached: set[str] = set()
        """The incarnations to which a link is lost: their processes may be gone."""
        self._refreshing: asyncio.Task[None] | None = None
        self._asked_to_drain = False
        self._is_closed = False
        self.on_drain: list[Callable[[], object]] = []
        """Called when the row of this node asks it to drain."""
        self.on_lost: list[Callable[[frozenset[str]], None]] = []
        """Called with the sessions that this node lost with its lease."""
        self.on_moved: list[Callable[[str, str | None], None]] = []
        """Called with a session that this node hands over and None; when it is released, with the node that is to have
        it, "" for any."""
        self.forwarded_requests = 0
        self.relayed_sessions = 0
        self._lost_sessions = 0

    def __repr__(self) -> str:
        return f"<fleet of node {self.name}>"

    @property
    def name(self) -> str:
        return self.store.node

    @property
    def gauges(self) -> dict[str, float]:
        """The numbers of this moment, for the metrics."""
        return {
            "nodes": len(self._nodes),
            "forwarded_requests": self.forwarded_requests,
            "relayed_sessions": self.relayed_sessions,
            "lease_seconds": self.store.lease_left_seconds,
        }

    @property
    def counters(self) -> dict[str, float]:
        """Counts since the start, for the metrics."""
        lost_leases = max(len(self._incarnations) - 1, 0)
        return {"lost_leases": lost_leases, "lost_sessions": self._lost_sessions, **self.store.counters}

    @property
    def is_live(self) -> bool:
        """Whether the lease of this node lasts, by its own clock: the database need not be reached."""
        return self.store.lease_left_seconds > 0

    @property
    def is_draining(self) -> bool:
        """Whether this node takes nothing new."""
        return self._asked_to_drain

    @property
    def forwards(self) -> bool:
        return self._signer is not None

    # --- ids of connections

    def new_connection_id(self) -> str:
        """An id that cannot be guessed, and that names this node."""
        return f"{self.name}{_SEPARATOR}{secrets.token_hex(16)}"

    def node_of(self, connection_id: str) -> str | None:
        """The other node that a connection lives on; None if it is this one, or no id of a fleet."""
        name, separator, _ = connection_id.partition(_SEPARATOR)
        return name if separator and name != self.name else None

    # --- nodes

    async def start(self) -> None:
        """Read the nodes, and keep reading them in the background.

        Raises:
            StoreError: The database cannot be used.
            LocalProtocolError: There are other nodes, and no secret to forward requests to them.
        """
        if self._refreshing is not None:
            return
        self.store.on_lost(self._report_lost)
        await self.store.open()
        await self._refresh()
        others = sorted(name for name in self._nodes if name != self.name)
        if others and not self.forwards:
            raise LocalProtocolError(
                f"there are other nodes ({', '.join(others)}), and without the secret of the fleet no request can be "
                "forwarded to them: give it with ACCORD_FLEET_SECRET or --fleet-secret-file",
                field="fleet_secret",
                expected="the secret of the fleet",
            )
        self._refreshing = asyncio.get_running_loop().create_task(self._keep_refreshing())

    async def _keep_refreshing(self) -> None:
        while True:
            await asyncio.sleep(self._refresh_pause())
            try:
                await self._refresh()
            except StoreError as error:
                log.warning("the nodes of the fleet cannot be read: %s", error)

    def _refresh_pause(self) -> float:
        """The time to the next read of the nodes: not longer than any of their leases lasts.

        Links to a node that does not answer end with its lease, and clients go on with the next owner.
        """
        ends = [node.left_seconds + _BEHIND_SECONDS for name, node in self._nodes.items() if name != self.name]
        return max(min(REFRESH_SECONDS, self.store.lease_seconds / 3, *ends), _BEHIND_SECONDS)

    async def _refresh(self) -> None:
        for incarnation in list(self.unreached):
            await self.store.end_if_dead(incarnation)
        found: Iterable[Node] = await self.store.nodes()
        self._nodes = {node.name: node for node in found if node.is_live}
        live = {node.incarnation for node in self._nodes.values()}
        self.unreached &= live
        for incarnation in [each for each in self._links if each not in live]:
            for end in list(self._links.pop(incarnation)):
                end()
        own = self._nodes.get(self.name)
        if own is None and not self._asked_to_drain:
            await self.store.open()  # its lease has ended: it goes on under a new one
        self._incarnations |= {self.store.incarnation} - {""}
        if own is not None and own.draining and own.incarnation == self.store.incarnation and not self._asked_to_drain:
            self._asked_to_drain = True
            log.warning("node %s was asked to drain", self.name)
            for callback in self.on_drain:
                callback()

    def _report_lost(self, session_ids: frozenset[str]) -> None:
        log.error("node %s lost sessions: %d", self.name, len(session_ids))
        self._lost_sessions += len(session_ids)
        for callback in list(self.on_lost):
            callback(session_ids)

    def report_moved(self, session_id: str, node: str | None) -> None:
        for callback in list(self.on_moved):
            callback(session_id, node)

    async def node(self, name: str) -> Node | None:
        """A live node by its name; the database is asked where it was not there a moment ago."""
        if name not in self._nodes:
            await self._refresh()
        return self._nodes.get(name)

    def forget(self, node: Node) -> None:
        """A node could not be reached: ask the database the next time."""
        if self._nodes.get(node.name) is node:
            del self._nodes[node.name]

    @contextlib.contextmanager
    def until_gone(self, node: Node, end: Callable[[], object]) -> Any:
        """While this lasts, `end` is called when the lease of the node has ended."""
        ends = self._links.setdefault(node.incarnation, set())
        ends.add(end)
        try:
            yield
        finally:
            ends.discard(end)
            if not ends:
                self._links.pop(node.incarnation, None)

    async def while_live(self, node: Node, work: Coroutine[Any, Any, T]) -> T:
        """The result of some work with a node; it is cancelled when the lease of the node has ended.

        Raises:
            ConnectionAbortedError: The lease has ended.
        """
        task = asyncio.ensure_future(work)
        with self.until_gone(node, task.cancel):
            try:
                return await task
            except asyncio.CancelledError:
                current = asyncio.current_task()
                if not task.cancelled() or (current is not None and current.cancelling()):
                    task.cancel()
                    raise
                raise ConnectionAbortedError("its lease has ended") from None

    # --- passes

    def pass_to(self, node: Node, principal: Principal) -> str:
        """The header that names the principal of a request to another node.

        Raises:
            HttpRefusal: 502: this node has no secret.
        """
        if self._signer is None:
            raise HttpRefusal(502, "no_fleet_secret", "This server has no secret of its fleet")
        root = None if principal.root is None else str(principal.root)
        given = FleetPass(self.name, node.name, node.incarnation, principal.name, root, principal.expires_at)
        return self._signer.sign(given)

    def read_pass(self, value: str) -> FleetPass:
        """The pass of a request that another node forwarded.

        Raises:
            HttpRefusal: 401: it is not valid for this node.
        """
        # Every incarnation of this process: another node may have read the list a moment before it changed.
        self._incarnations.add(self.store.incarnation)
        refused = "this server has no secret of its fleet"
        if self._signer is not None:
            for incarnation in self._incarnations:
                try:
                    return self._signer.read(value, self.name, incarnation)
                except PassRefused as error:
                    refused = str(error)
        log.warning("a forwarded request was refused: %s", refused)
        raise HttpRefusal(401, "fleet_pass", "This pass is not valid here")

    # --- the end

    async def drain(self) -> None:
        """Mark this node in the store as one that takes nothing new."""
        self._asked_to_drain = True
        try:
            await self.store.set_draining()
        except StoreError as error:
            log.warning("this node could not be marked as draining: %s", error)

    async def close(self) -> None:
        """Hand over: other nodes may claim the sessions of this one from now on; may be called again."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)
            self._refreshing = None
        try:
            await self.store.release_all()
        except StoreError as error:
            log.warning("the sessions of this node could not be handed over, they are free after its lease: %s", error)
