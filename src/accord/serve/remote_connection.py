"""One connection of a remote client: opened by `initialize`, and kept while its links are lost and replaced.

It has the agent on one side, as a `Transport`, and the streams of the client on the other. It knows neither sockets nor
HTTP: `websocket` and `http` bring messages and take them from the streams.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from accord.agent.request_errors import draining
from accord.display import exact
from accord.errors import InvalidParams, InvalidRequest, RequestError
from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.serialize import error_text
from accord.serve.agent_transport import AgentTransport
from accord.serve.message_text import MOVED_METHOD, advertise, changed, params_of
from accord.serve.metrics import Metrics
from accord.serve.options import HostLimits
from accord.serve.outgoing_stream import OutgoingStream, OutgoingStreams, StreamLink
from accord.serve.principals import Credentials, Principal
from accord.serve.session_rules import LIST, SessionRules, check_names
from accord.time_scale import scaled
from accord.transport.routing import (
    BEGINNING_METHODS,
    CREATING_METHODS,
    PROMPT_METHOD,
    Envelope,
    ServerRoutes,
    Stream,
    read_agent_envelope,
    read_envelope,
    read_updates,
)

__all__ = ["RemoteConnection", "new_connection_id"]

log = logging.getLogger("accord.serve")

LAST_WRITE_SECONDS = scaled(2.0)
_CANCEL_REQUEST = "$/cancel_request"
_IDLE = re.compile(rb'"state"\s*:\s*"idle"')
_SHOWN_CHARACTERS = 200


def new_connection_id() -> str:
    """An id that cannot be guessed; it is a name and no credential."""
    return secrets.token_hex(16)


class LinkWriter(Protocol):
    """A task that writes to a link, or the link."""

    def cancel(self) -> object: ...


def _is_end(text: bytes | bytearray) -> bool:
    # The output of a tool may have such a state, too.
    return b'"state_update"' in text and _IDLE.search(text) is not None


class RemoteConnection:
    """A connection from its `initialize` to its end.

    `has_session_streams` is true for HTTP, where every session has a stream of its own; else there is one stream, None.
    """

    is_draining = False
    """Whether the server is about to end: nothing new is begun."""

    def __init__(
        self,
        principal: Principal,
        credentials: Credentials,
        rules: SessionRules,
        limits: HostLimits,
        metrics: Metrics,
        *,
        has_session_streams: bool,
        connection_id: str = "",
    ) -> None:
        self.id: str = connection_id or new_connection_id()
        self.principal = principal
        self.credentials = credentials
        self.has_session_streams = has_session_streams
        self._rules = rules
        self._metrics = metrics
        self._grace_seconds = limits.grace_seconds
        self.streams = OutgoingStreams(limits.held_bytes, limits.replay_bytes)
        self._routes = ServerRoutes() if has_session_streams else None
        self._calls: dict[RequestId, Envelope] = {}
        """The client's requests that the agent has not answered."""
        self._questions: dict[RequestId, bytes] = {}
        """The agent's requests that the client has not answered."""
        self._sessions: dict[str, bool] = {}
        """Those that are open, and whether a turn goes on whose prompt is answered (v2)."""
        self._generation = 0
        """How many connections had this agent before."""
        self._agent_ids: dict[RequestId, RequestId] = {}
        """The client's ids by those that the agent sees, where it was taken over."""
        self._abandoned: frozenset[RequestId] = frozenset()
        """The ids of requests, as the agent sees them, whose client is gone."""
        self.received = 0
        """How many messages of the client were accepted behind `initialize`."""
        self.message_number = 0
        """The last `Accord-Message-Number` that was accepted."""
        self.agent = AgentTransport(self)
        self.initialize_params: dict[str, Any] = {}
        self.initialize_answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.on_initialized: Callable[[bytes], None] | None = None
        """Gets the agent's answer to `initialize`, unless it is an error."""
        self.links = 0
        self.was_linked = False
        self.is_left = False
        """Whether its client cannot go on with it, also if a link is still open; see `leave`."""
        self.detached_at = self.progressed_at = time.monotonic()
        self.end_reason = ""
        self.closing: list[Callable[[], None]] = []
        """Called when the connection ends."""
        self.writers: dict[LinkWriter, None] = {}
        """The tasks that write to links, or links that write by themselves."""

    def __repr__(self) -> str:
        return f"<connection {self.id[:8]} of {self.principal.name}>"

    # --- messages of the client

    def begin(self, text: bytes, message: Envelope, params: dict[str, Any]) -> None:
        """The first message, `initialize`; its answer is `initialize_answer`."""
        self.initialize_params = params
        self._calls[message.id] = message
        self.agent.offer(text)

    def answer_at_once(self, answer: bytes, start: Callable[[], object]) -> None:
        """Answer `initialize` for the agent, which starts with the next message. Its own answer is dropped then."""
        id_ = next(iter(self._calls))

        def begin() -> None:
            self._abandoned |= {id_}
            start()

        self.deliver(changed(answer, id=id_))
        self.agent.begin_with_next(begin)

    def receive(self, text: bytes, message: Envelope, header: str | None = None) -> None:
        """Take one message of the client: it goes to the agent, or is answered here."""
        self.received += 1
        self._metrics.received_messages += 1
        if message.kind == "answer":
            # An answer to no open request is dropped: a second one, or a late one.
            if message.id in self._questions and self._is_answer(text):
                del self._questions[message.id]
                self.agent.offer(text)
            return
        try:
            self._rules.check(message, text, is_open=message.session_id in self._sessions)
            if message.kind == "request":
                text = self._judged(text, message)
            elif self._rules.opens(message):
                raise InvalidRequest("A session is opened by a request")
        except RequestError as error:
            self._refuse(message, error, header)
            return
        except RecursionError:
            # Nested so deeply that the first parser could read it, and this one, lower in the stack, cannot.
            self._refuse(message, InvalidRequest(), header)
            return
        if message.kind == "request":
            self._note_request(message, header)
        self.agent.offer(self._for_agent(text, message) if self._generation else text)

    def _is_answer(self, text: bytes) -> bool:
        """Whether an answer is one also to a reader that ignores the case of names."""
        try:
            check_names(text)
        except (InvalidParams, RecursionError):
            self._metrics.refusals["message"] += 1
            log.info("dropped an answer of %s: other readers may take it for a request", self.principal.name)
            return False
        return True

    def refuse_text(self, answer: bytes) -> None:
        """Answer a text of the client that is no message."""
        self.received += 1
        self._metrics.refusals["message"] += 1
        log.info("refused a text of %s: no JSON-RPC message", self.principal.name)
        self.deliver(answer)

    def _judged(self, text: bytes, message: Envelope) -> bytes:
        if message.method == "initialize":
            raise InvalidRequest("This connection is initialized already")
        if self.is_draining and message.method in BEGINNING_METHODS:
            raise draining(message.session_id)
        return self._rules.judge_opening(text) if self._rules.opens(message) else text

    def _refuse(self, message: Envelope, error: RequestError, header: str | None = None) -> None:
        """Answer a request here; a notification is dropped."""
        method = exact(message.method, _SHOWN_CHARACTERS)
        log.info("refused %s of %s: %d %s", method, self.principal.name, error.code, error.message)
        self._metrics.refusals[f"code{error.code}"] += 1
        if message.kind == "request":
            if message.id is None:
                # Editions differ on such a request; to refuse it for its id is right in each.
                error = InvalidRequest()
            self._note_request(message, header)
            self.deliver(error_text(message.id, ErrorObject(error.code, error.message, error.data)))

    def _note_request(self, message: Envelope, header: str | None) -> None:
        self._calls[message.id] = message
        if self._routes is not None:
            has_reader = message.session_id is not None and self.streams.is_read(message.session_id)
            self._routes.received(message, header=header, has_reader=has_reader)

    def open_calls(self) -> list[RequestId]:
        return list(self._calls)

    @property
    def is_initialized(self) -> bool:
        """Whether the agent has answered `initialize` with a result."""
        answer = self.initialize_answer
        return answer.done() and not answer.cancelled() and not read_envelope(answer.result()).is_error

    @property
    def is_busy(self) -> bool:
        """Whether the agent works for the client: a request is not answered, or a question waits."""
        return bool(self._calls or self._questions or self._abandoned or any(self._sessions.values()))

    @property
    def sessions_at_work(self) -> set[str | None]:
        """The sessions that open requests name."""
        return {call.session_id for call in self._calls.values()}

    def watches(self, sessions: set[str]) -> bool:
        """Whether its client has one of these open."""
        return not sessions.isdisjoint(self._sessions)

    def moved(self, session_id: str, node: str) -> None:
        """Tell the node behind this connection that it may open a session elsewhere: on `node`, where one is named."""
        if self.credentials.forwarded_by is not None and session_id in self._sessions:
            notice = {"jsonrpc": "2.0", "method": MOVED_METHOD, "params": {"sessionId": session_id, "node": node}}
            self.deliver(json.dumps(notice).encode())

    @property
    def is_unused(self) -> bool:
        """Whether it may make room for another one: it has no link, no session and no open work."""
        return not self.links and not (self.was_linked and (self._sessions or self.is_busy))

    def has_unread(self, left_at: float) -> bool:
        """Whether something waits for a client that is here, or was here after that time."""
        return bool(self.streams.waiting_bytes) and (self.links > 0 or self.detached_at > left_at)

    def awaits_client(self, left_at: float) -> bool:
        """Whether all open work waits for the answer to a question, of a client that left before that time."""
        if self.links or self.detached_at > left_at or self._abandoned or not self._questions:
            return False
        asking = {read_envelope(question).session_id for question in self._questions.values()}
        return all(call.session_id in asking for call in self._calls.values())

    # --- a takeover

    def adopt(self, orphan: RemoteConnection) -> None:
        """Go on with the agent of another connection, which ends without it.

        Messages for the other client are dropped: it had other requests, and the new one opens its sessions again.
        Questions without an answer are asked again then.
        """
        self._generation = orphan._generation + 1
        self.agent = orphan.agent
        self.agent.peer = self
        self.initialize_params = orphan.initialize_params
        answer = advertise(orphan.initialize_answer.result(), self.id, self._grace_seconds)
        self.initialize_answer.set_result(answer)
        self._questions = orphan._questions
        self._abandoned = orphan._abandoned | orphan._ids_of_agent()
        self._sessions, orphan._sessions = orphan._sessions, {}
        orphan.end_reason = "another connection took its agent over"
        for callback in orphan.closing:
            callback()
        self.agent.advance()

    def _ids_of_agent(self) -> set[RequestId]:
        """The ids of the open requests, as the agent sees them."""
        return {self._agent_id(id_) if self._generation else id_ for id_ in self._calls}

    def _agent_id(self, id_: RequestId) -> RequestId:
        return f"{self._generation}/{json.dumps(id_)}"

    def _for_agent(self, text: bytes, message: Envelope) -> bytes:
        """A message under an id that no client before used: their requests may still be open."""
        if message.kind == "request":
            agent_id = self._agent_id(message.id)
            self._agent_ids[agent_id] = message.id
            return changed(text, id=agent_id)
        if message.method == _CANCEL_REQUEST:
            params = params_of(text)
            return changed(text, params={**params, "requestId": self._agent_id(params.get("requestId"))})
        return text

    def _ask_again(self, session_id: str | None) -> None:
        """The client has opened a session of the one before: it gets the questions that wait in it."""
        for question in list(self._questions.values()):
            message = read_envelope(question)
            if message.session_id == session_id:
                self._append(message, question)

    # --- messages of the agent

    def has_room(self, size_bytes: int) -> bool:
        return self.streams.has_room(size_bytes)

    def is_over(self) -> bool:
        return self.streams.is_over

    def deliver(self, text: bytes | bytearray) -> None:
        """Put a message of the agent into its stream."""
        message = read_agent_envelope(text)
        given = bytes(text)
        self._metrics.sent_messages += 1
        if message.kind == "answer":
            self._deliver_answer(given, message)
            return
        if message.kind == "request":
            self._questions[message.id] = given
        else:
            self._note_ends(message.session_id, [given])
        self._append(message, given)

    def _note_ends(self, session_id: str | None, texts: Sequence[bytes | bytearray]) -> None:
        """Note that a turn whose prompt is answered is over."""
        if session_id is not None and self._sessions.get(session_id) and any(map(_is_end, texts)):
            self._sessions[session_id] = False

    def deliver_all(self, texts: Sequence[bytes | bytearray]) -> None:
        """`deliver` for several. Updates of one session, as a turn sends them, are read and delivered together."""
        updates = read_updates(texts) if len(texts) > 1 else None
        if updates is None:
            for text in texts:
                self.deliver(text)
            return
        self._metrics.sent_messages += len(texts)
        self._note_ends(updates.session_id, texts)
        self.streams.extend(self._stream_of(updates), list(map(bytes, texts)))

    def _deliver_answer(self, text: bytes, message: Envelope) -> None:
        if message.id in self._abandoned:
            self._abandoned -= {message.id}
            return
        if message.id in self._agent_ids:
            message = message._replace(id=self._agent_ids.pop(message.id))
            text = changed(text, id=message.id)
        call = self._calls.pop(message.id, None)
        if call is None:
            self._append(message, text)
        elif call.method == "initialize" and not self.initialize_answer.done():
            if self.on_initialized is not None and not message.is_error:
                self.on_initialized(text)
            self.on_initialized = None
            self.initialize_answer.set_result(advertise(text, self.id, self._grace_seconds))
        else:
            self._append(message, text if message.is_error else self._noted(call, message, text))
            if self._generation and self._rules.opens(call):
                self._ask_again(call.session_id)

    def _noted(self, call: Envelope, message: Envelope, text: bytes) -> bytes:
        """Apply a result to the open sessions of the principal; returns the text for the client."""
        if call.method == PROMPT_METHOD and call.session_id in self._sessions:
            self._sessions[call.session_id] = b'"stopReason"' not in text
        if call.method == LIST:
            return self._rules.filter_list(text)
        if self._rules.opens(call):
            session_id = message.session_id if call.method in CREATING_METHODS else call.session_id
            if session_id is not None and session_id not in self._sessions:
                self._sessions[session_id] = False
                self._rules.opened(session_id)
        elif self._rules.ends(call.method) and call.session_id is not None:
            self._rules.ended(call.method, call.session_id)
            if call.session_id in self._sessions:
                del self._sessions[call.session_id]
                self._rules.closed(call.session_id)
        return text

    def _append(self, message: Envelope, text: bytes) -> None:
        self.streams.extend(self._stream_of(message), [text])

    def _stream_of(self, message: Envelope) -> Stream:
        return None if self._routes is None else self._routes.stream_of(message)

    # --- links

    def attach(self) -> None:
        """Count a new link."""
        self.links += 1
        self.was_linked = True
        self.progressed_at = time.monotonic()

    def detach(self) -> None:
        """Count a link that has ended."""
        self.links -= 1
        self._metrics.lost_links += not self.end_reason
        if not self.links:
            self.detached_at = time.monotonic()

    def leave(self) -> None:
        """Note that the client reported its link as lost: one that is still open here has no client behind it."""
        self.is_left = True
        self.detached_at = time.monotonic()
        link = StreamLink(self.streams.get(None))  # an older one ends now
        link.end()

    def take(self, stream: OutgoingStream) -> tuple[int, list[bytes]]:
        """The next messages of a stream, for its link, and the number of the first."""
        taken = self.streams.take(stream)
        self.progressed_at = time.monotonic()
        self.agent.advance()
        return taken

    def acknowledge(self, stream: Stream, cursor: int) -> None:
        """The client has everything of a stream up to the cursor; from now on nothing else is forgotten."""
        self.streams.acknowledge(stream, cursor)
        self.agent.advance()

    def rewind(self, stream: Stream, cursor: int) -> bool:
        """Begin a stream again behind the cursor; False if that cannot be done."""
        return self.streams.rewind(stream, cursor)

    # --- the end

    @property
    def has_ended(self) -> bool:
        return bool(self.end_reason)

    def end(self, reason: str) -> None:
        """End the connection: its requests are answered with an error, its links and its agent end."""
        if self.end_reason:
            return
        self.end_reason = reason
        log.info("connection %s of %s ended: %s", self.id[:8], self.principal.name, reason)
        for call in list(self._calls.values()):
            error = ErrorObject(-32603, "The agent's connection ended", {"reason": "connection_ended"})
            self.deliver(error_text(call.id, error))
        for session_id in self._sessions:
            self._rules.closed(session_id)
        self._sessions.clear()
        self.agent.hang_up()
        if not self.initialize_answer.done():
            self.initialize_answer.cancel()
        self.streams.wake()
        self._stop_writers()
        for callback in self.closing:
            callback()

    def _stop_writers(self) -> None:
        """Cancel the writers after a while: they write waiting messages first, endlessly if the client never reads."""
        loop = asyncio.get_running_loop()
        for writer in self.writers:
            loop.call_later(LAST_WRITE_SECONDS, writer.cancel)
