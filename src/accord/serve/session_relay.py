"""Relays the messages of sessions that another node of the fleet owns, between a client and that node.

The client has one connection, to this node, whose agent gets its messages unless another node owns their session: a
session that is opened is looked up in the store, and where another node owns it, that node gets the messages of the
session, on a link of its own in the name of the same principal. Requests of several agents would collide at the client
by their ids, so those of other nodes get ids of their own. A relayed message is never relayed again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from accord.agent.request_errors import DRAINING, SESSION_LOST, lost_session, store_error
from accord.errors import RequestError, SessionInUse, StoreError, TransportError
from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.serialize import error_text
from accord.serve.fleet import Node, ServerFleet
from accord.serve.followed_sessions import FollowedSessions
from accord.serve.message_text import MOVED_METHOD, changed, params_of
from accord.serve.principals import Principal
from accord.serve.relay_ends import QUEUE_BYTES, LocalEnd, NodeLink, open_link
from accord.serve.relayed_requests import Opening, RelayedCall, reason_of, says_elsewhere
from accord.time_scale import scaled
from accord.transport import Transport
from accord.transport.remote import LinkReport
from accord.transport.routing import (
    CLOSING_METHODS,
    CREATING_METHODS,
    NEW_METHOD,
    OPENING_METHODS,
    PROMPT_METHOD,
    RESUME_METHOD,
    Envelope,
    read_agent_envelope,
    read_envelope,
    scope_of,
)

__all__ = ["SessionRelay"]

log = logging.getLogger("accord.serve")

# Beyond the lease of an owner that died: for the claim, and for a database that is slow.
CLAIM_SECONDS = scaled(5.0)
MAX_RETRY_SECONDS = 1.0
_CANCEL_REQUEST = "$/cancel_request"
_OWN = "_accord-fleet/follow/"  # the beginning of the ids of requests that the client has not sent
_PLACED = OPENING_METHODS | CLOSING_METHODS
"""Requests that may name a session of which this connection knows nothing yet."""


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
        self._followed_sessions = FollowedSessions(fleet.store)
        self._followed = 0
        self._calls: dict[RequestId, RelayedCall] = {}
        """The client's requests that other nodes have to answer."""
        self._openings: dict[RequestId, Opening] = {}
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
        self._fleet.on_lost.append(self._follow_lost)
        self._fleet.on_moved.append(self._follow_moved)
        try:
            await asyncio.wait((agent, reading), return_when=asyncio.FIRST_COMPLETED)
            # The client is gone: the agent ends in its own time, and keeps the turns that go on.
            self._local.hang_up()
            await agent
        finally:
            self._fleet.on_lost.remove(self._follow_lost)
            self._fleet.on_moved.remove(self._follow_moved)
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
            call = self._calls.get(params_of(text).get("requestId"))
            await self._to(None if call is None else call.link, text)
            return
        if message.method == "initialize":
            self._initialize = text
        elif message.method == NEW_METHOD and message.kind == "request":
            self._openings[message.id] = self._new_opening(text, message)
        session_id = scope_of(message)
        if session_id is None:
            await self._local.put(text)
        elif session_id in self._waiting:
            await self._keep_waiting(text, message, session_id)
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
            self._calls[message.id] = RelayedCall(link, text)
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

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._fleet.store.lease_seconds + CLAIM_SECONDS

    def _new_opening(self, text: bytes, message: Envelope, link: NodeLink | None = None) -> Opening:
        return Opening(text, message, self._deadline(), link)

    def _begin_opening(self, text: bytes, message: Envelope) -> None:
        opening = self._new_opening(text, message)
        self._openings[message.id] = opening
        self._waiting[opening.session_id] = deque()
        self._start(self._place(opening))

    async def _place(self, opening: Opening) -> None:
        """Send the request to the node that owns its session, or to the agent here, which may claim it."""
        try:
            owner = await self._place_of(opening)
        except StoreError as error:
            if opening.follows:
                await self._place_again(opening)
            else:
                await self._fail(opening, store_error(error, opening.session_id))
            return
        link = None
        if owner is not None:
            asked = None if opening.link is None or opening.follows else opening.link.node
            if opening.refusal is not None and asked == owner.incarnation:
                await self._give_up(opening)  # its owner itself refuses: it has it open in another edition
                return
            if owner.draining:
                # It hands the session over when its turn is over, and opens none.
                opening.deadline = self._deadline()
                await self._place_again(opening)
                return
            link = await self._link_to(owner)
            # Without a link the owner may be dead, and the claim of the agent here succeeds when that is certain.
        opening.link = link
        if link is not None:
            self._calls[opening.message.id] = RelayedCall(link, opening.text)
        await self._to(link, opening.text)

    async def _place_of(self, opening: Opening) -> Node | None:
        """The other node that has a session, or is to have it; None for this one."""
        store = self._fleet.store
        if opening.follows:
            await self._followed_sessions.set_cursor(opening)
        node: Node | None = await store.owner_of(opening.session_id)
        if node is None and opening.node:
            node = await self._fleet.node(opening.node)
        return None if node is None or node.incarnation == store.incarnation else node

    async def _place_again(self, opening: Opening) -> None:
        await asyncio.sleep(opening.pause_seconds)
        opening.pause_seconds = min(opening.pause_seconds * 2, MAX_RETRY_SECONDS)
        if asyncio.get_running_loop().time() < opening.deadline:
            await self._place(opening)
        else:
            await self._give_up(opening)

    async def _give_up(self, opening: Opening) -> None:
        if opening.follows or opening.refusal is None:
            await self._fail(opening, SessionInUse(opening.session_id))
            return
        with contextlib.suppress(TransportError):
            await self._client.send(opening.refusal)
        self._placed(opening, is_open=False)

    async def _fail(self, opening: Opening, error: RequestError) -> None:
        if opening.follows:
            self._lost.add(opening.session_id)
        else:
            await self._refuse(opening.message.id, error)
        self._placed(opening, is_open=False)

    def _answered(self, text: bytes | bytearray, message: Envelope, link: NodeLink | None) -> bool:
        """Take an answer to an opening; whether the client gets it, because it is not tried elsewhere."""
        opening = self._openings.get(message.id)
        if opening is None or opening.link is not link:
            return not str(message.id).startswith(_OWN)
        if message.is_error and (opening.follows or (not opening.is_shown and says_elsewhere(text))):
            opening.refusal = bytes(text)
            self._waiting.setdefault(opening.session_id, deque())
            self._route(opening.session_id, None)
            self._start(self._place_again(opening))
            return False
        self._placed(opening, is_open=not message.is_error, made=message.session_id)
        return not opening.follows

    def _placed(self, opening: Opening, *, is_open: bool, made: str | None = None) -> None:
        """End an opening: the messages that waited for the session go to its node."""
        self._openings.pop(opening.message.id, None)
        method, link = opening.message.method, opening.link
        if is_open and (method in OPENING_METHODS or method in CREATING_METHODS):
            session_id = made if method in CREATING_METHODS and made else opening.session_id
            self._lost.discard(session_id)
            self._route(session_id, None if link is None or link.is_over else link)
            self._start(self._followed_sessions.note(session_id, opening))
        elif is_open:
            self._route(opening.session_id, None)
            self._followed_sessions.forget(opening.session_id)
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

    def _hold(self, session_id: str, text: bytes) -> None:
        """Keep a message until the session's node is known."""
        self._waiting.setdefault(session_id, deque()).append(text)
        self._waiting_bytes += len(text)

    # --- following a session

    def _openings_of(self, session_id: str) -> list[Opening]:
        return [each for each in self._openings.values() if each.session_id == session_id]

    def _follow_lost(self, session_ids: frozenset[str]) -> None:
        for session_id in set(self._followed_sessions.among(session_ids)) - self._routes.keys():
            self._follow(session_id)

    def _follow_moved(self, session_id: str, node: str | None) -> None:
        if self._followed_sessions.among([session_id]) and session_id not in self._routes:
            self._waiting.setdefault(session_id, deque())  # for its release
            if node is not None:
                self._follow(session_id, node)

    def _follow(self, session_id: str, node: str = "") -> None:
        """A session has left its node: reopen it where it is next, and send the client what it missed meanwhile."""
        self._route(session_id, None)
        openings = self._openings_of(session_id)
        if any(each.follows for each in openings):
            return
        if openings or self._fleet.is_draining or session_id not in self._followed_sessions:
            self._lost.add(session_id)
            # The client itself reopens it where there is another opening.
            if session_id in self._waiting and not openings:
                self._start(self._catch_up(session_id))
            return
        self._followed += 1
        message = Envelope("request", f"{_OWN}{self._followed}", RESUME_METHOD, session_id)
        opening = self._openings[message.id] = self._new_opening(b"", message)
        opening.follows, opening.node = True, node
        self._waiting.setdefault(session_id, deque())
        self._start(self._place(opening))

    def _note_link(self, incarnation: str, report: LinkReport) -> None:
        """While a link is broken, its client may miss what its owner, which may live, writes."""
        (self._fleet.unreached.discard if report.kind == "resumed" else self._fleet.unreached.add)(incarnation)
        for session_id in link.sessions if (link := self._links.get(incarnation)) else ():
            if report.kind == "lost":
                self._start(self._followed_sessions.note_end(session_id))
            elif report.kind == "resumed":
                self._followed_sessions.resumed(session_id)

    async def _keep_waiting(self, text: bytes, message: Envelope, session_id: str) -> None:
        self._hold(session_id, text)
        if message.kind == "notification" and session_id in self._routes:
            # A cancel: also of the turn that runs until the session is handed over.
            await self._to(self._routes[session_id], text)
        await self._has_room()

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
            note = functools.partial(self._note_link, node.incarnation)
            link = await open_link(self._fleet, node, self._principal, self._initialize, self._max_bytes, note)
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
            call = self._calls.pop(message.id, None)
            if call is not None and message.is_error and self._goes_on(call, text):
                return None
            return text if self._answered(text, message, link) else None
        if message.method == MOVED_METHOD:
            params = params_of(text)
            if self._routes.get(params["sessionId"]) is link:
                self._follow(params["sessionId"], params["node"])
            return None
        if message.kind == "request":
            return changed(text, id=link.ask(message.id))
        if message.method == _CANCEL_REQUEST:
            params = params_of(text)
            shown = link.withdraw(params.get("requestId"))
            return None if shown is None else changed(text, params={**params, "requestId": shown})
        self._note_shown(message, link)
        return text

    def _goes_on(self, call: RelayedCall, text: bytes) -> bool:
        """Whether an error says that nothing was done for a prompt, which waits for the next node of its session."""
        message = read_envelope(call.text)
        if message.method != PROMPT_METHOD or reason_of(text) not in {DRAINING, SESSION_LOST}:
            return False
        session_id = message.session_id or ""
        self._hold(session_id, call.text)
        if self._routes.get(session_id) is call.link:
            if reason_of(text) == SESSION_LOST:
                self._follow(session_id)
        elif not self._openings_of(session_id):
            self._start(self._catch_up(session_id))  # it is there already
        return True

    def _passes_local(self, text: bytes | bytearray) -> bool:
        """Whether the client gets a message of the agent here."""
        message = read_agent_envelope(text)
        if message.kind == "answer":
            return self._answered(text, message, None)
        self._note_shown(message, None)
        return True

    def _note_shown(self, message: Envelope, link: NodeLink | None) -> None:
        for opening in self._openings.values():
            if opening.session_id == message.session_id and opening.link is link and not opening.follows:
                opening.is_shown = True

    def _drop(self, link: NodeLink) -> None:
        """A link is gone: its requests are answered, its questions withdrawn, its sessions may be opened again."""
        if link.is_over:
            return
        link.is_over = True
        for session_id in (left := list(link.sessions)):
            self._route(session_id, None)
        if self._client.hung_up:
            return
        for id_ in [id_ for id_, call in self._calls.items() if call.link is link]:
            text = self._calls.pop(id_).text
            opening = self._openings.get(id_)
            if opening is not None and opening.link is link and opening.may_be_repeated:
                self._waiting.setdefault(opening.session_id, deque())
                self._start(self._place_again(opening))
            else:
                self._start(self._refuse_lost(id_, text, opening))
        for asked in list(link.questions):
            notice = {"jsonrpc": "2.0", "method": _CANCEL_REQUEST, "params": {"requestId": asked}}
            self._start(self._notify(json.dumps(notice, separators=(",", ":")).encode()))
        link.questions.clear()
        for session_id in left:
            self._follow(session_id)

    async def _refuse_lost(self, id_: RequestId, text: bytes, opening: Opening | None) -> None:
        error = lost_session(read_envelope(text).session_id or "")
        await (self._refuse(id_, error) if opening is None else self._fail(opening, error))

    async def _notify(self, text: bytes) -> None:
        with contextlib.suppress(TransportError):
            await self._client.send(text)
