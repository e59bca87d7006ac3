"""The requests of the peer: each is answered exactly once, also if its handler raises or is cancelled."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from typing import Any

from accord.connection.admission import LARGE_TEXT_BYTES, SMALL_ANSWER_BYTES, Admission
from accord.connection.budget import OPEN_REQUEST_BYTES, Budget
from accord.connection.error_objects import CANCELLED, error_answer, refused, serialize_error
from accord.connection.lanes import INSIDE
from accord.connection.request import CURRENT, OpenRequest, WithdrawnByPeer
from accord.connection.sender import Sender
from accord.errors import ConnectionLost, LocalProtocolError, RequestError, TransportError
from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.pending import PendingRequests
from accord.jsonrpc.serialize import TAIL, BatchAnswer, result_head
from accord.protocol.codec import Codec, encode_between
from accord.protocol.model import Wire
from accord.protocol.salvage import Misfit

__all__ = ["IncomingRequests"]

BATCH_TOO_LARGE = "The answers of this batch are larger than this side keeps: send fewer requests in one batch"


class IncomingRequests:
    def __init__(
        self, pending: PendingRequests[Any, OpenRequest], sender: Sender, budget: Budget, codec: Codec
    ) -> None:
        self._pending = pending
        self._sender = sender
        self._budget = budget
        self._codec = codec
        self._admission = Admission(budget, self.start)
        self._batched_bytes = 0
        """Answers of batches that are not complete."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._context: Context
        self.lost = False
        """Whether the link is gone, so that nothing can be answered any more."""
        self._is_unread = False
        """Whether an answer could not be written: the peer has closed its reading end and gets no further answer."""

    def begin(self, owner: object) -> None:
        """Requests are answered from now on, in the caller's loop and context; handlers count as inside `owner`."""
        # Once: each time it is a system call.
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._context.run(INSIDE.set, owner)

    def open(self, request: OpenRequest) -> bool:
        """A request arrived and will be answered by its handler; False if its id is in use (and that is answered)."""
        if self._pending.open(request.id, request):
            return True
        # Under null: under the id itself it would be taken for the answer to the request that is open.
        self.refuse(None, refused("A request with this id is still open"), request.method, request.batch)
        return False

    def owes(self, id_: RequestId) -> bool:
        """Whether a request under this id is open."""
        return self._pending.opened(id_) is not None

    def start(self, request: OpenRequest) -> None:
        """Run the handler, beside everything else."""
        if request.began or request.task is not None:
            return  # cancelled while it waited in its lane: answered, or started past it
        context = self._context.copy()
        request.task = self._loop.create_task(self._run(request), name=request.method, context=context)
        self._budget.add(_unbegun_bytes(request))
        self._tasks.add(request.task)

    def cancel(self, id_: RequestId, withdrawal: WithdrawnByPeer | None = None) -> None:
        """The peer withdraws a request. Nothing happens if it is answered or never came.

        A handler that has begun gets `withdrawal` as the message of its `CancelledError`.
        """
        request = self._pending.opened(id_)
        if request is None:
            return
        if request.began and request.task is not None:
            request.task.cancel(withdrawal)
            return
        if request.arrived:
            request.admitted = True
            self.start(request)
            # When it has begun, and suspends: before that, a cancel would not reach its code.
            self._loop.call_soon(self._cancel_begun, request, withdrawal)
            return
        # Not begun: a task that is cancelled now would never run the code that answers.
        request.began = True
        if request.task is not None:
            request.task.cancel()
            self._tasks.discard(request.task)
            self._budget.free(_unbegun_bytes(request))
        self._returned(request, 0)
        self._finish(request, None)
        self.refuse(request.id, CANCELLED, request.method, request.batch)

    def _cancel_begun(self, request: OpenRequest, withdrawal: WithdrawnByPeer | None) -> None:
        if request.task is not None and self._pending.opened(request.id) is request:
            request.task.cancel(withdrawal)

    def refuse(self, id_: RequestId, error: ErrorObject, method: str, batch: BatchAnswer | None = None) -> None:
        """Answer a request that has no handler to run, or something that was no request."""
        text = serialize_error(id_, error, method)
        whole = text if batch is None else self._collect(batch, text)
        if whole is not None:
            self._post(whole)

    def _post(self, text: bytes) -> None:
        # Counts in the budget until it is written: a peer that sends garbage and reads nothing is slowed down too.
        sent = self._sender.post(text)
        if sent is not None:
            weight = OPEN_REQUEST_BYTES + len(text)
            self._budget.add(weight)
            sent.add_done_callback(lambda _: self._budget.free(weight))

    def _collect(self, batch: BatchAnswer, text: bytes) -> bytes | None:
        self._batched_bytes += len(text)
        whole = batch.add(text)
        if whole is not None:
            self._batched_bytes -= batch.size_bytes
        return whole

    def tasks(self) -> list[asyncio.Task[None]]:
        return list(self._tasks)

    def stop(self) -> None:
        """The link is gone: nothing can be answered, and waiting requests do not start."""
        self.lost = True
        self._admission.stop()

    # --- one request

    async def _run(self, request: OpenRequest) -> None:
        # One coroutine, as flat as it gets: there is one for each request.
        if not self._begins(request):
            return
        CURRENT.set(request)
        handler = request.handler
        answer_bytes = 0
        try:
            try:
                result = handler.call(request.params)
                request.params = None
                if handler.suspends or hasattr(result, "__await__"):
                    result = await result
                text = self._result_text(request, result)
            except asyncio.CancelledError:
                if self.lost:
                    raise  # there is no peer to answer
                text = self._error_text(request, CANCELLED)
            except BaseException as problem:  # noqa: BLE001 - whatever a handler raises becomes the one answer
                text = self._error_text(request, _failure(problem, request.method))
            finally:
                result = None  # the answer is a text from now on, and may have to wait
                self._budget.free(OPEN_REQUEST_BYTES)
            answer_bytes = len(text)
            whole = text if request.batch is None else self._collect(request.batch, bytes(text))
            del text
            if whole and not self._sender.try_send(whole):
                size_bytes, answer_bytes = answer_bytes, 0
                await self._send(request, whole, size_bytes)
        finally:
            self._returned(request, answer_bytes)
            # Not a callback of the task: that would cost a turn of the loop for each request.
            if request.task is not None:
                self._tasks.discard(request.task)
                # The task's context holds the request: without this cycle it is freed now, and not by the collector.
                request.task = None

    def _begins(self, request: OpenRequest) -> bool:
        """Whether a request starts now; if not, it waits in `Admission`, and its task ends."""
        admission, budget = self._admission, self._budget
        # Nearly all requests return here: none waits, and the answers of this method have been small.
        if (
            request.size_bytes <= LARGE_TEXT_BYTES
            and not request.handler.share
            and not admission.waits
            and budget.unwritten_bytes <= budget.max_bytes
            and request.method not in admission.largest_bytes
        ):
            request.began = True
            return True
        if request.size_bytes > LARGE_TEXT_BYTES:
            budget.free(request.size_bytes)
        if request.admitted or admission.admits(request):
            request.began = True
            return True
        budget.free(OPEN_REQUEST_BYTES)
        if request.task is not None:
            self._tasks.discard(request.task)
            request.task = None
        return False

    def _check_batch(self, answer_bytes: int) -> None:
        """Refuse an answer that makes its batch too large: the answers of a batch leave as one text."""
        if self._batched_bytes and self._batched_bytes + answer_bytes > self._budget.max_bytes:
            raise RequestError(BATCH_TOO_LARGE)

    def _returned(self, request: OpenRequest, answer_bytes: int) -> None:
        if request.admitted or answer_bytes > SMALL_ANSWER_BYTES or self._admission.waits:
            self._admission.returned(request, answer_bytes)

    async def _send(self, request: OpenRequest, text: bytes | bytearray, answer_bytes: int) -> None:
        """Send an answer for which there was no room at once; it counts until it is written."""
        weight = OPEN_REQUEST_BYTES + len(text)
        self._budget.answered(weight)
        self._returned(request, answer_bytes)
        try:
            await self._sender.send(text)
        except ConnectionLost:
            self._is_unread = True
        except TransportError:
            pass
        finally:
            self._budget.written(weight)

    def _error_text(self, request: OpenRequest, error: ErrorObject) -> bytes:
        self._finish(request, None)
        return serialize_error(request.id, error, request.method)

    def _result_text(self, request: OpenRequest, result: Any) -> bytes | bytearray:
        if type(result) is not request.result:
            result = self._checked(request, result)
        if self._is_unread:
            # Requests from before the peer went away are still read, and each answer may be large.
            self._finish(request, result)
            return b""
        head = result_head(request.id)
        text = encode_between(head, result, TAIL)
        if self._codec.strict and request.result is not Any:
            self._check_strictly(request, bytes(text[len(head) : -len(TAIL)]))
        if request.batch is not None:
            self._check_batch(len(text))
        self._finish(request, result)
        return text

    def _checked(self, request: OpenRequest, result: Any) -> Any:
        kind = request.result
        if kind is Any:
            return result
        if result is None and isinstance(kind, type) and issubclass(kind, Wire):
            return kind()  # a handler without a result; TypeError where the result has required fields
        if isinstance(result, Wire) and (not isinstance(kind, type) or isinstance(result, kind)):
            return result
        raise LocalProtocolError(f"the handler of {request.method} returned a {type(result).__name__}")

    def _check_strictly(self, request: OpenRequest, body: bytes) -> None:
        try:
            self._codec.decode(request.result, body)
        except Misfit as misfit:
            raise LocalProtocolError(
                f"the result of {request.method} does not fit: {misfit}", field=misfit.field, expected=misfit.expected
            ) from None

    def _finish(self, request: OpenRequest, result: Any) -> None:
        # First: `finish` of an `initialize` reads the texts that waited for it. A cancel of that very request among
        # them comes too late; it would else end the task that is about to send the answer.
        if self._pending.opened(request.id) is request:
            self._pending.answer(request.id)
        if request.finish is not None:
            finish, request.finish = request.finish, None
            finish(result)


def _failure(problem: BaseException, method: str) -> ErrorObject:
    """The error for the exception of a handler; one that ends the program goes on."""
    if isinstance(problem, SystemExit | KeyboardInterrupt | GeneratorExit):
        raise problem
    return error_answer(problem, method)


def _unbegun_bytes(request: OpenRequest) -> int:
    """The cost of a request whose task did not run yet; from then on `Admission` counts its text."""
    size_bytes = request.size_bytes
    return OPEN_REQUEST_BYTES + size_bytes if size_bytes > LARGE_TEXT_BYTES else OPEN_REQUEST_BYTES
