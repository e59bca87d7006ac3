"""The receiving half of a connection: dispatches each incoming message to a session lane, a call or a handler.

Texts that begin as nearly all do take one decode pass (`jsonrpc.fast_decode`), everything else goes through
`jsonrpc.parse` and a second pass over the params.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn

from accord.connection.budget import OVERHEAD_BYTES, Budget
from accord.connection.error_objects import internal_error, invalid_params, not_found, refused
from accord.connection.handlers import Handler, Handlers
from accord.connection.handshake import Handshake, announcing, complete
from accord.connection.incoming import IncomingRequests
from accord.connection.lanes import Lanes, in_lane, waiting
from accord.connection.outgoing import OutgoingCalls
from accord.connection.request import OpenRequest, WithdrawnByPeer
from accord.connection.sender import Observer
from accord.connection.update_batches import (
    BATCHED,
    CalledRuns,
    CalledUpdates,
    ReadBatch,
    RunsOfUpdates,
    Updates,
    queued_updates,
)
from accord.jsonrpc.fast_decode import HEAD, REFUSED, Decode, is_utf8, request_decoder, result_decoder, shared_head
from accord.jsonrpc.message import (
    ErrorObject,
    Failure,
    JsonText,
    Malformed,
    MessageRules,
    Notification,
    ParsedMessage,
    Request,
    Result,
    named_id,
)
from accord.jsonrpc.parse import parse
from accord.jsonrpc.serialize import BatchAnswer
from accord.protocol.codec import Codec, decoder_for, parse_json
from accord.protocol.edition import Edition
from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.protocol.salvage import Misfit

__all__ = ["Counts", "Receiver"]

log = logging.getLogger("accord.connection")

_BEFORE = MessageRules(null_ids=True, batches=False)
_WITH_BATCHES = MessageRules(null_ids=True, batches=True)


class Counts:
    """Tolerated violations so far: each was answered with an error at most, and none of them closed the link."""

    def __init__(self) -> None:
        self.malformed: int = 0
        """Texts that are no message."""
        self.unknown_notifications: int = 0
        """Notifications without a handler."""
        self.bad_notifications: int = 0
        """Notifications whose params do not fit."""
        self.internal_errors: int = 0
        """Texts that this library could not handle: a bug of ours; the log has it."""
        self.failed_handlers: int = 0
        """Notification handlers that raised; the log has the exceptions."""


class Receiver:
    def __init__(
        self,
        side: Literal["agent", "client"],
        handlers: Handlers,
        handshake: Handshake,
        outgoing: OutgoingCalls,
        incoming: IncomingRequests,
        lanes: Lanes,
        budget: Budget,
        codec: Codec,
    ) -> None:
        self._side: Literal["agent", "client"] = side
        self._handlers = handlers
        self._handshake = handshake
        self._outgoing = outgoing
        self._incoming = incoming
        self._lanes = lanes
        self._budget = budget
        self._codec = codec
        self._edition: Edition | None = None
        self._rules = _BEFORE
        self._updates: Updates | None = None
        self._requests: dict[bytes, tuple[RequestMethod[Any, Any], Decode]] = {}
        """The methods that were called so far, by name, and how a whole request is decoded."""
        self.counts = Counts()
        self.observers: tuple[Observer, ...] = ()
        self.on_edition: Callable[[], None] = lambda: None
        """Called when an edition was agreed on."""
        self.ended = False
        """Whether the link is gone: then no more texts are dispatched."""

    @property
    def edition(self) -> Edition | None:
        return self._edition

    @edition.setter
    def edition(self, edition: Edition) -> None:
        self._edition = edition
        self._rules = edition.rules
        self._updates = None
        self._requests = {}
        self._outgoing.cancels = edition.cancels_requests
        self.on_edition()

    def propose(self, editions: Sequence[Edition]) -> None:
        """One of these will be agreed on: until then their batches are read, as the answer may come in one."""
        if self._edition is None:
            self._rules = MessageRules(null_ids=True, batches=any(each.rules.batches for each in editions))

    # --- texts

    def take(self, batch: ReadBatch) -> bool:
        """Dispatch the texts of one read; False while there is no room for more, which leaves the rest of them.

        Never waits; raises the exceptions of observers.
        """
        may_continue = True
        # At least one, also when the budget is spent: a handler may wait for an answer that is among them.
        while may_continue:
            text = next(batch.left, None) if self._updates is None or self.observers else self._updates.take(batch)
            if text is None:
                return self._may_continue()
            for observer in self.observers:
                observer("in", text)
            try:
                self._take(text)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not become the end of the connection
                self.counts.internal_errors += 1
                self._take_failed(text, internal_error(error, "reading a message"))
            may_continue = self._may_continue()
        return False

    def _may_continue(self) -> bool:
        budget = self._budget
        return (budget.bytes <= budget.max_bytes or not budget.full) and not self.ended

    def _take_failed(self, text: bytes, error: ErrorObject) -> None:
        """Answer a text that failed to parse: it may be a request."""
        message = parse(text, self._rules)
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, Request) and not self._incoming.owes(each.id):
                self._incoming.refuse(each.id, error, each.method)

    def _take(self, text: bytes) -> None:
        # Nearly all requests and results take one pass, in a third of the time (see `fast_decode`). In strict mode none
        # does: the fast decode tolerates keys that strict mode reports.
        head = None if self._codec.strict else HEAD.match(text)
        if head is not None and is_utf8(text) and self._take_at_once(head[1], head[2], text):
            return
        message = parse(text, self._rules)
        if self._handshake.held is not None and isinstance(message, list | Request | Notification):
            self._budget.add(len(text) + OVERHEAD_BYTES)
            self._handshake.held.append(text)
        elif isinstance(message, list):
            self._take_batch(message)
        else:
            self._take_message(message, text, None)

    def _take_at_once(self, id_: bytes | None, name: bytes, text: bytes) -> bool:
        if id_ is not None:
            return self._take_result_at_once(int(id_), text)
        if self._handshake.held is not None:
            return False
        known = self._requests.get(name) or self._learn_request(name)
        if known is None:
            return False
        method, decode = known
        handler = self._handlers.by_method.get(method)
        if handler is None:
            return False
        try:
            envelope = decode(text)
        except REFUSED:
            return False
        params = envelope.params
        opened = OpenRequest(envelope.id, method.name, handler, params, method.result, None, len(text))
        self._accept(opened, method, _session_of(params), len(text))
        return True

    def _learn_request(self, name: bytes) -> tuple[RequestMethod[Any, Any], Decode] | None:
        method = None if self._edition is None else self._edition.request(self._side, name.decode())
        if method is None or method.name == "initialize":
            return None
        known = self._requests[name] = method, request_decoder(method.name, method.params, decoder_for)
        return known

    def _take_result_at_once(self, id_: int, text: bytes) -> bool:
        call = self._outgoing.waiting(id_)
        if call is None or call.result is Any:
            return False
        try:
            envelope = result_decoder(call.result, decoder_for)(text)
        except REFUSED:
            return False
        if envelope.id != id_:
            return False
        self._outgoing.succeed_typed(id_, call, envelope.result)
        return True

    def _take_batch(self, messages: list[ParsedMessage]) -> None:
        wanted = sum(
            isinstance(message, Request) or (isinstance(message, Malformed) and message.error is not None)
            for message in messages
        )
        batch = BatchAnswer(wanted)
        for message in messages:
            self._take_message(message, b"", batch)

    # --- messages

    def _take_message(self, message: ParsedMessage, text: bytes, batch: BatchAnswer | None) -> None:
        if isinstance(message, Request):
            if message.method == "initialize" and self._side == "agent":
                self._initialize(message, batch)
            else:
                self._take_request(message, len(text) or _size_of(message.params), batch)
        elif isinstance(message, Result):
            self._outgoing.succeed(message.id, message.result)
        elif isinstance(message, Notification):
            self._take_notification(message, text)
        elif isinstance(message, Failure):
            self._outgoing.fail(message.id, message.error)
        else:
            self._take_malformed(message, text, batch)

    def _take_malformed(self, message: Malformed, text: bytes, batch: BatchAnswer | None) -> None:
        self.counts.malformed += 1
        if message.error is None:
            self._outgoing.spoil(message.id, message.reason)
            return
        # Stray prints of an agent arrive at its client: they are no messages and are not answered.
        if self._side == "agent" or batch is not None or text.lstrip()[:1] in (b"{", b"["):
            self._incoming.refuse(message.id, message.error, "a malformed message", batch)
        # Until an edition is agreed on, the right answer may follow, and a deadline bounds the wait for it.
        if self._edition is not None and text.lstrip()[:1] == b"[":
            entries = parse(text, _WITH_BATCHES)
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, Result | Failure):
                    self._outgoing.spoil(entry.id, "an array")

    def _take_request(self, request: Request, size: int, batch: BatchAnswer | None) -> None:
        self._handshake.used = True
        if self._edition is None:
            error = refused("The first request must be initialize")
            self._incoming.refuse(request.id, error, request.method, batch)
            return
        method = self._edition.request(self._side, request.method)
        if method is None:
            self._take_extension_request(request, size, batch)
            return
        handler = self._handlers.by_method.get(method)
        if handler is None:
            self._incoming.refuse(request.id, not_found(request.method), request.method, batch)
            return
        try:
            params = self._codec.decode(method.params, _given(request.params))
        except Misfit as misfit:
            self._incoming.refuse(request.id, invalid_params(misfit), request.method, batch)
            return
        opened = OpenRequest(request.id, request.method, handler, params, method.result, batch, size)
        self._accept(opened, method, _session_of(params), size)

    def _take_extension_request(self, request: Request, size: int, batch: BatchAnswer | None) -> None:
        handler = self._handlers.extension_requests.get(request.method)
        if handler is None:
            self._incoming.refuse(request.id, not_found(request.method), request.method, batch)
            return
        params = _plain(request.params)
        opened = OpenRequest(request.id, request.method, handler, params, Any, batch, size)
        self._accept(opened, None, _session_in(params), size)

    def _accept(self, opened: OpenRequest, method: Method | None, session: str | None, size: int) -> None:
        """Start a request when the earlier notifications of its session were handled."""
        if not self._incoming.open(opened):
            return
        self._handshake.used = True
        arrivals = self._handlers.arrivals
        if method is not None and method in arrivals:
            try:
                opened.arrival = arrivals[method](opened.params)
                opened.arrived = True
            except Exception as error:  # noqa: BLE001 - it becomes the answer, as if the handler had raised it
                opened.handler = Handler(functools.partial(_raise, error), suspends=False)
        if self._lanes.get(session) is None:
            self._incoming.start(opened)
            return
        weight = size + OVERHEAD_BYTES
        self._budget.add(weight)
        self._lanes.add(session, (self._incoming.start, opened, weight))

    def _take_notification(self, notification: Notification, text: bytes) -> None:
        if notification.method == "$/cancel_request":
            self._take_cancel(notification.params)
            return
        method = None if self._edition is None else self._edition.notification(self._side, notification.method)
        if method is None:
            self._take_extension_notification(notification, len(text))
            return
        handler, arrival = self._handlers.by_method.get(method), self._handlers.arrivals.get(method)
        if handler is None and arrival is None:
            self.counts.unknown_notifications += 1
            return
        try:
            params = self._codec.decode(method.params, _given(notification.params))
        except Misfit as misfit:
            self.counts.bad_notifications += 1
            log.warning("a %s notification was dropped: %s", method.name, misfit)
            return
        if arrival is not None:
            self._hook(arrival, params)
        if handler is not None:
            if method.name == BATCHED and self._updates is None and not self._codec.strict:
                self._updates = self._learn_updates(text, method, handler)
            self._queue(handler, params, _session_of(params), len(text))

    def _learn_updates(self, text: bytes, method: NotificationMethod[Any], handler: Handler) -> Updates | None:
        head, arrival = shared_head(text, method.name), self._handlers.arrivals.get(method)
        if head is None:
            return None
        if handler.suspends and arrival is None:
            return queued_updates(head, method, handler, self._lanes, self._budget)
        handle = self._handle_of(handler, arrival)
        if handler.call_run is not None and arrival is None:
            runs = CalledRuns(handler, self._lanes, self._budget, self.failed)
            return RunsOfUpdates(head, method, self._budget, handle, runs.handle)
        return CalledUpdates(head, method, handle)

    def _handle_of(self, handler: Handler, arrival: Callable[[Any], object] | None) -> Callable[[Any, int], bool]:
        """The function that is called with each update and its size; it returns whether there is room for more."""
        call, lanes = handler.call, self._lanes

        def handle(params: Any, size: int) -> bool:
            if arrival is not None:
                self._hook(arrival, params)
            session = params.session_id
            if handler.suspends or lanes.get(session) is not None:
                self._queue(handler, params, session, size)
                return self._may_continue()
            # What `_queue` and `_run_at_once` do, without two calls: 5 % of the time of a client with a transcript.
            try:
                result = call(params)
            except Exception as error:  # noqa: BLE001 - whatever a handler does, the next text is read
                self.failed(error)
            else:
                if result is not None and hasattr(result, "__await__"):
                    lanes.add(session, (waiting, result, 0))
            return self._may_continue()

        return handle

    def _take_extension_notification(self, notification: Notification, size: int) -> None:
        handler = self._handlers.extension_notifications.get(notification.method)
        if handler is None:
            self.counts.unknown_notifications += 1
            return
        params = _plain(notification.params)
        self._queue(handler, params, _session_in(params), size)

    def _take_cancel(self, params: JsonText | None) -> None:
        value = _plain(params)
        id_ = named_id(value.get("requestId")) if isinstance(value, dict) else None
        if type(id_) in (int, str):
            meta = value.get("_meta")
            self._incoming.cancel(id_, WithdrawnByPeer(meta) if isinstance(meta, dict) else None)

    # --- running

    def _queue(self, handler: Handler, params: Any, session: str | None, size: int) -> None:
        if handler.suspends or self._lanes.get(session) is not None:
            weight = size + OVERHEAD_BYTES
            self._budget.add(weight)
            self._lanes.add(session, (in_lane(handler), params, weight))
        else:
            self._run_at_once(handler.call, params, session)

    def _run_at_once(self, call: Callable[[Any], Any], params: Any, session: str | None) -> None:
        """A plain function whose lane is empty needs no task."""
        try:
            result = call(params)
        except Exception as error:  # noqa: BLE001 - whatever a handler does, the next text is read
            self.failed(error)
            return
        if result is not None and hasattr(result, "__await__"):
            self._lanes.add(session, (waiting, result, 0))

    def _hook(self, hook: Callable[[Any], object], params: Any) -> None:
        try:
            hook(params)
        except Exception as error:  # noqa: BLE001 - a failing hook must not stop the reader
            self.failed(error)

    def failed(self, error: Exception) -> None:
        """A notification handler raised: there is no answer to carry that, so it is logged."""
        self.counts.failed_handlers += 1
        log.error("a notification handler failed", exc_info=error)

    # --- the handshake

    def _initialize(self, request: Request, batch: BatchAnswer | None) -> None:
        params = _plain(request.params)
        selection = self._handshake.select(params)
        if isinstance(selection, ErrorObject):
            self._incoming.refuse(request.id, selection, request.method, batch)
            return
        self._handlers.select(selection.edition)
        method = selection.edition.initialize
        try:
            typed = self._codec.convert(method.params, complete(params, selection))
        except Misfit as misfit:
            self._incoming.refuse(request.id, invalid_params(misfit), request.method, batch)
            return
        handler = announcing(self._handlers.by_method[method], selection.version)
        opened = OpenRequest(request.id, request.method, handler, typed, method.result, batch)
        if self._incoming.open(opened):
            opened.finish = functools.partial(self._initialized, selection.edition)
            self._handshake.held = []
            self._incoming.start(opened)

    def _initialized(self, edition: Edition, result: Any) -> None:
        """The handler is done: on success the edition is set, and in any case the held texts are dispatched."""
        if result is not None:
            self._handshake.edition = edition
            self.edition = edition
        held, self._handshake.held = self._handshake.held or [], None
        for text in held:
            self._budget.free(len(text) + OVERHEAD_BYTES)
            self._take(text)


def _raise(error: Exception, _params: Any) -> NoReturn:
    raise error


def _given(params: JsonText | None) -> JsonText:
    # Absent and null params count as an empty object.
    if params is None or bytes(memoryview(params)[:4]) == b"null":
        return b"{}"
    return params


def _size_of(params: JsonText | None) -> int:
    """The size of a request of a batch, roughly."""
    return 0 if params is None else memoryview(params).nbytes


def _plain(params: JsonText | None) -> Any:
    """Params as plain JSON values; None where they cannot be read, as if there were none."""
    if params is None:
        return None
    try:
        return parse_json(memoryview(params))
    except (ValueError, RecursionError):
        return None


def _session_of(params: Any) -> str | None:
    session = getattr(params, "session_id", None)
    return session if isinstance(session, str) else None


def _session_in(params: Any) -> str | None:
    session = params.get("sessionId") if isinstance(params, dict) else None
    return session if isinstance(session, str) else None
