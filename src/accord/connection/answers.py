"""The requests we owe an answer: each gets exactly one, whatever its handler does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any

import msgspec

from accord.connection.backlog import OPEN_REQUEST_BYTES, Backlog
from accord.connection.fault import CANCELLED, error_answer, refused, serialize_error
from accord.connection.handlers import Handler
from accord.connection.lane import INSIDE
from accord.connection.outbox import Outbox
from accord.errors import LocalProtocolError, TransportError
from accord.jsonrpc.batch import BatchAnswer
from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.peer import Peer
from accord.jsonrpc.serialize import TAIL, result_head
from accord.protocol.codec import Codec, encode_between
from accord.protocol.model import Wire
from accord.protocol.salvage import Misfit

__all__ = ["Answers", "Inbound", "current_request"]


class Inbound(msgspec.Struct, eq=False):
    """A request of the peer, from its arrival to its answer."""

    id: RequestId
    method: str
    handler: Handler
    params: Any
    result: Any
    """The type the handler must return; Any for extensions."""
    batch: BatchAnswer | None = None
    task: asyncio.Task[None] | None = None
    began: bool = False
    arrived: bool = False
    """Whether somebody heard of its arrival: then only its handler can say what its end is."""
    finish: Callable[[Any], Any] | None = None
    """Looks at a result before it is sent, and once at None where there is none."""


_CURRENT: ContextVar[Inbound | None] = ContextVar("_CURRENT", default=None)


def current_request() -> Inbound | None:
    """The request whose handler this code runs in: its `id` and `method`."""
    return _CURRENT.get()


class Answers:
    """All open requests of one connection."""

    def __init__(self, peer: Peer[Any, Inbound], outbox: Outbox, backlog: Backlog, codec: Codec) -> None:
        self._peer = peer
        self._outbox = outbox
        self._backlog = backlog
        self._codec = codec
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._context: Context
        self.lost = False
        """Whether the link is gone, so that nothing can be answered any more."""

    def begin(self, owner: object) -> None:
        """Requests are answered from now on, in the caller's loop and context; handlers count as inside `owner`."""
        # Once: each time it is a system call.
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._context.run(INSIDE.set, owner)

    def open(self, inbound: Inbound) -> bool:
        """A request arrived and will be answered by its handler; False if its id is in use (and that is answered)."""
        if self._peer.open(inbound.id, inbound):
            return True
        # Under null: under the id itself it would be taken for the answer to the request that is open.
        self.refuse(None, refused("A request with this id is still open"), inbound.method, inbound.batch)
        return False

    def owes(self, id_: RequestId) -> bool:
        """Whether a request under this id is open."""
        return self._peer.opened(id_) is not None

    def start(self, inbound: Inbound) -> None:
        """Run the handler, beside everything else."""
        if inbound.began or inbound.task is not None:
            return  # cancelled while it waited in its lane: answered, or started past it
        context = self._context.copy()
        inbound.task = self._loop.create_task(self._run(inbound), name=inbound.method, context=context)
        self._backlog.add(OPEN_REQUEST_BYTES)
        self._tasks.add(inbound.task)

    def cancel(self, id_: RequestId) -> None:
        """The peer withdraws a request. Nothing happens if it is answered or never came."""
        inbound = self._peer.opened(id_)
        if inbound is None:
            return
        if inbound.began and inbound.task is not None:
            inbound.task.cancel()
            return
        if inbound.arrived:
            self.start(inbound)
            # When it has begun, and suspends: before that, it could not even hear that it is cancelled.
            self._loop.call_soon(self._cancel_begun, inbound)
            return
        # Not begun: a task that is cancelled now would never run the code that answers.
        inbound.began = True
        if inbound.task is not None:
            inbound.task.cancel()
            self._tasks.discard(inbound.task)
            self._backlog.free(OPEN_REQUEST_BYTES)
        self._finish(inbound, None)
        self._peer.answer(inbound.id)
        self.refuse(inbound.id, CANCELLED, inbound.method, inbound.batch)

    def _cancel_begun(self, inbound: Inbound) -> None:
        if inbound.task is not None and self._peer.opened(inbound.id) is inbound:
            inbound.task.cancel()

    def refuse(self, id_: RequestId, error: ErrorObject, method: str, batch: BatchAnswer | None = None) -> None:
        """Answer a request that has no handler to run, or something that was no request."""
        text = serialize_error(id_, error, method)
        whole = text if batch is None else batch.add(text)
        if whole is not None:
            self._post(whole)

    def _post(self, text: bytes) -> None:
        # Weighs on the budget until it has left: a peer that sends garbage and reads nothing is slowed down too.
        room = self._outbox.post(text)
        if room is not None:
            weight = OPEN_REQUEST_BYTES + len(text)
            self._backlog.add(weight)
            room.add_done_callback(lambda _: self._backlog.free(weight))

    def tasks(self) -> list[asyncio.Task[None]]:
        """The handlers that run."""
        return list(self._tasks)

    # --- one request

    async def _run(self, inbound: Inbound) -> None:
        # One coroutine, as flat as it gets: there is one for each request.
        inbound.began = True
        _CURRENT.set(inbound)
        handler = inbound.handler
        try:
            try:
                result = handler.call(inbound.params)
                if handler.suspends or hasattr(result, "__await__"):
                    result = await result
                text = self._result_text(inbound, result)
            except asyncio.CancelledError:
                if self.lost:
                    raise  # nobody is there to be answered
                text = self._error_text(inbound, CANCELLED)
            except Exception as problem:  # noqa: BLE001 - whatever a handler raises becomes the one answer
                text = self._error_text(inbound, error_answer(problem, inbound.method))
            finally:
                self._backlog.free(OPEN_REQUEST_BYTES)
            self._peer.answer(inbound.id)
            whole = text if inbound.batch is None else inbound.batch.add(bytes(text))
            if whole is not None and not self._outbox.put(whole):
                await self._send(whole)
        finally:
            # Not a callback of the task: that would cost a turn of the loop for each request.
            if inbound.task is not None:
                self._tasks.discard(inbound.task)

    async def _send(self, text: bytes | bytearray) -> None:
        weight = len(text)
        self._backlog.add(weight)
        try:
            await self._outbox.send(text)
        except TransportError:
            pass
        finally:
            self._backlog.free(weight)

    def _error_text(self, inbound: Inbound, error: ErrorObject) -> bytes:
        self._finish(inbound, None)
        return serialize_error(inbound.id, error, inbound.method)

    def _result_text(self, inbound: Inbound, result: Any) -> bytes | bytearray:
        if type(result) is not inbound.result:
            result = self._checked(inbound, result)
        head = result_head(inbound.id)
        text = encode_between(head, result, TAIL)
        if self._codec.strict and inbound.result is not Any:
            self._check_strictly(inbound, bytes(text[len(head) : -len(TAIL)]))
        self._finish(inbound, result)
        return text

    def _checked(self, inbound: Inbound, result: Any) -> Any:
        kind = inbound.result
        if kind is Any:
            return result
        if result is None and isinstance(kind, type) and issubclass(kind, Wire):
            return kind()  # a handler with nothing to say; TypeError where the result has required fields
        if isinstance(result, Wire) and (not isinstance(kind, type) or isinstance(result, kind)):
            return result
        raise LocalProtocolError(f"the handler of {inbound.method} returned a {type(result).__name__}")

    def _check_strictly(self, inbound: Inbound, body: bytes) -> None:
        try:
            self._codec.decode(inbound.result, body)
        except Misfit as misfit:
            raise LocalProtocolError(
                f"the result of {inbound.method} does not fit: {misfit}", field=misfit.field, expected=misfit.expected
            ) from None

    def _finish(self, inbound: Inbound, result: Any) -> None:
        if inbound.finish is not None:
            finish, inbound.finish = inbound.finish, None
            finish(result)
