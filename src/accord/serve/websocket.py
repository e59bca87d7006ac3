"""WebSocket: one socket as the link of a connection, by the rules of docs/remote-wire.md."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from accord.agent.request_errors import draining
from accord.errors import InvalidRequest, RequestError, StoreError
from accord.jsonrpc.message import ErrorObject
from accord.jsonrpc.serialize import error_text
from accord.serve.access import BEARER_SUBPROTOCOL, HttpRefusal
from accord.serve.connections import Connections
from accord.serve.message_text import params_of
from accord.serve.node_forwarding import RESTART, SocketClosed, open_socket
from accord.serve.outgoing_stream import StreamLink
from accord.serve.own_messages import (
    RESUME_METHOD,
    Introduction,
    ReceivedTexts,
    answered,
    cursor_of,
    error_answer,
    malformed,
    not_resumed,
    read_introduction,
    take_over,
    with_id,
)
from accord.serve.principals import Credentials, Principal
from accord.serve.remote_connection import RemoteConnection
from accord.serve.response import Receive, Send
from accord.serve.socket_link import (
    LINK,
    TEXTS,
    DirectSocket,
    SocketLink,
    close_code,
    is_fault,
    is_finished,
    log_fault,
)
from accord.transport.routing import Envelope, read_envelope

__all__ = ["ServedSocket"]

log = logging.getLogger("accord.serve")

_NO_CODE = 1005
_SUBPROTOCOL_CHARACTERS = 32


class _Closed(Exception):
    """The socket is gone; `code` is the close code."""

    def __init__(self, code: int, reason: str | None = "") -> None:
        super().__init__(reason or "")
        self.code = code
        self.reason = reason
        """None where no close frame came."""


class ServedSocket:
    """One accepted socket, from its upgrade to its end, or until a `SocketLink` has it.

    `extensions` are those of the ASGI server: with `TEXTS` several messages are one write, with `LINK` no task reads or
    writes the socket.
    """

    def __init__(
        self,
        connections: Connections,
        principal: Principal,
        credentials: Credentials,
        receive: Receive,
        send: Send,
        extensions: Mapping[str, Any],
        subprotocols: Sequence[str] = (),
    ) -> None:
        self._connections = connections
        self._principal = principal
        self._credentials = credentials
        self._receive = receive
        self._send = send
        self._takes_texts = TEXTS in extensions
        self._extensions = extensions
        # ACP has none, but browsers and others end a socket if the server selects none of those that they offered.
        self._subprotocol = next(filter(_may_be_repeated, subprotocols), None)
        self._connection_id = connections.new_id()
        self._is_reading = False
        self._attached: RemoteConnection | None = None
        """The connection that has this socket as a link before its reader does."""

    async def serve(self) -> SocketLink | None:
        """Accept the socket and serve it until it is gone; or until its connection has begun, if it can be linked."""
        # One that another node forwards may belong to a connection that goes on to its end.
        if self._credentials.forwarded_by is None or not self._connections.is_draining:
            self._connections.check_room(self._principal)
        header = (b"acp-connection-id", self._connection_id.encode())
        await self._send({"type": "websocket.accept", "subprotocol": self._subprotocol, "headers": [header]})
        connection = await self._begin_link()
        if connection is None:
            return None
        if LINK in self._extensions:
            socket: DirectSocket = self._extensions[LINK]["socket"]()
            return SocketLink(connection, socket)
        await self._run(connection)
        return None

    # --- initialize

    async def _begin_link(self) -> RemoteConnection | None:
        """The connection of this socket; None if it was refused, or the client left before it had its answer."""
        connection: RemoteConnection | None = None
        try:
            connection = await self._initialize()
        except _Closed as closed:
            self._left(closed)
        except OSError:  # to write to a socket that is gone
            with contextlib.suppress(OSError):
                await self._until_closed()
        finally:
            if connection is None and self._attached is not None:
                self._attached.detach()
        return connection

    async def _until_closed(self) -> None:
        try:
            while True:
                await self._next_text()
        except _Closed as closed:
            self._left(closed)

    def _left(self, closed: _Closed) -> None:
        if self._attached is not None and is_finished(closed.code, closed.reason):
            self._attached.end("the client closed it")

    def _attach(self, connection: RemoteConnection) -> None:
        connection.attach()
        self._attached = connection

    async def _initialize(self) -> RemoteConnection | None:
        text = await self._text_in_time("initialize")
        if text is None:
            return None
        try:
            introduction = read_introduction(text)
        except RequestError as error:
            self._log_refusal(error.message)
            await self._send_text(malformed(text) or error_answer(read_envelope(text), error))
            await self._close(1002, "the first message must be initialize")
            return None
        return None if await self._is_forwarded(introduction, text) else await self._begin(introduction, text)

    async def _begin(self, introduction: Introduction, text: bytes) -> RemoteConnection | None:
        kept = self._connections.find(introduction.resumes, self._principal) if introduction.resumes else None
        if kept is not None and not kept.has_session_streams and kept.is_initialized:
            await self._send_text(with_id(kept.initialize_answer.result(), introduction.message))
            return await self._resume(kept)
        try:
            connection = None
            if introduction.resumes is None:
                connection = take_over(
                    self._connections, introduction, self._principal, self._credentials, self._connection_id
                )
            if connection is None:
                connection = self._connections.make(
                    self._principal, self._credentials, has_session_streams=False, connection_id=self._connection_id
                )
                self._attach(connection)
                connection.begin(text, introduction.message, introduction.params)
                self._connections.start(connection)
            else:
                self._attach(connection)
        except RequestError as error:
            self._log_refusal(error.message)
            await self._send_text(error_answer(introduction.message, error))
            await self._close(1008, "refused")
            return None
        except HttpRefusal as refusal:
            self._connections.metrics.refusals[refusal.cause] += 1
            self._log_refusal(refusal.message)
            if introduction.resumes:
                # It has ended: a client that only heard "try again" would ask for it until this server is gone.
                await self._send_text(error_answer(introduction.message, draining(None)))
            await self._close(1013, refusal.message)
            return None
        return await self._await_agent(connection, introduction.message)

    async def _is_forwarded(self, introduction: Introduction, text: bytes) -> bool:
        """Whether the socket belonged to a connection of another node: then it is over now."""
        fleet = self._connections.fleet
        try:
            name = self._connections.elsewhere(introduction.resumes, self._credentials)
        except HttpRefusal:
            return False  # forwarded already: it is not here, which the client learns from the answer
        if fleet is None or name is None:
            return False
        try:
            node = await fleet.node(name)
            if node is None:
                return False
            link = await open_socket(fleet, node, self._principal, self._connections.limits.body_bytes)
        except ConnectionRefusedError:
            return False  # nothing listens there: the process that had the connection is gone
        except StoreError:
            link = None  # the nodes cannot be read just now
        closed: SocketClosed | None = SocketClosed(RESTART, "the node of this connection cannot be reached")
        if link is not None:
            closed = await link.run(text, self._next_or_closed, self._send_forwarded)
        if closed is not None:
            await self._close(closed.code, closed.reason)
        return True

    async def _next_or_closed(self) -> bytes | SocketClosed:
        try:
            return await self._next_text()
        except _Closed as closed:
            return SocketClosed(closed.code, "")

    async def _send_forwarded(self, text: str | bytes) -> None:
        await self._send({"type": "websocket.send", "text": text if isinstance(text, str) else text.decode()})

    def _log_refusal(self, reason: str) -> None:
        log.info("refused a socket of %s: %s", self._principal.name, reason)

    async def _await_agent(self, connection: RemoteConnection, message: Envelope) -> RemoteConnection | None:
        answer = await answered(connection, self._connections.limits.initialize_seconds)
        if answer is None:
            await self._send_text(error_text(message.id, ErrorObject(-32603, "The agent does not answer")))
        else:
            await self._send_text(with_id(answer, message))
            if connection.is_initialized:
                return connection
        connection.end("the agent refused initialize" if answer else "the agent did not answer initialize")
        await self._close(1011, "the agent did not start")
        return None

    async def _resume(self, kept: RemoteConnection) -> RemoteConnection | None:
        """Take up a connection again: the client sends its cursor, and gets the messages behind it."""
        text = await self._text_in_time(RESUME_METHOD)
        if text is None:
            return None
        message = read_envelope(text)
        if message.method != RESUME_METHOD:
            await self._send_text(error_answer(message, InvalidRequest("_accord/resume must come now")))
            await self._close(1002, "not resumed")
            return None
        cursor = cursor_of(params_of(text).get("cursor"))
        if kept.has_ended or cursor is None or not kept.rewind(None, cursor):
            reason = "unknown" if kept.has_ended else "gap"
            self._log_refusal(f"connection {kept.id[:8]} cannot be resumed: {reason}")
            if reason == "gap":
                kept.leave()  # the next connection of this client takes its agent over
            await self._send_text(not_resumed(message, reason))
            await self._close(1000, "not resumed")
            return None
        if kept.links:
            log.info("connection %s of %s: a newer socket replaces the older one", kept.id[:8], self._principal.name)
        self._attach(kept)
        kept.acknowledge(None, cursor)
        StreamLink(kept.streams.get(None))  # a socket that is still there ends now
        named = params_of(text).get("requests")
        requests = [each for each in kept.open_calls() if isinstance(named, list) and each in named]
        result = {"received": str(kept.received), "requests": requests}
        await self._send_text(json.dumps({"jsonrpc": "2.0", "id": message.id, "result": result}).encode())
        self._connections.metrics.resumed_links += 1
        log.info("connection %s of %s was resumed", kept.id[:8], self._principal.name)
        return kept

    # --- messages

    async def _run(self, connection: RemoteConnection) -> None:
        link = StreamLink(connection.streams.get(None))
        reader = asyncio.current_task()
        assert reader is not None  # noqa: S101 - a coroutine runs in one
        writer = asyncio.get_running_loop().create_task(self._write(connection, link))
        writer.add_done_callback(lambda _: reader.cancel() if self._is_reading else None)
        connection.writers[writer] = None
        try:
            self._is_reading = True
            await self._read(connection, link)
        except asyncio.CancelledError:
            # The writer has ended, and with it the socket: that is no cancel of the server.
            if not writer.done() or reader.uncancel():
                raise
        except (_Closed, OSError):
            pass
        finally:
            self._is_reading = False
            link.end()
            connection.writers.pop(writer, None)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            connection.detach()
        error = None if writer.cancelled() else writer.exception()
        # To write to a socket that is gone is an `OSError` of the server.
        if error is not None and not isinstance(error, _Closed | OSError):
            log.error("a socket of %s failed", self._principal.name, exc_info=error)

    async def _read(self, connection: RemoteConnection, link: StreamLink) -> None:
        texts = ReceivedTexts(connection)
        try:
            while True:
                await connection.agent.room()
                reply = texts.take(await self._next_text())
                if reply is not None:
                    await self._send_text(reply.text)
                    if reply.refusal:
                        await self._end_refused(reply.refusal)
        except _Closed as closed:
            # A socket that a newer one replaced only confirms that it was closed.
            if is_finished(closed.code, closed.reason) and link.is_current:
                connection.end("the client closed it")
            elif is_fault(closed.code):
                log_fault(self._principal.name, closed.code, str(closed))

    async def _end_refused(self, reason: str) -> NoReturn:
        await self._close(1000, reason)
        raise _Closed(1000)

    async def _write(self, connection: RemoteConnection, link: StreamLink) -> None:
        stream = link.stream
        while link.is_current:
            await link.wait()  # the server pings
            while stream.has_waiting and stream.link is link:
                await self._send_texts(connection.take(stream)[1])
            if connection.has_ended:
                await self._close(close_code(connection.end_reason), connection.end_reason)
                return
        await self._close(1000, "a newer socket has the connection")

    # --- the socket

    async def _text_in_time(self, name: str) -> bytes | None:
        """The next text, which should be the message of that name; None if it did not come, and the socket ends."""
        try:
            async with asyncio.timeout(self._connections.limits.start_seconds):
                return await self._next_text()
        except TimeoutError:
            self._log_refusal(f"{name} did not come")
            await self._close(1002, f"{name} did not come")
            return None

    async def _next_text(self) -> bytes:
        while True:
            event = await self._receive()
            if event["type"] == "websocket.disconnect":
                reason = str(event.get("reason") or "") if "reason" in event else None
                raise _Closed(int(event.get("code") or _NO_CODE), reason)
            text = event.get("text")
            if text is None:
                continue  # the first event, or a binary message: the transport has none
            data: bytes = text.encode(errors="surrogatepass")
            if len(data) > self._connections.limits.body_bytes:
                await self._close(1009, "the message is too large")
                raise _Closed(1009, "the message is too large")
            return data

    async def _send_texts(self, texts: list[bytes]) -> None:
        if self._takes_texts:
            await self._send({"type": "websocket.send", TEXTS: texts})
            return
        for text in texts:
            await self._send_text(text)

    async def _send_text(self, text: bytes) -> None:
        await self._send({"type": "websocket.send", "text": text.decode(errors="replace")})

    async def _close(self, code: int, reason: str) -> None:
        # The client may have closed it just now.
        with contextlib.suppress(RuntimeError, OSError):
            await self._send({"type": "websocket.close", "code": code, "reason": reason[:120]})


def _may_be_repeated(subprotocol: str) -> bool:
    """Whether a subprotocol is no secret: no token, and too short to be another server's."""
    return len(subprotocol) <= _SUBPROTOCOL_CHARACTERS and not subprotocol.startswith(BEARER_SUBPROTOCOL)
