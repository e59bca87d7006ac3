"""The ends of a relay of sessions: the agent of this node, and links to those of other nodes as the same principal.

`session_relay` decides which of them gets a message of the client.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from accord.errors import ConnectFailed, TransportError
from accord.jsonrpc.message import RequestId
from accord.serve.fleet import Node, ServerFleet
from accord.serve.fleet_pass import FORWARD_HEADER, NOT_TRUSTED
from accord.serve.message_text import RESUME, changed, params_of
from accord.serve.node_forwarding import CONNECT_SECONDS, socket_address
from accord.serve.principals import Principal
from accord.time_scale import scaled
from accord.transport import Transport
from accord.transport.remote import LinkReport, RemoteOptions
from accord.transport.routing import read_envelope

__all__ = ["LocalEnd", "NodeLink", "open_link"]

log = logging.getLogger("accord.serve")

INITIALIZE_SECONDS = scaled(10.0)
_INITIALIZE_ID = "_accord-fleet/initialize"
QUEUE_BYTES = 1024 * 1024


class NodeLink:
    """The messages between a client of this node and the agent of another one."""

    def __init__(self, node: Node, transport: Transport, early: list[bytes]) -> None:
        self.node = node.incarnation
        self._name = node.name
        self.transport = transport
        self._early = early
        self.sessions: set[str] = set()
        """The sessions of the client that the node owns."""
        self.questions: dict[RequestId, RequestId] = {}
        """The ids of the agent's open requests, by those that the client sees."""
        self._asked = 0
        self.is_over = False
        self.pump: asyncio.Task[Any] | None = None

    def ask(self, id_: RequestId) -> RequestId:
        """The id of a request of the agent for the client: that of no other agent's request."""
        self._asked += 1
        asked = f"{self._name}/{self.node[:8]}/{self._asked}"
        self.questions[asked] = id_
        return asked

    def withdraw(self, id_: RequestId) -> RequestId | None:
        """The agent withdraws a request: the id that the client sees; None if it is answered."""
        for asked, original in self.questions.items():
            if original == id_ and type(original) is type(id_):
                # Kept until it is answered: JSON-RPC wants an answer to a request that was withdrawn, too.
                return asked
        return None

    async def receive(self) -> list[bytes]:
        if self._early:
            texts, self._early = self._early, []
            return texts
        return await self.transport.receive()

    def abandon(self) -> None:
        """The lease of the node has ended."""
        if self.pump is not None:
            self.pump.cancel()

    async def close(self) -> None:
        await self.transport.close()


async def open_link(
    fleet: ServerFleet,
    node: Node,
    principal: Principal,
    initialize: bytes,
    max_bytes: int,
    on_change: Callable[[LinkReport], None],
) -> NodeLink | None:
    """A link to a node, with the `initialize` of the client; None if the node cannot be reached, or refuses it."""
    from accord.transport.websocket import connect_websocket  # noqa: PLC0415 - only where a session is elsewhere

    options = RemoteOptions(
        headers={FORWARD_HEADER: fleet.pass_to(node, principal)},
        max_bytes=max_bytes,
        connect_seconds=CONNECT_SECONDS,
        # A lost link is tried again while the node may live; then its sessions belong to others.
        reconnect_seconds=fleet.store.lease_seconds,
        on_link=on_change,
    )
    transport: Transport | None = None
    try:
        transport = await fleet.while_live(node, connect_websocket(socket_address(node), options))
        answer, *early = await fleet.while_live(node, _introduced(transport, initialize))
        if read_envelope(answer).id == _INITIALIZE_ID and not read_envelope(answer).is_error:
            return NodeLink(node, transport, early)
        log.warning("node %s refused to be linked", node.name)
    except (TransportError, TimeoutError, ConnectionAbortedError) as error:
        is_refused = isinstance(error, ConnectFailed) and error.status == HTTPStatus.UNAUTHORIZED
        why = NOT_TRUSTED if is_refused else str(error) or type(error).__name__
        log.warning("node %s cannot be linked: %s", node.name, why)
    fleet.forget(node)
    if transport is not None:
        await transport.close()
    return None


async def _introduced(transport: Transport, initialize: bytes) -> list[bytes]:
    """The answer to `initialize`, and the texts that came with it."""
    async with asyncio.timeout(INITIALIZE_SECONDS):
        await transport.send(_own_initialize(initialize))
        return await transport.receive() or [b"{}"]


def _own_initialize(text: bytes) -> bytes:
    """The client's `initialize` for another node: under an id of ours, and as a new connection."""
    params = json.loads(json.dumps(params_of(text)))
    if isinstance(params.get("_meta"), dict):
        params["_meta"].pop(RESUME, None)
    return changed(text, id=_INITIALIZE_ID, params=params)


class LocalEnd:
    """A `Transport` between the agent of this node and a client that other nodes share.

    Texts of the agent go straight to the client; the relay puts texts of the client here. `passes` decides once for
    each message of the agent whether the client gets it, unless `passes_all` is true.
    """

    def __init__(
        self, client: Transport, passes: Callable[[bytes | bytearray], bool], passes_all: Callable[[], bool]
    ) -> None:
        self._client = client
        self._passes = passes
        self._passes_all = passes_all
        self._incoming: deque[bytes] = deque()
        self._incoming_bytes = 0
        self._receiver: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False

    @property
    def hung_up(self) -> bool:
        """See `Transport.hung_up`."""
        return self._ended or self._client.hung_up

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`."""
        if self._passes(text):
            await self._client.send(text)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """See `Transport.try_send`."""
        return self._passes_all() and self._client.try_send(texts)

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`."""
        while not self._incoming:
            if self._ended:
                return []
            self._receiver = asyncio.get_running_loop().create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        texts = list(self._incoming)
        self._incoming.clear()
        self._incoming_bytes = 0
        self._room.set()
        return texts

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._client.close()
        self.hang_up()

    async def put(self, text: bytes) -> None:
        """Give the agent one text; waits while more than `QUEUE_BYTES` are unread."""
        self._incoming.append(text)
        self._incoming_bytes += len(text)
        self._wake()
        if self._incoming_bytes > QUEUE_BYTES and not self._ended:
            self._room.clear()
            await self._room.wait()

    def hang_up(self) -> None:
        """The client is gone."""
        self._ended = True
        self._room.set()
        self._wake()

    def _wake(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)
