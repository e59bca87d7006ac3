"""The requests we owe an answer: each gets exactly one, whatever its handler does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

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
from accord.protocol.codec import Codec, encode_into
from accord.protocol.model import Wire
from accord.protocol.salvage import Misfit

__all__ = ["Answers", "Inbound", "current_request"]


class Inbound:
    """A request of the peer, from its arrival to its answer."""

    __slots__ = ("batch", "began", "finish", "handler", "id", "method", "params", "result", "session", "task")

    def __init__(
        self,
        id_: RequestId,
        method: str,
        handler: Handler,
        params: Any,
        result: Any,
        batch: BatchAnswer | None,
    ) -> None:
        self.id = id_
        self.method = method
        self.handler = handler
        self.params = params
        self.result = result
        """The type the handler must return; Any for extensions."""
        self.session: str | None = None
        self.batch = batch
        self.task: asyncio.Task[None] | None = None
        self.began = False
        self.finish: Callable[[Any], Any] | None = None
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
        self._owner: object = None
        self.lost = False
        """Whether the link is gone, so that nothing can be answered any more."""

    def own(self, owner: object) -> None:
        """Say whose handlers count as inside."""
        self._owner = owner

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
        if inbound.began:
            return  # cancelled while it waited in its lane, and answered
        inbound.task = asyncio.get_running_loop().create_task(self._run(inbound), name=inbound.method)
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
        # Not begun: a task that is cancelled now would never run the code that answers.
        inbound.began = True
        if inbound.task is not None:
            inbound.task.cancel()
            self._tasks.discard(inbound.task)
            self._backlog.free(OPEN_REQUEST_BYTES)
        self._finish(inbound, None)
        self._peer.answer(inbound.id)
        self.refuse(inbound.id, CANCELLED, inbound.method, inbound.batch)

    def refuse(self, id_: RequestId, error: ErrorObject, method: str, batch: BatchAnswer | None = None) -> None:
        """Answer a request that has no handler to run, or something that was no request."""
        text = serialize_error(id_, error, method)
        whole = text if batch is None else batch.add(text)
        if whole is not None:
            self._post(whole)

    def _post(self, text: bytes) -> None:
        # Weighs on the budget until it has left: a peer that sends garbage and reads nothing is slowed down too.
        weight = OPEN_REQUEST_BYTES + len(text)
        self._backlog.add(weight)
        self._outbox.post(text).add_done_callback(lambda _: self._backlog.free(weight))

    def tasks(self) -> list[asyncio.Task[None]]:
        """The handlers that run."""
        return list(self._tasks)

    # --- one request

    async def _run(self, inbound: Inbound) -> None:
        inbound.began = True
        INSIDE.set(self._owner)
        _CURRENT.set(inbound)
        try:
            await self._answer(inbound)
        finally:
            # Not a callback of the task: that would cost a turn of the loop for each request.
            if inbound.task is not None:
                self._tasks.discard(inbound.task)

    async def _answer(self, inbound: Inbound) -> None:
        try:
            text = await self._outcome(inbound)
        finally:
            self._backlog.free(OPEN_REQUEST_BYTES)
        if text is None:
            return
        self._peer.answer(inbound.id)
        whole = text if inbound.batch is None else inbound.batch.add(bytes(text))
        if whole is None:
            return
        weight = len(whole)
        self._backlog.add(weight)
        try:
            with contextlib.suppress(TransportError):
                await self._outbox.send(whole)
        finally:
            self._backlog.free(weight)

    async def _outcome(self, inbound: Inbound) -> bytes | bytearray | None:
        """The text of the answer; None where the link is gone and nobody is there to be answered."""
        try:
            result = inbound.handler.call(inbound.params)
            if inbound.handler.suspends or hasattr(result, "__await__"):
                result = await result
            text = self._result_text(inbound, result)
        except asyncio.CancelledError:
            if self.lost:
                raise
            error = CANCELLED
        except Exception as problem:  # noqa: BLE001 - whatever a handler raises becomes the one answer
            error = error_answer(problem, inbound.method)
        else:
            return text
        self._finish(inbound, None)
        return serialize_error(inbound.id, error, inbound.method)

    def _result_text(self, inbound: Inbound, result: Any) -> bytearray:
        result = self._checked(inbound, result)
        text = bytearray(result_head(inbound.id))
        encode_into(result, text)
        if self._codec.strict and inbound.result is not Any:
            self._check_strictly(inbound, text)
        text += TAIL
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

    def _check_strictly(self, inbound: Inbound, text: bytearray) -> None:
        try:
            self._codec.decode(inbound.result, bytes(text[len(result_head(inbound.id)) :]))
        except Misfit as misfit:
            raise LocalProtocolError(
                f"the result of {inbound.method} does not fit: {misfit}", field=misfit.field, expected=misfit.expected
            ) from None

    def _finish(self, inbound: Inbound, result: Any) -> None:
        if inbound.finish is not None:
            finish, inbound.finish = inbound.finish, None
            finish(result)
