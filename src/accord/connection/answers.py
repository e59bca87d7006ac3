"""The requests we owe an answer: each gets exactly one, whatever its handler does."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from typing import Any

from accord.connection.admission import LARGE_TEXT_BYTES, SMALL_ANSWER_BYTES, Admission
from accord.connection.backlog import OPEN_REQUEST_BYTES, Backlog
from accord.connection.fault import CANCELLED, error_answer, refused, serialize_error
from accord.connection.inbound import CURRENT, Inbound
from accord.connection.lane import INSIDE
from accord.connection.outbox import Outbox
from accord.errors import ConnectionLost, LocalProtocolError, RequestError, TransportError
from accord.jsonrpc.batch import BatchAnswer
from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.peer import Peer
from accord.jsonrpc.serialize import TAIL, result_head
from accord.protocol.codec import Codec, encode_between
from accord.protocol.model import Wire
from accord.protocol.salvage import Misfit

__all__ = ["Answers"]

BATCH_TOO_LARGE = "The answers of this batch are larger than this side keeps: send fewer requests in one batch"


class Answers:
    """All open requests of one connection."""

    def __init__(self, peer: Peer[Any, Inbound], outbox: Outbox, backlog: Backlog, codec: Codec) -> None:
        self._peer = peer
        self._outbox = outbox
        self._backlog = backlog
        self._codec = codec
        self._admission = Admission(backlog, self.start)
        self._batched_bytes = 0
        """Answers of batches that are not complete."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._context: Context
        self.lost = False
        self._is_unread = False
        """Whether an answer could not be written: the peer has closed what it reads from, and gets no other one."""
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
        self._backlog.add(_unbegun_bytes(inbound))
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
            inbound.admitted = True
            self.start(inbound)
            # When it has begun, and suspends: before that, it could not even hear that it is cancelled.
            self._loop.call_soon(self._cancel_begun, inbound)
            return
        # Not begun: a task that is cancelled now would never run the code that answers.
        inbound.began = True
        if inbound.task is not None:
            inbound.task.cancel()
            self._tasks.discard(inbound.task)
            self._backlog.free(_unbegun_bytes(inbound))
        self._returned(inbound, 0)
        self._finish(inbound, None)
        self._peer.answer(inbound.id)
        self.refuse(inbound.id, CANCELLED, inbound.method, inbound.batch)

    def _cancel_begun(self, inbound: Inbound) -> None:
        if inbound.task is not None and self._peer.opened(inbound.id) is inbound:
            inbound.task.cancel()

    def refuse(self, id_: RequestId, error: ErrorObject, method: str, batch: BatchAnswer | None = None) -> None:
        """Answer a request that has no handler to run, or something that was no request."""
        text = serialize_error(id_, error, method)
        whole = text if batch is None else self._collect(batch, text)
        if whole is not None:
            self._post(whole)

    def _post(self, text: bytes) -> None:
        # Weighs on the budget until it has left: a peer that sends garbage and reads nothing is slowed down too.
        room = self._outbox.post(text)
        if room is not None:
            weight = OPEN_REQUEST_BYTES + len(text)
            self._backlog.add(weight)
            room.add_done_callback(lambda _: self._backlog.free(weight))

    def _collect(self, batch: BatchAnswer, text: bytes) -> bytes | None:
        self._batched_bytes += len(text)
        whole = batch.add(text)
        if whole is not None:
            self._batched_bytes -= batch.size_bytes
        return whole

    def tasks(self) -> list[asyncio.Task[None]]:
        """The handlers that run."""
        return list(self._tasks)

    def stop(self) -> None:
        """The link is gone: nothing can be answered, and what waits does not start."""
        self.lost = True
        self._admission.stop()

    # --- one request

    async def _run(self, inbound: Inbound) -> None:
        # One coroutine, as flat as it gets: there is one for each request.
        if not self._begins(inbound):
            return
        CURRENT.set(inbound)
        handler = inbound.handler
        answer_bytes = 0
        try:
            try:
                result = handler.call(inbound.params)
                inbound.params = None
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
                result = None  # the answer is a text from now on, and may have to wait
                self._backlog.free(OPEN_REQUEST_BYTES)
            self._peer.answer(inbound.id)
            answer_bytes = len(text)
            whole = text if inbound.batch is None else self._collect(inbound.batch, bytes(text))
            del text
            if whole and not self._outbox.put(whole):
                size_bytes, answer_bytes = answer_bytes, 0
                await self._send(inbound, whole, size_bytes)
        finally:
            self._returned(inbound, answer_bytes)
            # Not a callback of the task: that would cost a turn of the loop for each request.
            if inbound.task is not None:
                self._tasks.discard(inbound.task)

    def _begins(self, inbound: Inbound) -> bool:
        """Whether a request starts now; if not, it waits in `Admission`, and its task ends."""
        admission, backlog = self._admission, self._backlog
        # Nearly all pass here: nothing waits, and the answers of this method have been small.
        if (
            inbound.size_bytes <= LARGE_TEXT_BYTES
            and not inbound.handler.share
            and not admission.waits
            and backlog.unwritten_bytes <= backlog.max_bytes
            and inbound.method not in admission.largest_bytes
        ):
            inbound.began = True
            return True
        if inbound.size_bytes > LARGE_TEXT_BYTES:
            backlog.free(inbound.size_bytes)
        if inbound.admitted or admission.admits(inbound):
            inbound.began = True
            return True
        backlog.free(OPEN_REQUEST_BYTES)
        if inbound.task is not None:
            self._tasks.discard(inbound.task)
            inbound.task = None
        return False

    def _check_batch(self, answer_bytes: int) -> None:
        """A batch is answered as a whole: what it has of answers cannot leave before the last."""
        if self._batched_bytes and self._batched_bytes + answer_bytes > self._backlog.max_bytes:
            raise RequestError(BATCH_TOO_LARGE)

    def _returned(self, inbound: Inbound, answer_bytes: int) -> None:
        if inbound.admitted or answer_bytes > SMALL_ANSWER_BYTES or self._admission.waits:
            self._admission.returned(inbound, answer_bytes)

    async def _send(self, inbound: Inbound, text: bytes | bytearray, answer_bytes: int) -> None:
        """Send an answer for which there was no room at once; it counts until it is written."""
        weight = OPEN_REQUEST_BYTES + len(text)
        self._backlog.answered(weight)
        self._returned(inbound, answer_bytes)
        try:
            await self._outbox.send_whole(text)
        except ConnectionLost:
            self._is_unread = True
        except TransportError:
            pass
        finally:
            self._backlog.written(weight)

    def _error_text(self, inbound: Inbound, error: ErrorObject) -> bytes:
        self._finish(inbound, None)
        return serialize_error(inbound.id, error, inbound.method)

    def _result_text(self, inbound: Inbound, result: Any) -> bytes | bytearray:
        if type(result) is not inbound.result:
            result = self._checked(inbound, result)
        if self._is_unread:
            # What the peer asked for before it went away is still read, and each answer may be large.
            self._finish(inbound, result)
            return b""
        head = result_head(inbound.id)
        text = encode_between(head, result, TAIL)
        if self._codec.strict and inbound.result is not Any:
            self._check_strictly(inbound, bytes(text[len(head) : -len(TAIL)]))
        if inbound.batch is not None:
            self._check_batch(len(text))
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


def _unbegun_bytes(inbound: Inbound) -> int:
    """What a request costs whose task did not run yet; from then on `Admission` counts its text."""
    size_bytes = inbound.size_bytes
    return OPEN_REQUEST_BYTES + size_bytes if size_bytes > LARGE_TEXT_BYTES else OPEN_REQUEST_BYTES
