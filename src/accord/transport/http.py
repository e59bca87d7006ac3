"""A transport to the address `http://…` or `https://…`: streamable HTTP, with the differences of known servers.

Messages are sent by POST, one at a time, and read from streams (`http_stream`); `routing` decides which of them belongs
to which session. A server may also answer in the reply to the POST itself (`http_reply`), at once, when the answer is
there, or with events. docs/remote.md lists the differences between servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING

from accord.errors import ConnectFailed, ConnectionLost, TransportError
from accord.time_scale import scaled
from accord.transport.interface import Transport
from accord.transport.remote import (
    LinkReport,
    RemoteOptions,
    RemoteTransport,
    Retry,
    needs_extra,
    request_headers,
    session_header,
)
from accord.transport.resumption import Advertisement, acknowledgement, is_control, read_advertisement
from accord.transport.routing import (
    CLOSING_METHODS,
    OPENING_METHODS,
    ClientRoutes,
    Envelope,
    read_agent_envelope,
    read_envelope,
)

with needs_extra():
    import httpx2

    from accord.transport import http_reply
    from accord.transport.http_reply import LINK_ERRORS, has_events, is_json, is_success, read_answer, texts_of
    from accord.transport.http_stream import AwaitedAnswers, HttpStream, ReplayBarriers

if TYPE_CHECKING:
    from accord.transport.routing import Stream

__all__ = ["HttpTransport", "connect_http"]

log = logging.getLogger("accord.transport")

POST_SECONDS = scaled(60.0)
FLUSH_SECONDS = scaled(5.0)
OPEN_SECONDS = scaled(2.0)
# For the reply to a message, when the connection is gone.
REPLY_SECONDS = scaled(1.0)
OVERTAKE_SECONDS = scaled(0.25)
DELETE_SECONDS = scaled(1.0)
# Many servers close a connection that was idle for five seconds: a message that crosses that end is lost.
IDLE_SECONDS = 4.0

_GONE = frozenset({401, 403, 404, 410})
_TRY_AGAIN = frozenset({429, 502, 503, 504})
_MISSING = 400
_UNKNOWN = 404


async def connect_http(address: str, options: RemoteOptions | None = None) -> Transport:
    """A transport to an agent at an `http` or `https` address.

    The first request is the `initialize` that is sent: where there is no agent, `receive` raises `ConnectFailed`. A
    stream that breaks is continued where the server gives ids; otherwise its loss is the end of the connection.
    `RemoteOptions.on_link` gets a report of either. Proxies are those of the environment. No redirect is followed.

    Raises:
        ValueError: The address or a header is not usable.
        LocalProtocolError: The token would be sent unencrypted to another machine.
    """
    return HttpTransport(address, options or RemoteOptions())


class HttpTransport(RemoteTransport):
    """See `connect_http`."""

    def __init__(self, address: str, options: RemoteOptions) -> None:
        headers = request_headers(address, options)
        # A round trip for each message that is still to be sent.
        super().__init__(flush_seconds=FLUSH_SECONDS)
        self.options = options
        self._address = address
        self._client = httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers},
            verify=True if options.tls is None else options.tls,
            # One connection per open stream: with a limit, a session too many would wait for ever.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=IDLE_SECONDS),
            timeout=httpx2.Timeout(None, connect=options.connect_seconds),
            follow_redirects=False,
        )
        self._routes = ClientRoutes()
        self._streams: dict[Stream, HttpStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._barriers = ReplayBarriers(self._send_barrier, self._deliver)
        self._connection_id: str | None = None
        self._advertisement: Advertisement | None = None
        self._number = 0
        self._is_sending = False
        self._has_answers_in_replies = False
        """Whether the server answered a request in the reply to its POST, which then may come late."""
        self._awaited = AwaitedAnswers(self._streams)
        self._cursors: dict[Stream, str] = {}
        self._acknowledging: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._space = asyncio.Event()
        self._writing = self._loop.create_task(self._write())

    def _on_outgoing(self) -> None:
        self._wanted.set()

    def _on_space(self) -> None:
        self._space.set()

    # --- for the streams

    @property
    def is_resumable(self) -> bool:
        """Whether the server promised to resume streams."""
        return self._advertisement is not None

    def retry_seconds(self) -> float | None:
        """How long to try to open a lost link again."""
        limit = self.options.reconnect_seconds
        if self._advertisement is None:
            return limit
        grace = self._advertisement.grace_seconds
        return grace if limit is None else min(limit, grace)

    def request(
        self, method: str, headers: Mapping[str, str], session: Stream = None, content: bytes | None = None
    ) -> httpx2.Request:
        """A request to the address, on this connection."""
        sent = dict(headers)
        if session is not None:
            sent["Acp-Session-Id"] = session_header(session)
        if self._connection_id is not None:
            sent["Acp-Connection-Id"] = self._connection_id
        return self._client.build_request(method, self._address, headers=sent, content=content)

    async def open(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the body of its response is not read yet."""
        return await self._client.send(request, stream=True)

    async def take(self, text: bytes, stream: Stream) -> None:
        """Take one text of a stream; waits while there is no space."""
        while self._is_full and not self._closed:
            self._space.clear()
            await self._space.wait()
        self._receive(text, stream)

    def _receive(self, text: bytes, stream: Stream) -> None:
        message = read_agent_envelope(text)
        if self._barriers.passes(message):
            return
        if self.is_resumable and is_control(text):
            return
        change = self._routes.received(message)
        if change is not None and change.is_open and stream is None and self._is_read(change.session_id):
            self._begin(self._barriers.hold(text, change.session_id))
            return
        self._deliver(text)
        if change is None:
            return
        if change.is_open:
            self._open_stream(change.session_id)
            return
        self._awaited.discard(change.session_id)
        if (closed := self._streams.pop(change.session_id, None)) is not None:
            # Not awaited: it may be the very stream that is just being read.
            self._begin(closed.close())

    def _is_read(self, session_id: Stream) -> bool:
        stream = self._streams.get(session_id)
        return stream is not None and stream.is_read

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send_barrier(self, text: bytes, session_id: str) -> bool:
        try:
            response, body = await self._post(text, session_id)
        except (*LINK_ERRORS, TransportError):
            return False
        if is_success(response):
            self._take_reply(response, body, None)
        return is_success(response)

    async def probe(self, stream: Stream) -> bool:
        if self._has_answers_in_replies:
            return False
        try:
            response, body = await self._post(self._barriers.add(stream)[1], stream)
        except (*LINK_ERRORS, TransportError):
            return True
        return is_success(response) and not (self._take_reply(response, body, None) or has_events(response))

    def acknowledge(self, stream: Stream, cursor: str) -> None:
        """Let the server forget the received messages of a stream."""
        self._cursors[stream] = cursor
        if self._acknowledging is None or self._acknowledging.done():
            self._acknowledging = self._loop.create_task(self._acknowledge())

    async def _acknowledge(self) -> None:
        while self._cursors:
            stream, cursor = self._cursors.popitem()
            # A lost one costs the server some memory, until the next.
            with contextlib.suppress(*LINK_ERRORS, TransportError):
                await self._post(acknowledgement(cursor, stream), stream)

    def stream_failed(self, failure: TransportError) -> None:
        """A stream cannot be read any more: the connection is of no use."""
        # The reply to a message that is being sent says whether the server has it.
        self._loop.call_later(REPLY_SECONDS if self._is_sending else 0.0, self._fail, failure)

    def stream_absent(self) -> None:
        """See `StreamOwner.stream_absent`."""
        self._awaited.check()

    def _open_stream(self, session_id: Stream, *, is_known: bool = True) -> HttpStream:
        stream = self._streams.get(session_id)
        if stream is None or (stream.task.done() and not stream.is_absent):
            stream = self._streams[session_id] = HttpStream(self, session_id, is_known=is_known)
        return stream

    def _fail(self, failure: TransportError) -> None:
        if self._ended or self._closed:
            return
        if self._connection_id is not None:
            self.options.on_link(LinkReport("gap", str(failure)))
        if self.is_resumable:
            self._refuse_unreceived(self._outgoing)
        self._end(failure)

    # --- sending

    async def _write(self) -> None:
        try:
            while not self._ended:
                if not self._outgoing:
                    self._wanted.clear()
                    await self._wanted.wait()
                    continue
                text, self._is_sending = self._outgoing.popleft(), True
                try:
                    await self._send_one(bytes(text))
                finally:
                    self._is_sending = False
                    self._written(len(text))
        except TransportError as failure:
            self._fail(failure)
        except Exception as error:
            self._fail(ConnectionLost(f"the transport failed: {type(error).__name__}"))
            raise

    async def _send_one(self, text: bytes) -> None:
        message = read_envelope(text)
        if message.kind == "request" and message.method == "initialize":
            await self._initialize(text)
            return
        session = self._routes.session_of(message)
        self._number += 1
        if session is None:
            await self._deliver_post(text, message, None)
        elif message.method in OPENING_METHODS:
            await self._open_session(text, message, session)
        else:
            if message.kind == "request":
                await self._open_for(message, session)
            await self._deliver_post(text, message, session)

    async def _deliver_post(self, text: bytes, message: Envelope, session: Stream, *, instead: Stream = None) -> None:
        """Send one message; the next one may follow. `instead` is the session to name where the server asks for one.

        Raises:
            ConnectionLost: It cannot be sent, or it is unknown whether it was.
        """
        delivering = self._deliver_whole(text, message, session, instead)
        if message.kind != "request" or not self._has_answers_in_replies:
            await delivering
            return
        # The reply may come at the end of a turn only: messages that the turn needs, such as an answer, overtake it.
        task = self._begin(self._or_fail(delivering))
        await asyncio.wait([task], timeout=OVERTAKE_SECONDS)

    async def _or_fail(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except TransportError as failure:
            self._fail(failure)

    async def _open_for(self, message: Envelope, session: str) -> None:
        """Open the stream of a session for the answer to a request, also to one that ends a session not open here.

        Some servers do not know that session, and answer on the connection stream. The request waits for the stream:
        where the session was closed a moment ago, the server would write the answer to the reader that has just left.
        """
        is_known = message.method not in CLOSING_METHODS
        stream = self._open_stream(session, is_known=is_known)
        if not is_known:
            await asyncio.wait([stream.opened], timeout=OPEN_SECONDS)

    async def _open_session(self, text: bytes, message: Envelope, session: str) -> None:
        """`session/load` and its like: servers disagree on whether the stream or the call has to come first."""
        stream = self._open_stream(session, is_known=False)
        await asyncio.wait([stream.opened], timeout=OPEN_SECONDS)
        if stream.is_read:
            await self._deliver_post(text, message, session)
        else:
            await self._deliver_post(text, message, None, instead=session)

    async def _initialize(self, text: bytes) -> None:
        if self._connection_id is not None:
            # A connection has one `initialize`; another one opens another connection.
            await self._leave()
        response, body = await self._post_first(text)
        answer = read_envelope(body)
        self._connection_id = response.headers.get("acp-connection-id")
        if answer.kind != "answer":
            raise ConnectFailed("the server did not answer `initialize`", status=response.status_code)
        if answer.is_error:
            await self._leave()
        elif self._connection_id is None:
            raise ConnectFailed("the server gave no Acp-Connection-Id", status=response.status_code)
        else:
            self._advertisement = read_advertisement(body)
            self._open_stream(None)
        self._deliver(body)

    async def _post_first(self, text: bytes) -> tuple[httpx2.Response, bytes]:
        try:
            response, body = await self._post(text, None)
        except httpx2.ConnectTimeout:
            raise ConnectFailed(f"no connection within {self.options.connect_seconds:g} s") from None
        except LINK_ERRORS as error:
            raise ConnectFailed(f"no connection: {type(error).__name__}") from error
        self._check_first(response, body)
        return response, body

    def _check_first(self, response: httpx2.Response, body: bytes) -> None:  # noqa: ARG002 - a subclass needs it
        http_reply.check_first(response)

    async def _deliver_whole(self, text: bytes, message: Envelope, session: Stream, instead: Stream) -> None:
        """Send one message until the server has it."""
        retry = Retry(self.retry_seconds())
        while isinstance(outcome := await self._post_once(text, message, session), str):
            if not retry.is_running:
                self.options.on_link(LinkReport("lost", outcome))
            if not await retry.wait():
                raise ConnectionLost(outcome)
        if retry.is_running:
            self.options.on_link(LinkReport("resumed", "the message was sent"))
        response, body = outcome
        if not is_success(response):
            # It has no place among the messages of the connection, and the next one takes its number.
            self._number -= 1
        if response.status_code == _MISSING and instead is not None:
            self._number += 1
            await self._deliver_whole(text, message, instead, None)
            return
        if response.status_code == _UNKNOWN and not retry.is_running and self.is_resumable:
            self._refuse_unreceived([text])
        self._judge(response, body, message)

    async def _post_once(self, text: bytes, message: Envelope, session: Stream) -> tuple[httpx2.Response, bytes] | str:
        """Send one message once; a string says why it has to be sent again."""
        try:
            response, body = await self._post(text, session)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            return f"no connection: {type(error).__name__}"
        except LINK_ERRORS as error:
            failure = f"sending failed: {type(error).__name__}"
            if not self.is_resumable:
                raise ConnectionLost(f"{failure}, and the server cannot say what it received") from error
            return failure
        # An answer counts once, however often it comes; without it a turn would wait for ever.
        if response.status_code in _TRY_AGAIN and (self.is_resumable or message.kind == "answer"):
            return f"the server answered {response.status_code}"
        return response, body

    def _judge(self, response: httpx2.Response, body: bytes, message: Envelope) -> None:
        status = response.status_code
        if is_success(response):
            is_taken = self._take_reply(response, body, message.session_id) or has_events(response)
            if message.kind == "request" and not is_taken:
                self._awaited.add(message.session_id)
            return
        if status in _GONE:
            raise ConnectionLost(f"the server answered {status}: the connection is gone")
        if message.kind == "answer":
            # The agent would wait for it for ever, and its turn with it.
            raise ConnectionLost(f"the server refused an answer of this client: {status}")
        log.warning("the server answered %d to a message", status)
        if message.kind == "request":
            self._receive(http_reply.refused_answer(message, status), None)

    def _take_reply(self, response: httpx2.Response, body: bytes, session: Stream) -> bool:
        """Take the message in a reply. Other JSON is dropped: our error answer to it would be answered in turn."""
        kind = read_envelope(body).kind if body and is_json(response) else "other"
        if kind == "other":
            return False
        if kind == "answer":
            self._has_answers_in_replies = True
            if session is not None and (self._is_read(session) or self._is_read(None)):
                self._begin(self._receive_late(body))
                return True
        self._receive(body, None)
        return True

    async def _receive_late(self, answer: bytes) -> None:
        """Take an answer that may have overtaken earlier messages on the stream of its session."""
        await asyncio.sleep(OVERTAKE_SECONDS)
        self._receive(answer, None)

    async def _post(self, text: bytes, session: Stream) -> tuple[httpx2.Response, bytes]:
        """Send a text once; the reply and its body. A reply of events is read on, and its body is empty."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.is_resumable and not is_control(text):
            headers["Accord-Message-Number"] = str(self._number)
        request = self.request("POST", headers, session, text)
        async with asyncio.timeout(None if self._has_answers_in_replies else POST_SECONDS):
            response = await self.open(request)
            if is_success(response) and has_events(response) and self._connection_id is not None:
                self._begin(self._or_fail(self._read_events(response, read_envelope(text))))
                return response, b""
            try:
                return response, await read_answer(response, self.options.max_bytes)
            finally:
                await response.aclose()

    async def _read_events(self, response: httpx2.Response, message: Envelope) -> None:
        is_answered = message.kind != "request"
        try:
            async for text in texts_of(response, self.options.max_bytes):
                is_answered = is_answered or read_agent_envelope(text).kind == "answer"
                await self.take(text, message.session_id)
            if not is_answered:
                self._awaited.add(message.session_id)
        except LINK_ERRORS as error:
            raise ConnectionLost(f"the answer to a message broke off: {type(error).__name__}") from error
        finally:
            await response.aclose()

    # --- the end

    async def _leave(self) -> None:
        """End the connection at the server, where there is one."""
        streams = list(self._streams.values())
        self._streams.clear()
        for stream in streams:
            await stream.close()
        if self._connection_id is None:
            return
        request, self._connection_id = self.request("DELETE", {}), None
        with contextlib.suppress(httpx2.TransportError, TimeoutError):
            async with asyncio.timeout(DELETE_SECONDS):
                response = await self.open(request)
                await response.aclose()

    async def _shut_down(self) -> None:
        self._space.set()
        tasks = [task for task in (self._writing, self._acknowledging, *self._tasks) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self._leave()
        finally:
            await self._client.aclose()
