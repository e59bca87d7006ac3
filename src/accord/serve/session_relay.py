"""Relays the messages of sessions that another node of the fleet owns, between a client and that node.

The client has one connection, to this node, whose agent gets its messages unless another node owns their session: a
session that is opened is looked up in the store, and where another node owns it, that node gets the messages of the
session, on a link of its own in the name of the same principal. Requests of several agents would collide at the client
by their ids, so those of other nodes get ids of their own. A relayed message is never relayed again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from accord.agent.request_errors import lost_session, store_error
from accord.errors import RequestError, SessionInUse, StoreError, TransportError
from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.serialize import error_text
from accord.serve.fleet import Node, ServerFleet
from accord.serve.message_text import changed, params_of
from accord.serve.principals import Principal
from accord.serve.relay_ends import QUEUE_BYTES, LocalEnd, NodeLink, open_link
from accord.time_scale import scaled
from accord.transport import Transport
from accord.transport.routing import (
    CLOSING_METHODS,
    CREATING_METHODS,
    OPENING_METHODS,
    Envelope,
    read_agent_envelope,
    read_envelope,
    scope_of,
)

__all__ = ["SessionRelay"]

log = logging.getLogger("accord.serve")

RETRY_SECONDS = 0.2
# Beyond the lease of an owner that died: for the claim, and for a database that is slow.
CLAIM_SECONDS = scaled(5.0)
_CANCEL_REQUEST = "$/cancel_request"
_PLACED = OPENING_METHODS | CLOSING_METHODS
"""Requests that may name a session of which this connection knows nothing yet."""


@dataclass(eq=False)
class _Opening:
    """A request that is placed: sent to the agent of this node, or to the owner of its session."""

    text: bytes
    message: Envelope
    deadline: float
    link: NodeLink | None = None
    refusal: bytes | None = None
    """The last answer that says that the session is in use."""
    is_shown: bool = False
    """Whether a part of the session was sent to the client: then it cannot be tried again elsewhere."""

    @property
    def may_be_repeated(self) -> bool:
        """Whether another node may do it too, although the first one may have done it before it was lost."""
        return not self.is_shown and self.message.method not in CREATING_METHODS

    @property
    def session_id(self) -> str:
        return self.message.session_id or ""


class SessionRelay:
    """One connection of a client, to the agents of all nodes that own its sessions."""

    def __init__(self, client: Transport, principal: Principal, fleet: ServerFleet, max_bytes: int) -> None:
        self._client = client
        self._principal = principal
        self._fleet = fleet
        self._max_bytes = max_bytes
        self._local = LocalEnd(client, self._passes_local, lambda: not self._openings)
        self._initialize: bytes | None = None
        self._links: dict[str, NodeLink] = {}
        """By incarnation of the node."""
        self._routes: dict[str, NodeLink] = {}
        """The sessions of this client that other nodes own."""
        self._lost: set[str] = set()
        """Sessions whose node is gone, and that were not opened again."""
        self._calls: dict[RequestId, NodeLink] = {}
        """The client's requests that other nodes have to answer."""
        self._openings: dict[RequestId, _Opening] = {}
        self._waiting: dict[str, deque[bytes]] = {}
        """Messages of sessions that are being opened, until their node is known."""
        self._waiting_bytes = 0
        self._room = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._link_locks: dict[str, asyncio.Lock] = {}

    async def serve(self, serve_agent: Callable[[Transport], Awaitable[None]]) -> None:
        """Serve the client until it is gone, or the agent of this node has ended."""
        agent = self._start(serve_agent(self._local))
        reading = self._start(self._read())
        try:
            await asyncio.wait((agent, reading), return_when=asyncio.FIRST_COMPLETED)
            # The client is gone: the agent ends in its own time, and keeps the turns that go on.
            self._local.hang_up()
            await agent
        finally:
            self._local.hang_up()
            for link in list(self._links.values()):
                self._drop(link)
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.gather(*(link.close() for link in self._links.values()), return_exceptions=True)

    def _start(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- messages of the client

    async def _read(self) -> None:
        with contextlib.suppress(TransportError):
            while texts := await self._client.receive():
                for text in texts:
                    await self._dispatch(text)

    async def _dispatch(self, text: bytes) -> None:
        message = read_envelope(text)
        if message.kind == "answer":
            await self._answer(text, message)
            return
        if message.method == _CANCEL_REQUEST:
            await self._to(self._calls.get(params_of(text).get("requestId")), text)
            return
        if message.method == "initialize":
            self._initialize = text
        session_id = scope_of(message)
        if session_id is None:
            await self._local.put(text)
        elif session_id in self._waiting:
            self._waiting[session_id].append(text)
            self._waiting_bytes += len(text)
            await self._has_room()
        elif message.kind == "request" and message.method in _PLACED and session_id not in self._routes:
            self._begin_opening(text, message)
        else:
            await self._pass_on(text, message, session_id)

    async def _pass_on(self, text: bytes, message: Envelope, session_id: str) -> None:
        link = self._routes.get(session_id)
        if link is None and session_id in self._lost:
            if message.kind == "request":
                await self._refuse(message.id, lost_session(session_id))
            return
        if link is not None and message.kind == "request":
            self._calls[message.id] = link
            if message.method in _PLACED:
                # Its owner may have lost it: then it is placed anew.
                self._openings[message.id] = self._new_opening(text, message, link)
        await self._to(link, text)

    async def _answer(self, text: bytes, message: Envelope) -> None:
        """The answer to a question: it goes to the agent that asked."""
        for link in self._links.values():
            if message.id in link.questions:
                await self._to(link, changed(text, id=link.questions.pop(message.id)))
                return
        await self._local.put(text)

    async def _to(self, link: NodeLink | None, text: bytes) -> None:
        if link is None:
            await self._local.put(text)
            return
        # A link that is gone answers its requests when its end is noticed.
        with contextlib.suppress(TransportError):
            await link.transport.send(text)

    async def _refuse(self, id_: RequestId, error: RequestError) -> None:
        with contextlib.suppress(TransportError):
            await self._client.send(error_text(id_, ErrorObject(error.code, error.message, error.data)))

    # --- opening a session

    def _new_opening(self, text: bytes, message: Envelope, link: NodeLink | None = None) -> _Opening:
        seconds = self._fleet.store.lease_seconds + CLAIM_SECONDS
        return _Opening(text, message, asyncio.get_running_loop().time() + seconds, link)

    def _begin_opening(self, text: bytes, message: Envelope) -> None:
        opening = self._new_opening(text, message)
        self._openings[message.id] = opening
        self._waiting[opening.session_id] = deque()
        self._start(self._place(opening))

    async def _place(self, opening: _Opening) -> None:
        """Send the request to the node that owns its session, or to the agent here, which may claim it."""
        try:
            owner = await self._fleet.store.owner_of(opening.session_id)
        except StoreError as error:
            await self._fail(opening, store_error(error, opening.session_id))
            return
        link = None
        if owner is not None and owner.incarnation != self._fleet.store.incarnation:
            if opening.refusal is not None and opening.link is not None and opening.link.node == owner.incarnation:
                await self._give_up(opening)  # its owner itself refuses: it has it open in another edition
                return
            link = await self._link_to(owner)
            # Without a link the owner may be dead, and the claim of the agent here succeeds when that is certain.
        opening.link = link
        if link is not None:
            self._calls[opening.message.id] = link
        await self._to(link, opening.text)

    async def _place_again(self, opening: _Opening) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        if asyncio.get_running_loop().time() >= opening.deadline:
            await self._give_up(opening)
        else:
            await self._place(opening)

    async def _give_up(self, opening: _Opening) -> None:
        if opening.refusal is None:
            await self._fail(opening, SessionInUse(opening.session_id))
            return
        with contextlib.suppress(TransportError):
            await self._client.send(opening.refusal)
        self._placed(opening, is_open=False)

    async def _fail(self, opening: _Opening, error: RequestError) -> None:
        await self._refuse(opening.message.id, error)
        self._placed(opening, is_open=False)

    def _answered(self, text: bytes | bytearray, message: Envelope, link: NodeLink | None) -> bool:
        """Take an answer to an opening; whether the client gets it, because it is not tried elsewhere."""
        opening = self._openings.get(message.id)
        if opening is None or opening.link is not link:
            return True
        if message.is_error and not opening.is_shown and _is_in_use(text):
            opening.refusal = bytes(text)
            self._waiting.setdefault(opening.session_id, deque())
            self._route(opening.session_id, None)
            self._start(self._place_again(opening))
            return False
        self._placed(opening, is_open=not message.is_error, made=message.session_id)
        return True

    def _placed(self, opening: _Opening, *, is_open: bool, made: str | None = None) -> None:
        """End an opening: the messages that waited for the session go to its node."""
        self._openings.pop(opening.message.id, None)
        method, link = opening.message.method, opening.link
        if is_open and method in OPENING_METHODS:
            session_id = made if method in CREATING_METHODS and made else opening.session_id
            self._lost.discard(session_id)
            self._route(session_id, None if link is None or link.is_over else link)
        elif is_open:
            self._route(opening.session_id, None)
        if opening.session_id in self._waiting:
            self._start(self._catch_up(opening.session_id))

    def _route(self, session_id: str, link: NodeLink | None) -> None:
        """Relay a session over this link alone, or over none; counts it once."""
        former = self._routes.pop(session_id, None)
        if former is not None:
            former.sessions.discard(session_id)
            self._fleet.relayed_sessions -= 1
        if link is not None:
            self._routes[session_id] = link
            link.sessions.add(session_id)
            self._fleet.relayed_sessions += 1

    async def _catch_up(self, session_id: str) -> None:
        waiting = self._waiting[session_id]
        while waiting:
            text = waiting.popleft()
            self._waiting_bytes -= len(text)
            message = read_envelope(text)
            if message.kind == "request" and message.method in _PLACED and session_id not in self._routes:
                opening = self._openings[message.id] = self._new_opening(text, message)
                self._start(self._place(opening))
                return  # the rest waits for this one
            await self._pass_on(text, message, session_id)
        self._waiting.pop(session_id, None)
        self._room.set()

    async def _has_room(self) -> None:
        """Wait while much waits for sessions that are being opened: the client is not read then."""
        while self._waiting_bytes > QUEUE_BYTES:
            self._room.clear()
            await self._room.wait()

    # --- links to other nodes

    async def _link_to(self, node: Node) -> NodeLink | None:
        # One link to a node, and no waiting for another node that does not answer.
        async with self._link_locks.setdefault(node.incarnation, asyncio.Lock()):
            link = self._links.get(node.incarnation)
            if link is not None and not link.is_over:
                return link
            if self._initialize is None:
                return None
            link = await open_link(self._fleet, node, self._principal, self._initialize, self._max_bytes)
            if link is not None:
                self._links[node.incarnation] = link
                link.pump = self._start(self._pump(link, node))
            return link

    async def _pump(self, link: NodeLink, node: Node) -> None:
        try:
            with self._fleet.until_gone(node, link.abandon):
                while texts := await link.receive():
                    for text in texts:
                        if (given := self._from_link(link, text)) is not None:
                            await self._client.send(given)
        except TransportError as error:
            log.info("the link to node %s is lost: %s", node.name, error)
        finally:
            self._drop(link)
            await asyncio.shield(link.close())
            if self._links.get(node.incarnation) is link:
                del self._links[node.incarnation]

    def _from_link(self, link: NodeLink, text: bytes) -> bytes | None:
        """A message of another node's agent as the client gets it; None if it does not."""
        message = read_agent_envelope(text)
        if message.kind == "answer":
            self._calls.pop(message.id, None)
            return text if self._answered(text, message, link) else None
        if message.kind == "request":
            return changed(text, id=link.ask(message.id))
        if message.method == _CANCEL_REQUEST:
            params = params_of(text)
            asked = link.withdraw(params.get("requestId"))
            return None if asked is None else changed(text, params={**params, "requestId": asked})
        self._note_shown(message, link)
        return text

    def _passes_local(self, text: bytes | bytearray) -> bool:
        """Whether the client gets a message of the agent here."""
        message = read_agent_envelope(text)
        if message.kind == "answer":
            return self._answered(text, message, None)
        self._note_shown(message, None)
        return True

    def _note_shown(self, message: Envelope, link: NodeLink | None) -> None:
        for opening in self._openings.values():
            if opening.session_id == message.session_id and opening.link is link:
                opening.is_shown = True

    def _drop(self, link: NodeLink) -> None:
        """A link is gone: its requests are answered, its questions withdrawn, its sessions may be opened again."""
        if link.is_over:
            return
        link.is_over = True
        for session_id in link.sessions:
            if self._routes.get(session_id) is link:
                del self._routes[session_id]
                self._lost.add(session_id)
        self._fleet.relayed_sessions -= len(link.sessions)
        if self._client.hung_up:
            return
        for id_ in [id_ for id_, each in self._calls.items() if each is link]:
            del self._calls[id_]
            opening = self._openings.get(id_)
            if opening is not None and opening.link is link and opening.may_be_repeated:
                self._waiting.setdefault(opening.session_id, deque())
                self._start(self._place_again(opening))
            else:
                self._start(self._refuse_lost(id_, opening))
        for asked in list(link.questions):
            notice = {"jsonrpc": "2.0", "method": _CANCEL_REQUEST, "params": {"requestId": asked}}
            self._start(self._notify(json.dumps(notice, separators=(",", ":")).encode()))
        link.questions.clear()

    async def _refuse_lost(self, id_: RequestId, opening: _Opening | None) -> None:
        error = RequestError("The machine that has this session is gone", {"reason": "session_lost"}, code=-32603)
        if opening is None:
            await self._refuse(id_, error)
        else:
            await self._fail(opening, error)

    async def _notify(self, text: bytes) -> None:
        with contextlib.suppress(TransportError):
            await self._client.send(text)


def _is_in_use(text: bytes | bytearray) -> bool:
    error = json.loads(text).get("error")
    return isinstance(error, dict) and error.get("code") == SessionInUse.code
