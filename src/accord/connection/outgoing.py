"""Our calls of the peer: each ends exactly once, with a typed result or an exception."""

from __future__ import annotations

import asyncio
import copy
import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from accord.connection.budget import Budget
from accord.connection.error_objects import raised
from accord.connection.lanes import INSIDE, Lanes
from accord.connection.sender import Sender
from accord.errors import AccordError, BacklogExceeded, CallTimeout, LocalProtocolError, RemoteProtocolError
from accord.jsonrpc.message import ErrorObject, JsonText, RequestId
from accord.jsonrpc.pending import PendingRequests
from accord.jsonrpc.serialize import TAIL, notification_head, request_head
from accord.protocol.codec import Codec, encode, encode_between, encode_into
from accord.protocol.method import Method
from accord.protocol.model import Wire
from accord.protocol.salvage import Misfit

__all__ = ["Call", "OutgoingCalls", "Withdrawal", "check_params"]


# The calls of a text or of several, each at the begin of a line, as `request_head` writes them.
_CALLS = re.compile(rb'(?m)^\{"jsonrpc":"2\.0","id":(\d+),"method":')

# Replaced when a call has to wait: a server has thousands of connections on which none ever does.
_NO_TURNS: deque[asyncio.Future[None]] = deque(maxlen=0)


class Withdrawal(msgspec.Struct, frozen=True):
    """The message of `Task.cancel` for a task that waits for a call: `meta` goes to the peer with the withdrawal."""

    meta: dict[str, Any]


class Call(msgspec.Struct, eq=False):
    """A request of ours that waits for its answer."""

    method: str
    result: Any
    session: str | None
    inside: bool
    """Whether a handler of the same connection made it: then its answer waits for no lane."""
    future: asyncio.Future[Any]
    on_reply: Callable[[Any], object] | None = None
    """Gets the result in its place among the messages of the peer: later ones are handled behind it."""
    counted: bool = False
    """Whether it is among those that are open at the peer."""

    def settle(self, outcome: Any) -> None:
        """End it with a result or an exception; without a waiter this does nothing."""
        if self.future.done():
            return
        if isinstance(outcome, BaseException):
            self.future.set_exception(outcome)
            self.future.exception()  # retrieved: a caller that was cancelled meanwhile needs no warning
        else:
            self.future.set_result(outcome)
            if self.on_reply is not None:
                self.on_reply(outcome)


class OutgoingCalls:
    """All calls of one connection; `cancels` says whether the edition can withdraw one."""

    def __init__(
        self, pending: PendingRequests[Call, Any], sender: Sender, lanes: Lanes, budget: Budget, codec: Codec
    ) -> None:
        self._pending = pending
        self._sender = sender
        self._lanes = lanes
        self._budget = budget
        self._codec = codec
        self._inside: set[Call] = set()
        self._open = 0
        self._turns = _NO_TURNS
        self._owner: object = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._losing: asyncio.Task[None] | None = None
        self.cancels = False
        self.strays = 0

    def own(self, owner: object) -> None:
        """Set the connection whose handlers count as inside."""
        self._owner = owner

    async def call(
        self,
        method: str,
        params: Any,
        result: Any,
        session: str | None,
        timeout_seconds: float | None,
        on_reply: Callable[[Any], object] | None = None,
    ) -> Any:
        """Send a request and wait for its answer, both within the timeout.

        Raises:
            RequestError: The peer answered with an error.
            RemoteProtocolError: The peer's answer is no valid answer.
            CallTimeout: It took too long; the peer is notified where the edition has a message for it.
            ConnectionLost: The link was lost meanwhile.
            BacklogExceeded: A handler made the call, and its answer comes behind more messages than the budget holds.
        """
        if self._loop is None:
            self._loop = asyncio.get_running_loop()  # once: each time it is a system call
        id_ = self._pending.next_id()
        text = encode_between(request_head(id_, method), params, TAIL)
        call = Call(method, result, session, INSIDE.get() is self._owner, self._loop.create_future(), on_reply)
        self._pending.wait(id_, call)
        self._begin(call)
        try:
            if timeout_seconds is not None:
                return await self._within(timeout_seconds, call, text)
            if not call.counted:
                await self._turn(call)
            # The transport nearly always takes it at once: without two coroutines a round trip costs 5 % less.
            if not self._sender.try_send(text):
                await self._sender.send(text)
            del text  # a large one is not kept for as long as its answer takes
            return await call.future
        except BaseException as error:
            self._give_up(id_, call, error)
            raise
        finally:
            self._finish(call)

    async def _turn(self, call: Call) -> None:
        """Wait until fewer than `max_calls` are open: a peer that cannot answer yet has to hold all of them.

        Not for calls inside handlers: there are no more of them than handlers, and an open call may wait for one.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._turns is _NO_TURNS:
            self._turns = deque()
        self._turns.append(turn)
        try:
            await turn
        finally:
            # Also if it is cancelled in the instant in which its turn comes: then the next call gets the turn.
            call.counted = turn.done() and not turn.cancelled()
        if call.future.done():
            await call.future  # the link was lost meanwhile: raises

    def _begin(self, call: Call) -> None:
        budget = self._budget
        budget.calls += 1
        if call.inside:
            self._inside.add(call)
            budget.calls_inside += 1
            call.counted = True
        elif self._open < budget.max_calls:
            self._open += 1
            call.counted = True
        if budget.waiter is not None:
            budget.wake()

    def _finish(self, call: Call) -> None:
        self._budget.calls -= 1
        if call.inside:
            self._leave(call)
        elif call.counted:
            self._close()

    def _close(self) -> None:
        self._open -= 1
        while self._turns and self._open < self._budget.max_calls:
            turn = self._turns.popleft()
            if not turn.done():
                self._open += 1
                turn.set_result(None)

    async def _within(self, timeout_seconds: float, call: Call, text: bytes | bytearray) -> Any:
        try:
            async with asyncio.timeout(timeout_seconds) as deadline:
                if not call.counted:
                    await self._turn(call)
                await self._sender.send(text)
                return await call.future
        except TimeoutError:
            if not deadline.expired():
                raise  # a peer's or a handler's own
            raise CallTimeout(call.method, timeout_seconds) from None

    def _leave(self, call: Call) -> None:
        if call in self._inside:
            self._inside.discard(call)
            self._budget.calls_inside -= 1

    def _give_up(self, id_: int, call: Call, error: BaseException) -> None:
        """End a call whose caller gave up; one that was answered, or not sent, is not withdrawn."""
        if isinstance(self._pending.settle(id_), Call) and self.cancels and call.counted:
            params: dict[str, Any] = {"requestId": id_}
            if error.args and isinstance(error.args[0], Withdrawal):
                params["_meta"] = error.args[0].meta
            self._sender.post(notification_head("$/cancel_request") + encode(params) + TAIL)

    @property
    def next_id(self) -> int:
        return self._pending.next

    # --- answers

    def waiting(self, id_: RequestId) -> Call | None:
        """The call that waits for an answer under an id."""
        return self._pending.waiting(id_)

    def succeed(self, id_: RequestId, result: JsonText) -> None:
        call = self._settled(id_)
        if call is not None:
            self.deliver(call, self._typed(call, result))

    def succeed_typed(self, id_: int, call: Call, value: Any) -> None:
        """A result came for a call that waits, and was decoded already."""
        self._pending.settle(id_)
        self.deliver(call, value)

    def fail(self, id_: RequestId, error: ErrorObject) -> None:
        call = self._settled(id_)
        if call is not None:
            self.deliver(call, raised(error))

    def spoil(self, id_: RequestId, reason: str) -> None:
        """Fail the call whose answer was malformed: no other answer will come."""
        call = self._settled(id_)
        if call is not None:
            self.deliver(call, RemoteProtocolError(f"the peer answered {call.method} with {reason}"))

    def deliver(self, call: Call, outcome: Any) -> None:
        """Hand an answer to its caller, behind the earlier notifications of the session that the call named."""
        lane = None if call.inside or call.session is None else self._lanes.get(call.session)
        if lane is None:
            call.settle(outcome)
        else:
            lane.items.append((call.settle, outcome, 0))

    def _settled(self, id_: RequestId) -> Call | None:
        call = self._pending.settle(id_)
        if isinstance(call, Call):
            return call
        self.strays += 1
        return None

    def _typed(self, call: Call, result: JsonText) -> Any:
        kind = call.result
        if bytes(memoryview(result)[:5]) == b"null":
            value = _empty(kind)
            if value is not None:
                return value
        try:
            return self._codec.decode(kind, result)
        except Misfit as misfit:
            return RemoteProtocolError(
                f"the result of {call.method} does not fit: {misfit}", field=misfit.field, expected=misfit.expected
            )

    # --- ends

    def lose(self, unsent: bytes, loss: Callable[[], Awaitable[AccordError]]) -> None:
        """Fail the calls in texts that the transport took and cannot write any more; others may still be answered."""
        ids = [int(each) for each in _CALLS.findall(unsent)]
        if ids:
            self._losing = asyncio.get_running_loop().create_task(self._lose(ids, loss))

    async def _lose(self, ids: list[int], loss: Callable[[], Awaitable[AccordError]]) -> None:
        error = await loss()
        for id_ in ids:
            call = self._pending.settle(id_)
            if isinstance(call, Call):
                self.deliver(call, copy.copy(error))

    def tasks(self) -> list[asyncio.Task[None]]:
        return [] if self._losing is None or self._losing.done() else [self._losing]

    def fail_inside(self) -> None:
        """The stretched budget is spent: calls that handlers wait for cannot be answered any more."""
        for call in list(self._inside):
            call.settle(
                BacklogExceeded(
                    f"{call.method} was called inside a handler, and its answer comes behind more unhandled messages"
                    " than max_backlog_bytes allows: handle them faster, or make the call outside the handler"
                )
            )
            self._leave(call)

    def fail_all(self, error: AccordError) -> None:
        for call in self._pending.settle_all():
            call.settle(copy.copy(error))  # each caller gets its own, with its own traceback
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                self._open += 1
                turn.set_result(None)


def _empty(kind: Any) -> Any:
    """An empty result, where the peer sent null in place of `{}`."""
    if isinstance(kind, type) and issubclass(kind, Wire):
        try:
            return kind()
        except TypeError:
            return None
    return None


def check_params(method: Method, params: Any, codec: Codec) -> None:
    """Refuse params of ours that do not fit the method.

    Raises:
        LocalProtocolError: They do not.
    """
    text = bytearray()
    encode_into(params, text)
    try:
        codec.decode(method.params, bytes(text))
    except Misfit as misfit:
        raise LocalProtocolError(
            f"the params of {method.name} do not fit: {misfit}", field=misfit.field, expected=misfit.expected
        ) from None
