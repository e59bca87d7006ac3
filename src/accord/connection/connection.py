"""One live link, either side, any edition: the only loop, the only tasks.

It keeps the promises: order per session, bounded memory, exactly one answer, no line that kills it. What the messages
mean is for the layers above.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from accord.connection.answers import Answers
from accord.connection.backlog import Backlog
from accord.connection.calls import Call, Calls
from accord.connection.fault import refused, serialize_error
from accord.connection.handlers import Handlers
from accord.connection.handshake import Handshake
from accord.connection.inbound import Inbound
from accord.connection.lane import Lanes
from accord.connection.outbox import Observer, Outbox
from accord.connection.reception import Counts, Reception
from accord.errors import (
    AccordError,
    ConnectionLost,
    FrameError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from accord.json_values import JsonValue
from accord.jsonrpc.peer import Peer
from accord.jsonrpc.serialize import TAIL, notification_head
from accord.protocol.codec import Codec, append_line, encode_between, encode_into, encode_lines_between
from accord.protocol.edition import EDITIONS, Edition
from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.protocol.negotiation import select_as_client
from accord.protocol.salvage import Misfit
from accord.transport.burst import SLICE_BYTES
from accord.transport.interface import DeliveringTransport, HangUpTransport, Transport
from accord.wire.piece import Piece

__all__ = ["Connection"]

_LINE_TAIL = TAIL + b"\n"

log = logging.getLogger("accord.connection")

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_BACKLOG_BYTES = 4 * 1024 * 1024
_STOP_SECONDS = 1.0


class Connection:
    """Use as an async context, or `start` it and `close` it.

    Register handlers before it starts. An agent offers the editions whose `initialize` it handles and speaks the one
    that its client selects; a client names its edition in its call of `initialize`.

    `max_backlog_bytes` bounds what is read and not yet handled, and answers that are not written; beyond it the peer is
    not read. `strict` turns what is
    otherwise tolerated, in both directions, into errors: for development. When the peer is gone, handlers get
    `grace_seconds` to finish what they are doing.
    """

    def __init__(
        self,
        transport: Transport,
        side: Literal["agent", "client"],
        handlers: Handlers | None = None,
        *,
        editions: Sequence[Edition] = EDITIONS,
        strict: bool = False,
        max_backlog_bytes: int = DEFAULT_BACKLOG_BYTES,
        grace_seconds: float = 2.0,
    ) -> None:
        self.side: Literal["agent", "client"] = side
        """Which side this end is."""
        self.handlers: Handlers = handlers if handlers is not None else Handlers()
        """The handlers of what the peer sends."""
        self.transport = transport
        """The transport underneath."""
        self.strict = strict
        """Whether tolerated faults of the peer are errors."""
        self._editions = tuple(editions)
        self._grace_seconds = grace_seconds
        peer: Peer[Call, Inbound] = Peer()
        self._outbox = Outbox(transport)
        self._burst = self._outbox.burst
        self._post_lines = self._outbox.post_lines_at_once
        self._streamed: Method | None = None
        """The notification that was said last, while nothing has to be checked or shown before it is said again."""
        self._called: set[Method] = set()
        """The requests that were checked once and need no further look."""
        self._backlog = Backlog(max_backlog_bytes)
        self._codec = Codec(strict=strict)
        self._lanes = Lanes(self, self._backlog, self._handler_failed)
        self._calls = Calls(peer, self._outbox, self._lanes, self._backlog, self._codec)
        self._calls.own(self)
        self._answers = Answers(peer, self._outbox, self._backlog, self._codec)
        self._reception = Reception(
            side,
            self.handlers,
            Handshake(self._editions, self.handlers, strict=strict),
            self._calls,
            self._answers,
            self._lanes,
            self._backlog,
            self._codec,
        )
        self._reception.on_edition = self._forget
        self._reader: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._lost: AccordError | None = None
        self._closed = asyncio.Event()

    def __repr__(self) -> str:
        edition = "no edition yet" if self.edition is None else self.edition.name
        state = "lost" if self._lost else "open" if self._reader else "not started"
        return f"<{self.side} connection, {edition}, {state}>"

    # --- life

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def start(self) -> None:
        """Begin to read. Calls made before go out, and their answers wait."""
        if self._reader is None:
            self._answers.begin(self)
            self._reader = asyncio.get_running_loop().create_task(self._read())

    async def close(self) -> None:
        """End the link; bounded in time, idempotent, and safe anywhere, also inside a handler of this connection.

        Pending calls fail with `ConnectionLost`, running handlers are cancelled, except the one that calls this.
        """
        self._end(ConnectionLost("this side closed the connection", clean=True))
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._stop(asyncio.current_task()))
        await asyncio.shield(self._ending)

    async def wait_closed(self) -> AccordError | None:
        """Wait until the link is gone, whoever ended it; the reason, or None where it just ended."""
        await self._closed.wait()
        return None if isinstance(self._lost, ConnectionLost) and self._lost.clean else self._lost

    @property
    def is_open(self) -> bool:
        """Whether the link is up as far as anybody knows."""
        return self._lost is None

    @property
    def edition(self) -> Edition | None:
        """The edition that was agreed on; None before."""
        return self._reception.edition

    @property
    def counts(self) -> Counts:
        """What was tolerated so far."""
        return self._reception.counts

    @property
    def backlog_bytes(self) -> int:
        """How much was read and is not yet handled, and how much of answers is not written."""
        return self._backlog.bytes

    @property
    def stray_answers(self) -> int:
        """Answers that nobody waited for."""
        return self._calls.strays

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Let somebody see every text from now on; call what is returned to stop that."""
        self._show((*self._outbox.observers, observer))

        def stop() -> None:
            self._show(tuple(each for each in self._outbox.observers if each is not observer))

        return stop

    def _show(self, observers: tuple[Observer, ...]) -> None:
        self._outbox.observers = self._reception.observers = observers
        self._forget()

    def _forget(self) -> None:
        self._streamed = None
        self._called.clear()

    # --- what we say

    async def call(self, method: RequestMethod[P, R], params: P, *, timeout_seconds: float | None = None) -> R:
        """Call a method of the peer and wait for its typed result.

        A client's `initialize` also fixes the edition: the one this row belongs to. A cancelled or timed-out call is
        withdrawn where the edition has words for that; its late answer is dropped.

        Raises:
            LocalProtocolError: This edition or side has no such call; nothing was sent.
            RequestError: The peer answered with an error; the class tells which.
            RemoteProtocolError: The peer's answer is none, or does not fit.
            NegotiationFailed: `initialize` was answered in another edition.
            CallTimeout: No answer in time.
            ConnectionLost: The link is gone.
        """
        if method not in self._called:
            if method.name == "initialize" and self.side == "client":
                return await self._initialize(method, params, timeout_seconds)
            self._check_method(method)
            if self.strict:
                self._check_params(method, params)
            else:
                self._called.add(method)
        self._check_open()
        session = getattr(params, "session_id", None)
        session = session if isinstance(session, str) else None
        result: R = await self._calls.call(method.name, params, method.result, session, timeout_seconds)
        return result

    async def _initialize(self, method: RequestMethod[P, R], params: P, timeout_seconds: float | None) -> R:
        edition = next((each for each in self._editions if each.is_loaded and each.initialize is method), None)
        if edition is None:
            raise LocalProtocolError("this connection does not speak the edition of that initialize")
        result: R = await self.initialize(params, (edition,), timeout_seconds=timeout_seconds)
        return result

    async def initialize(
        self, params: JsonValue, editions: Sequence[Edition] | None = None, *, timeout_seconds: float | None = None
    ) -> JsonValue:
        """Shake hands as a client, with params of any edition or a superset, and speak what the answer selects.

        Returns the `InitializeResponse` of the selected edition, which `edition` names afterwards.

        Raises:
            NegotiationFailed: The answer selects none of `editions`.
        """
        raw = await self._call("initialize", params, Any, None, timeout_seconds)
        edition = select_as_client(raw, self._editions if editions is None else editions, strict=self.strict)
        try:
            result = self._codec.convert(edition.initialize.result, raw)
        except Misfit as misfit:
            raise RemoteProtocolError(
                f"the answer to initialize does not fit: {misfit}", field=misfit.field, expected=misfit.expected
            ) from None
        self._reception.edition = edition
        return result

    async def notify(self, method: NotificationMethod[P], params: P) -> None:
        """Send a notification; suspends while the peer does not read.

        Raises:
            LocalProtocolError: This edition or side has no such notification; nothing was sent.
            ConnectionLost: The link is gone.
        """
        if method is not self._streamed:
            await self._notify_with_care(method, params)
            return
        burst = self._burst
        lines = burst.lines
        if lines is not None and (before_bytes := len(lines)) < SLICE_BYTES:
            if not burst.waiting:
                if append_line(lines, method.head, params, _LINE_TAIL):
                    return
            elif burst.goes_on() and append_line(lines, method.head, params, _LINE_TAIL):
                burst.favour_bytes -= len(lines) - before_bytes
                return
        await self._outbox.send(encode_between(method.head, params, TAIL))

    def post(self, method: NotificationMethod[P], params: P) -> None:
        """Send a notification before all that is sent from now on, without waiting; for few and small ones.

        Raises:
            LocalProtocolError: This edition or side has no such notification; nothing was sent.
            ConnectionLost: The link is gone.
        """
        self._check_open()
        self._check_method(method)
        if self.strict:
            self._check_params(method, params)
        self._outbox.post(bytes(encode_between(method.head, params, TAIL)))

    def notify_at_once(self, method: NotificationMethod[P], many: Sequence[P]) -> bool:
        """Send some of a stream of notifications if nobody has to wait or to look at them.

        Otherwise False: none of them was sent, and `notify` has to do it.
        """
        if method is not self._streamed:
            return False
        lines = encode_lines_between(method.head, many, TAIL)
        return lines is not None and self._post_lines(lines)

    async def _notify_with_care(self, method: NotificationMethod[P], params: P) -> None:
        """The first of its kind, or one that somebody watches; what follows it may need no further look."""
        self._check_open()
        self._check_method(method)
        if self.strict:
            self._check_params(method, params)
        elif not self._outbox.observers:
            self._streamed = method
        await self._outbox.send(encode_between(method.head, params, TAIL))

    async def call_extension(
        self, name: str, params: JsonValue = None, *, timeout_seconds: float | None = None
    ) -> JsonValue:
        """Call a method outside the specification; params and result are plain JSON values."""
        session = params.get("sessionId") if isinstance(params, dict) else None
        given = {} if params is None else params
        return await self._call(name, given, Any, session if isinstance(session, str) else None, timeout_seconds)

    async def notify_extension(self, name: str, params: JsonValue = None) -> None:
        """Send a notification outside the specification."""
        self._check_open()
        text = bytearray(notification_head(name))
        encode_into({} if params is None else params, text)
        text += TAIL
        await self._outbox.send(text)

    async def _call(
        self, name: str, params: Any, result: Any, session: str | None, timeout_seconds: float | None
    ) -> Any:
        self._check_open()
        return await self._calls.call(name, params, result, session, timeout_seconds)

    def _check_open(self) -> None:
        if self._lost is not None:
            raise copy.copy(self._lost)  # each caller gets its own, with its own traceback

    def _check_method(self, method: Method) -> None:
        edition = self.edition
        if edition is None:
            raise LocalProtocolError("no edition is agreed on yet: initialize first", field=method.name)
        theirs: Literal["agent", "client"] = "client" if self.side == "agent" else "agent"
        if isinstance(method, RequestMethod):
            known: Method | None = edition.request(theirs, method.name)
        else:
            known = edition.notification(theirs, method.name)
        if known is not method:
            raise LocalProtocolError(f"{method!r} is not what {theirs}s serve in {edition.name}", field=method.name)

    def _check_params(self, method: Method, params: Any) -> None:
        text = bytearray()
        encode_into(params, text)
        try:
            self._codec.decode(method.params, bytes(text))
        except Misfit as misfit:
            raise LocalProtocolError(
                f"the params of {method.name} do not fit: {misfit}", field=misfit.field, expected=misfit.expected
            ) from None

    # --- reading

    async def _read(self) -> None:
        reason: AccordError
        try:
            reason = await self._read_all()
        except TransportError as error:
            reason = error
            if isinstance(error, FrameError):
                self._outbox.post(serialize_error(None, refused("A message is over the size limit"), "reading"))
        except asyncio.CancelledError:
            return
        except Exception as error:  # a transport or an observer that breaks its contract
            log.exception("reading failed")
            reason = ConnectionLost(f"reading failed: {type(error).__name__}")
        self._end(reason)
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._drain_and_stop())

    async def _read_all(self) -> AccordError:
        transport = self.transport
        deliver = transport.deliver if isinstance(transport, DeliveringTransport) else self._deliver
        hung_up = transport.hung_up if isinstance(transport, HangUpTransport) else _never
        while await deliver(self._reception.take) and self._lost is None:
            if not await self._backlog.room(hung_up):
                self._calls.fail_inside()
        return ConnectionLost("the peer closed the connection", clean=True)

    async def _deliver(self, take: Callable[[Piece], bool]) -> bool:
        """What a transport that cannot deliver by itself is spared."""
        while True:
            text = await self.transport.receive()
            if text is None:
                return False
            if not take(Piece([text])):
                return True

    def _handler_failed(self, error: Exception) -> None:
        self._reception.failed(error)

    # --- ending

    def _end(self, reason: AccordError) -> None:
        """The link is gone: from here on nothing can be asked, and nobody waits in vain."""
        if self._lost is None:
            self._lost = reason
            self._forget()
            self._reception.ended = True
            self._calls.fail_all(reason)

    async def _drain_and_stop(self) -> None:
        """The peer is gone: what it said is still handled and what it asked still answered, for a while."""
        deadline = asyncio.get_running_loop().time() + self._grace_seconds
        while tasks := self._running():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        await self._stop(None)

    def _running(self) -> list[asyncio.Future[Any]]:
        return [*self._lanes.tasks(), *self._answers.tasks(), *self._outbox.waits()]

    async def _stop(self, caller: asyncio.Task[Any] | None) -> None:
        self._answers.stop()
        tasks = [task for task in self._running() if task is not caller]
        if self._reader is not None and self._reader is not caller:
            tasks.append(self._reader)
        for task in tasks:
            task.cancel()
        try:
            await self.transport.close()
            if tasks:
                _, stubborn = await asyncio.wait(tasks, timeout=_STOP_SECONDS)
                if stubborn:
                    log.warning("%d handlers did not stop when the connection closed", len(stubborn))
        except Exception:
            log.exception("closing the transport failed")
        finally:
            self._closed.set()


def _never() -> bool:
    """Stands for `hung_up` where a transport cannot say it."""
    return False
