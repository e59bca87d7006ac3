"""One live connection, as either side, in any edition: it owns the read loop and all tasks.

It keeps the order of each session, bounds memory, answers each request exactly once, and survives any input. The
meaning of messages belongs to the layers above.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from accord.connection.budget import Budget
from accord.connection.error_objects import refused, serialize_error
from accord.connection.handlers import Handlers
from accord.connection.handshake import Handshake
from accord.connection.incoming import IncomingRequests
from accord.connection.lanes import Lanes
from accord.connection.outgoing import Call, OutgoingCalls, check_params
from accord.connection.receiver import Counts, Receiver
from accord.connection.request import OpenRequest
from accord.connection.sender import Observer, Sender
from accord.connection.update_batches import ReadBatch
from accord.errors import (
    AccordError,
    ConnectionLost,
    FrameError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from accord.json_values import JsonValue
from accord.jsonrpc.pending import PendingRequests
from accord.jsonrpc.serialize import TAIL, notification_head
from accord.protocol.codec import (
    SMALL_BYTES,
    UNWRITABLE,
    Codec,
    encode_between,
    encode_into,
    encode_small,
    encode_unchecked,
)
from accord.protocol.edition import EDITIONS, Edition
from accord.protocol.method import Method, NotificationMethod, RequestMethod
from accord.protocol.negotiation import select_as_client
from accord.protocol.salvage import Misfit
from accord.time_scale import scaled
from accord.transport.interface import Transport, receive_into, report_unsent

__all__ = ["Connection"]

log = logging.getLogger("accord.connection")

_NEEDS_CHECK = b"null"

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_BACKLOG_BYTES = 4 * 1024 * 1024
GRACE_SECONDS = scaled(2.0)
_STOP_SECONDS = scaled(1.0)


class Connection:
    """One live connection; an async context, or `start` and `close`.

    Register handlers before it starts. An agent offers the editions whose `initialize` it handles and speaks the one
    that its client selects; a client names its edition in its call of `initialize`. `edition` is one that both sides
    know before: then requests are served and made without an `initialize`, too.

    `max_backlog_bytes` bounds messages that are not handled and answers that are not written; beyond it the peer is
    not read. `strict` turns violations that are otherwise tolerated, in both directions, into errors: for development.
    When the peer is gone, handlers get `grace_seconds` to finish what they are doing.
    """

    def __init__(
        self,
        transport: Transport,
        side: Literal["agent", "client"],
        handlers: Handlers | None = None,
        *,
        editions: Sequence[Edition] = EDITIONS,
        edition: Edition | None = None,
        strict: bool = False,
        max_backlog_bytes: int = DEFAULT_BACKLOG_BYTES,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self.side: Literal["agent", "client"] = side
        """Which side this end is."""
        self.handlers: Handlers = handlers if handlers is not None else Handlers()
        """The handlers of the peer's messages."""
        self.transport = transport
        """The transport underneath."""
        self.strict = strict
        """Whether tolerated faults of the peer are errors."""
        self._editions = tuple(editions)
        self._grace_seconds = grace_seconds
        pending: PendingRequests[Call, OpenRequest] = PendingRequests()
        self._direct: Method | None = None
        """The notification that was sent last, while another one of its kind may go straight to the transport.

        Then it has to be neither checked nor shown nor queued: one comparison for each update of a stream.
        """
        self._checked: set[Method] = set()
        """The requests that were checked once and need no further check."""
        self._try_send = transport.try_send
        self._sender = Sender(transport, self._on_detour)
        self._budget = Budget(max_backlog_bytes)
        self._codec = Codec(strict=strict)
        self._lanes = Lanes(self, self._budget, lambda error: self._receiver.failed(error))  # noqa: PLW0108 - it is made below
        self._outgoing = OutgoingCalls(pending, self._sender, self._lanes, self._budget, self._codec)
        self._outgoing.own(self)
        report_unsent(transport, self._outgoing.lose)
        self._incoming = IncomingRequests(pending, self._sender, self._budget, self._codec)
        self._receiver = Receiver(
            side,
            self.handlers,
            Handshake(self._editions, self.handlers, strict=strict),
            self._outgoing,
            self._incoming,
            self._lanes,
            self._budget,
            self._codec,
        )
        self._receiver.on_edition = self._forget_checks
        if edition is not None:
            self._receiver.edition = edition
        self._reader: asyncio.Task[None] | None = None
        self._unread = ReadBatch([])
        """A read for which there was no room. No other is kept: that would be one more large text in memory."""
        self._ending: asyncio.Task[None] | None = None
        self._lost: AccordError | None = None
        self._is_closed = False
        self._close_waiters: list[asyncio.Future[None]] = []
        # Checked once, here: while the log is off there is no observer, and no message pays for a branch.
        if logging.getLogger("accord.connection.message_log").isEnabledFor(logging.DEBUG):
            from accord.connection.message_log import MessageLog  # noqa: PLC0415 - only where it is wanted

            self.observe(MessageLog(side))

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
            self._incoming.begin(self)
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
        """Wait until the link is closed by either side; the reason, or None where it just ended."""
        if not self._is_closed:
            # Not an event, which is five times as large: a server has thousands of connections.
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._close_waiters.append(waiter)
            await waiter
        return None if isinstance(self._lost, ConnectionLost) and self._lost.clean else self._lost

    @property
    def is_open(self) -> bool:
        """Whether the link is up, as far as this side knows."""
        return self._lost is None

    @property
    def edition(self) -> Edition | None:
        """The edition that was agreed on; None before."""
        return self._receiver.edition

    @property
    def counts(self) -> Counts:
        """The counts of tolerated violations so far."""
        return self._receiver.counts

    @property
    def backlog_bytes(self) -> int:
        """How much was read and is not yet handled, and how much of answers is not written."""
        return self._budget.bytes

    @property
    def stray_answers(self) -> int:
        """Answers without a waiting call."""
        return self._outgoing.strays

    @property
    def next_request_id(self) -> int:
        """The id that the next call of this side will have."""
        return self._outgoing.next_id

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Pass every text to an observer from now on; call the result to stop."""
        self._show((*self._sender.observers, observer))

        def stop() -> None:
            self._show(tuple(each for each in self._sender.observers if each is not observer))

        return stop

    def _show(self, observers: tuple[Observer, ...]) -> None:
        self._sender.observers = self._receiver.observers = observers

    def _on_detour(self) -> None:
        """Texts have to be shown or queued."""
        self._direct = None

    def _forget_checks(self) -> None:
        """The edition is another, or the link is gone."""
        self._direct = None
        self._checked.clear()

    # --- sending

    async def call(
        self,
        method: RequestMethod[P, R],
        params: P,
        *,
        timeout_seconds: float | None = None,
        on_reply: Callable[[R], object] | None = None,
    ) -> R:
        """Call a method of the peer and wait for its typed result, which `on_reply` gets before the caller goes on.

        A client's `initialize` also fixes the edition: the one this row belongs to. A cancelled or timed-out call is
        withdrawn where the edition has a message for that; its late answer is dropped.

        Raises:
            LocalProtocolError: This edition or side has no such call; nothing was sent. RequestError: The peer answered
            with an error; the class says which. RemoteProtocolError: The peer's answer is no valid answer, or its
            result does not fit the type. NegotiationFailed: `initialize` was answered in another edition. CallTimeout:
            No answer in time. ConnectionLost: The link is gone.
        """
        if method not in self._checked:
            if method.name == "initialize" and self.side == "client":
                return await self._initialize(method, params, timeout_seconds)
            self._check_method(method)
            if self.strict:
                check_params(method, params, self._codec)
            else:
                self._checked.add(method)
        self._check_open()
        session = getattr(params, "session_id", None)
        session = session if isinstance(session, str) else None
        result: R = await self._outgoing.call(method.name, params, method.result, session, timeout_seconds, on_reply)
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
        """Shake hands as a client, with params of any edition or a superset; the answer selects the edition.

        Returns the `InitializeResponse` of the selected edition, which `edition` names afterwards.

        Raises:
            NegotiationFailed: The answer selects none of `editions`.
        """
        wanted = self._editions if editions is None else editions
        self._receiver.propose(wanted)
        raw = await self._call("initialize", params, Any, None, timeout_seconds)
        edition = select_as_client(raw, wanted, strict=self.strict)
        try:
            result = self._codec.convert(edition.initialize.result, raw)
        except Misfit as misfit:
            raise RemoteProtocolError(
                f"the answer to initialize does not fit: {misfit}", field=misfit.field, expected=misfit.expected
            ) from None
        self._receiver.edition = edition
        return result

    async def notify(self, method: NotificationMethod[P], params: P) -> None:
        """Send a notification; suspends while the peer does not read.

        Raises:
            LocalProtocolError: This edition or side has no such notification; nothing was sent.
            ConnectionLost: The link is gone.
        """
        if method is not self._direct:
            await self._notify_checked(method, params)
            return
        # `codec.encode_small` for one value, written out: the call would cost 4 % of what an update costs.
        try:
            body = encode_unchecked(params)
        except UNWRITABLE:
            body = _NEEDS_CHECK
        if len(body) > SMALL_BYTES or body.rpartition(b"null")[1]:
            await self._sender.send(encode_between(method.head, params, TAIL))
            return
        text = method.head + body + TAIL
        if not self._try_send((text,)):
            await self._sender.send(text)

    def post(self, method: NotificationMethod[P], params: P) -> None:
        """Send a notification before all that is sent from now on, without waiting; for few and small ones.

        Raises:
            LocalProtocolError: This edition or side has no such notification; nothing was sent.
            ConnectionLost: The link is gone.
        """
        self._check_open()
        self._check_method(method)
        if self.strict:
            check_params(method, params, self._codec)
        self._sender.post(bytes(encode_between(method.head, params, TAIL)))

    def try_notify(self, method: NotificationMethod[P], many: Sequence[P]) -> bool:
        """Send several notifications without waiting: all of them, or none and False; then `notify` has to do it."""
        if method is not self._direct:
            return False
        texts = encode_small(method.head, many, TAIL)
        return texts is not None and self._try_send(texts)

    async def _notify_checked(self, method: NotificationMethod[P], params: P) -> None:
        """The first of its kind, or one that has to be shown or queued; those that follow may need no check."""
        self._check_open()
        self._check_method(method)
        if self.strict:
            check_params(method, params, self._codec)
        elif self._sender.is_direct:
            self._direct = method
        await self._sender.send(encode_between(method.head, params, TAIL))

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
        await self._sender.send(text)

    async def _call(
        self, name: str, params: Any, result: Any, session: str | None, timeout_seconds: float | None
    ) -> Any:
        self._check_open()
        return await self._outgoing.call(name, params, result, session, timeout_seconds)

    def _check_open(self) -> None:
        if self._lost is not None:
            lost = copy.copy(self._lost)  # each caller gets its own, with its own traceback
            lost.unsent = True  # type: ignore[attr-defined]
            raise lost

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
            raise LocalProtocolError(f"{theirs}s do not serve {method!r} in {edition.name}", field=method.name)

    # --- reading

    async def _read(self) -> None:
        reason: AccordError
        try:
            reason = await self._read_all()
        except TransportError as error:
            reason = error
            if isinstance(error, FrameError):
                self._sender.post(serialize_error(None, refused("A message is over the size limit"), "reading"))
        except asyncio.CancelledError:
            return
        except Exception as error:  # a transport or an observer that breaks its contract
            log.exception("reading failed")
            reason = ConnectionLost(f"reading failed: {type(error).__name__}")
        self._end(reason)
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._drain_and_stop())

    async def _read_all(self) -> AccordError:
        while await receive_into(self.transport, self._take):
            await self._take_rest()
            if self._lost is not None:
                break
        return ConnectionLost("the peer closed the connection", clean=True)

    def _take(self, texts: list[bytes]) -> bool:
        """Dispatch the texts of one read; False while there is no room for more."""
        batch = ReadBatch(texts)
        if self._receiver.take(batch):
            return True
        self._unread = batch
        return False

    async def _take_rest(self) -> None:
        """Wait for room, and dispatch what is left of the last read as far as there is any."""
        batch, self._unread = self._unread, ReadBatch([])
        while True:
            if not await self._budget.free_bytes(lambda: self.transport.hung_up):
                self._outgoing.fail_inside()
            if self._lost is not None or batch.taken == len(batch.texts) or self._receiver.take(batch):
                return

    # --- ending

    def _end(self, reason: AccordError) -> None:
        """The link is gone: from here on no call can be made, and every waiter gets an exception."""
        if self._lost is None:
            self._lost = reason
            self._forget_checks()
            self._receiver.ended = True
            self._outgoing.fail_all(reason)

    async def _drain_and_stop(self) -> None:
        """The peer is gone: its messages are still handled and its requests still answered, for `grace_seconds`."""
        deadline = asyncio.get_running_loop().time() + self._grace_seconds
        while tasks := self._running():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        await self._stop(None)

    def _running(self) -> list[asyncio.Future[Any]]:
        return [*self._lanes.tasks(), *self._incoming.tasks(), *self._outgoing.tasks(), *self._sender.tasks()]

    async def _stop(self, caller: asyncio.Task[Any] | None) -> None:
        self._incoming.stop()
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
            self._is_closed = True
            for waiter in self._close_waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._close_waiters.clear()
