"""One stream of streamable HTTP: a GET that is read as server-sent events, and opened again when it ends.

`AwaitedAnswers` has the answers that need a stream, for servers that have none; `ReplayBarriers` holds back answers
that overtake the messages of a stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import httpx2

from accord.errors import ConnectionLost, TransportError
from accord.time_scale import scaled
from accord.transport.http_reply import (
    LINK_ERRORS,
    check_fault,
    chunks_of,
    has_events,
    last_text,
    retry_seconds,
)
from accord.transport.remote import LinkReport, RemoteOptions, Retry
from accord.transport.resumption import ACKNOWLEDGE_BYTES, ACKNOWLEDGE_TEXTS
from accord.wire.sse import SseEvent, SseReader

if TYPE_CHECKING:
    from accord.jsonrpc.message import RequestId
    from accord.transport.routing import Envelope, Stream

__all__ = ["AwaitedAnswers", "HttpStream", "ReplayBarriers", "StreamOwner"]

_Read = TypeVar("_Read")

# Servers send a comment after 15 seconds of silence: so much of it means that the link is dead. A server that sent none
# yet is asked for an answer after half of it.
SILENCE_SECONDS = scaled(50.0)

# A server that continues a stream may send events again that were received: so many are recognised.
MAX_SEEN = 4096

# A server may answer the call that opens a session a moment before it knows the session.
NOT_YET_SECONDS = scaled(5.0)

# A server that does not answer a barrier does not hold the answer behind it for longer.
BARRIER_SECONDS = scaled(5.0)

_OK, _NO_STREAM, _CONFLICT = 200, 405, 409
_MEANING = {
    200: "the server answered with something that is no stream of events",
    404: "the server does not have the connection any more",
    409: "the server cannot continue a stream: something was missed",
}
_NOT_YET = frozenset({403, 404})
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class StreamOwner(Protocol):
    """The part of the transport that its streams use."""

    options: RemoteOptions

    @property
    def is_resumable(self) -> bool:
        """Whether the server promised to resume streams."""

    def request(self, method: str, headers: dict[str, str], session: Stream) -> httpx2.Request: ...
    async def open(self, request: httpx2.Request) -> httpx2.Response: ...

    async def take(self, text: bytes, stream: Stream) -> None:
        """Take one text of a stream; waits while there is no space."""

    def acknowledge(self, stream: Stream, cursor: str) -> None: ...

    async def probe(self, stream: Stream) -> bool:
        """Ask the server for an answer on a stream; False where it will not come there."""

    def stream_absent(self) -> None:
        """The server has no such stream: see `HttpStream.is_absent`.

        Raises:
            ConnectionLost: An answer has to come on it.
        """

    def stream_failed(self, failure: TransportError) -> None: ...
    def retry_seconds(self) -> float | None: ...


class HttpStream:
    """Reads one stream for as long as the connection lives.

    Where each event has an id, a stream that broke is continued behind the last one. Without ids the end of a stream
    may have been lost with it, and then the connection has to end: an answer that never comes would hang its caller.
    """

    def __init__(self, owner: StreamOwner, stream: Stream, *, is_known: bool) -> None:
        self._owner = owner
        self._stream = stream
        self._is_known = is_known
        """Whether the server knows the session for certain."""
        self._last_id = ""
        self._has_ids = True
        """Whether every event so far had an id of its own."""
        self._are_ids_unique = True
        """Whether no id was that of another text before: some servers count anew on each link."""
        self._seen: dict[str, int] = {}
        """The hashes of the texts of the last events, by their ids."""
        self._waiting: asyncio.Timeout | None = None
        self._has_comments = False
        self._texts = 0
        self._bytes = 0
        self._acknowledged = ""
        self._retry = Retry(None)
        self._is_lost = False
        """Whether the loss of the link was reported, and its return was not."""
        self._pause_seconds = 0.0
        """The pause that the server asked for when it ended or refused the stream."""
        self.is_absent = False
        """Whether the server has no such stream: its messages come on the connection stream, or in replies."""
        self._loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[bool] = self._loop.create_future()
        """Whether the server opened it; False if it does not know the session yet."""
        self.task = self._loop.create_task(self._run())

    @property
    def is_read(self) -> bool:
        """Whether the server opened it, or may do so: some send the head of a stream with its first event."""
        return not self.opened.done() or self.opened.result()

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while await self._read_once():
                pass
        except TransportError as failure:
            self._owner.stream_failed(failure)
        except Exception as error:
            self._owner.stream_failed(ConnectionLost(f"reading a stream failed: {type(error).__name__}"))
            raise
        finally:
            if not self.opened.done():
                self.opened.set_result(False)

    async def _read_once(self) -> bool:
        """Open the stream and read it to its end; whether to open it again."""
        try:
            response = await self._open()
            try:
                if not await self._is_accepted(response):
                    return not self.opened.done() or self.opened.result()
                await self._read(response)
            finally:
                await response.aclose()
        except LINK_ERRORS as error:
            await self._lost(f"the stream broke: {type(error).__name__}", is_broken=self.opened.done())
        else:
            await self._lost("the server ended the stream", is_broken=False)
        return True

    async def _open(self) -> httpx2.Response:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        try:
            return await self._within_silence(self._owner.open(self._owner.request("GET", headers, self._stream)))
        except TimeoutError:
            if self.opened.done():
                raise
            raise ConnectionLost("the server did not open a stream") from None

    async def _within_silence(self, reading: Awaitable[_Read]) -> _Read:
        """The result of a read; `TimeoutError` after a silence that no living server keeps."""
        is_sure = self._has_comments or self._owner.is_resumable
        probing = None if is_sure else self._loop.create_task(self._probe())
        try:
            async with asyncio.timeout(SILENCE_SECONDS) as self._waiting:
                return await reading
        finally:
            self._waiting = None
            if probing is not None:
                probing.cancel()

    async def _probe(self) -> None:
        await asyncio.sleep(SILENCE_SECONDS / 2)
        if not await self._owner.probe(self._stream) and self._waiting is not None:
            self._waiting.reschedule(None)

    async def _is_accepted(self, response: httpx2.Response) -> bool:
        status = response.status_code
        is_first = not self.opened.done()
        if status == _OK and has_events(response):
            if is_first:
                self.opened.set_result(True)
            elif self._is_lost:
                self._is_lost = False
                self._owner.options.on_link(LinkReport("resumed", "the stream goes on"))
            self._retry.opened()
            return True
        await self._refused(response, is_first=is_first)
        return False

    async def _refused(self, response: httpx2.Response, *, is_first: bool) -> None:
        """The server did not open it: wait before it is asked again.

        Raises:
            ConnectionLost: It will not open it.
        """
        status = response.status_code
        if is_first and self._stream is not None and status in _NOT_YET:
            if not self._is_known:
                self.opened.set_result(False)
            else:
                await self._lost(f"the server answered {status}", is_broken=False, limit_seconds=NOT_YET_SECONDS)
        elif is_first and status == _NO_STREAM:
            self.is_absent = True
            self.opened.set_result(False)
            self._owner.stream_absent()
        elif status == _CONFLICT and not self._last_id:
            # It still has an earlier reader: one that we closed a moment ago.
            await self._lost("the server has another reader", is_broken=False, limit_seconds=NOT_YET_SECONDS)
        elif status in _TRY_AGAIN:
            self._pause_seconds = retry_seconds(response)
            await self._lost(f"the server answered {status}", is_broken=False)
        else:
            raise ConnectionLost(_MEANING.get(status, f"the server answered {status} to the reader of a stream"))

    async def _read(self, response: httpx2.Response) -> None:
        reader = SseReader(self._owner.options.max_bytes)
        chunks = chunks_of(response)
        while True:
            chunk = await self._within_silence(anext(chunks, None))
            if chunk is None:
                await self._finish(reader)
                return
            before = self._last_id
            events = reader.feed(chunk)
            if events:
                self._retry.succeeded()
            for event, is_own in zip(events, reader.own_ids, strict=True):
                if is_own and self._is_repeated(event):
                    continue
                self._has_ids = self._has_ids and is_own and event.id != before
                before = event.id
                self._bytes += len(event.data)
                self._texts += 1
                await self._owner.take(event.data, self._stream)
                # Not before it was taken: a task that is cancelled here would skip it.
                self._last_id = event.id
            self._last_id = reader.last_id or self._last_id
            if not events and chunk.lstrip().startswith(b":"):
                self._has_comments = True
            check_fault(reader)
            self._acknowledge()

    def _is_repeated(self, event: SseEvent) -> bool:
        """Whether an event was received already, as its id says; only where no id stood for two texts."""
        if not self._are_ids_unique or self._owner.is_resumable:
            return False
        known, digest = self._seen.get(event.id), hash(event.data)
        self._seen[event.id] = digest
        self._are_ids_unique = known in (None, digest)
        if len(self._seen) > MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        return known == digest

    async def _finish(self, reader: SseReader) -> None:
        """The server ended the stream, perhaps in the middle of an event."""
        self._pause_seconds = (reader.retry or 0) / 1000
        # Where there are ids, the rest behind the last whole event comes again.
        text = None if self._can_continue else last_text(reader)
        if text is not None:
            self._retry.succeeded()
            await self._owner.take(text, self._stream)

    @property
    def _can_continue(self) -> bool:
        return bool(self._last_id) and (self._owner.is_resumable or self._has_ids)

    def _acknowledge(self) -> None:
        if not self._owner.is_resumable or self._last_id == self._acknowledged:
            return
        is_first = not self._acknowledged and self._stream is None
        if is_first or self._texts >= ACKNOWLEDGE_TEXTS or self._bytes >= ACKNOWLEDGE_BYTES:
            self._texts = self._bytes = 0
            self._acknowledged = self._last_id
            self._owner.acknowledge(self._stream, self._last_id)

    async def _lost(self, reason: str, *, is_broken: bool, limit_seconds: float | None = None) -> None:
        """The link is gone: wait before it is opened again.

        Raises:
            ConnectionLost: It must not be, or it was tried for long enough.
        """
        if is_broken and not self._can_continue:
            raise ConnectionLost(f"{reason}, and the server cannot say what was missed")
        if is_broken and not self._is_lost:
            self._is_lost = True
            self._owner.options.on_link(LinkReport("lost", reason))
        self._retry.limit_seconds = limit_seconds or self._owner.retry_seconds()
        pause_seconds, self._pause_seconds = self._pause_seconds, 0.0
        if not await self._retry.wait(pause_seconds):
            raise ConnectionLost(reason)


class AwaitedAnswers:
    """The streams on which an answer has to come, because it was not in the reply to its request.

    Where no stream can bring it, its caller would wait for ever: `add` and `check` raise `ConnectionLost` instead.
    """

    def __init__(self, streams: Mapping[Stream, HttpStream]) -> None:
        self._streams = streams
        self._awaited: set[Stream] = set()

    def add(self, name: Stream) -> None:
        self._awaited.add(name)
        self._check(name)

    def discard(self, name: Stream) -> None:
        self._awaited.discard(name)

    def check(self) -> None:
        """Check again, when the server was found to lack a stream."""
        for name in self._awaited:
            self._check(name)

    def _check(self, name: Stream) -> None:
        of_connection, stream = self._streams.get(None), self._streams.get(name)
        if of_connection is None or not of_connection.is_absent:
            return
        if stream is None or not stream.is_read:
            raise ConnectionLost("the server has no streams, and did not answer in the reply to a request")


SendBarrier: TypeAlias = Callable[[bytes, str], Awaitable[bool]]
"""Sends a text of a session; False where the server did not take it."""


class ReplayBarriers:
    """Answers that overtook the replay they belong behind, held back until the replay is read.

    Some servers send the answer to `session/load` on the connection stream, where it overtakes the replay on the
    session's stream. A request without a meaning is answered on the session's stream, behind the replay, if only with
    an error: a barrier.
    """

    def __init__(self, send: SendBarrier, deliver: Callable[[bytes], None]) -> None:
        self._send = send
        self._deliver = deliver
        self._count = 0
        self._held: dict[RequestId, tuple[bytes, asyncio.Event]] = {}
        """The answers, by the ids of their barriers; an empty one for a barrier that only asks."""

    def passes(self, message: Envelope) -> bool:
        """Whether a message is the answer to a barrier; then the answer that was held back is delivered."""
        if message.kind != "answer" or message.id not in self._held:
            return False
        self._release(message.id)
        return True

    def add(self, stream: Stream, held: bytes = b"", passed: asyncio.Event | None = None) -> tuple[str, bytes]:
        """A new barrier in a stream: its id, and its text, which is to be sent."""
        self._count += 1
        id_ = f"_accord/barrier-{self._count}"
        self._held[id_] = (held, passed or asyncio.Event())
        params = {} if stream is None else {"sessionId": stream}
        message = {"jsonrpc": "2.0", "id": id_, "method": "_accord/barrier", "params": params}
        return id_, json.dumps(message).encode()

    async def hold(self, text: bytes, session_id: str) -> None:
        """Hold an answer back until the barrier behind the replay of its session is answered, for a bounded time."""
        passed = asyncio.Event()
        id_, barrier = self.add(session_id, text, passed)
        try:
            if await self._send(barrier, session_id):
                async with asyncio.timeout(BARRIER_SECONDS):
                    await passed.wait()
        except TimeoutError:
            pass
        finally:
            self._release(id_)

    def _release(self, id_: RequestId) -> None:
        held = self._held.pop(id_, None)
        if held is not None:
            text, passed = held
            passed.set()
            if text:
                self._deliver(text)
