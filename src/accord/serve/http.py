"""Streamable HTTP: POST brings messages, GET opens a stream, DELETE ends the connection (docs/remote-wire.md)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

from accord.errors import RequestError
from accord.serve.access import HttpRefusal
from accord.serve.agent_transport import AgentTransport
from accord.serve.connections import Connections
from accord.serve.event_link import STREAM, EventLink, events_of
from accord.serve.message_text import params_of
from accord.serve.outgoing_stream import StreamLink
from accord.serve.own_messages import (
    OWN_PREFIX,
    RECEIVED_METHOD,
    answered,
    cursor_of,
    error_answer,
    malformed,
    read_introduction,
    take_over,
    with_id,
)
from accord.serve.principals import Credentials, Principal
from accord.serve.remote_connection import RemoteConnection
from accord.serve.response import Receive, Send, read_body, respond
from accord.transport.routing import Stream, read_envelope
from accord.wire.sse import KEEPALIVE

__all__ = ["HttpExchange", "take_message"]

log = logging.getLogger("accord.serve")

MAX_STREAMS = 1024
_FORWARDED = frozenset({"DELETE", "GET", "POST"})
_STREAM_HEADERS = {
    "Content-Type": "text/event-stream",
    # No proxy may hold back, compress or cache a stream.
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


class HttpExchange:
    """One request of an authenticated principal."""

    def __init__(
        self,
        connections: Connections,
        principal: Principal,
        credentials: Credentials,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
    ) -> None:
        self._connections = connections
        self._principal = principal
        self._credentials = credentials
        self._headers = headers
        self._receive = receive
        self._send = send
        self._began = time.monotonic()
        self.extensions: Mapping[str, Any] = {}
        """Those of the ASGI server that may be used."""
        self.is_linked = False
        """Whether an `EventLink` has the socket now."""

    async def serve(self, method: str) -> int:
        """Answer the request; the status.

        Raises:
            HttpRefusal: It gets another one.
        """
        node = self._connections.elsewhere(self._headers.get("acp-connection-id"), self._credentials)
        if node is not None and self._connections.node_requests is not None and method in _FORWARDED:
            forward = self._connections.node_requests.forward
            return await forward(node, self._principal, method, self._headers, self._receive, self._send)
        if method == "POST":
            return await self._post()
        if method == "GET":
            return await self._get()
        if method == "DELETE":
            self._connection().end("the client closed it")
            return await respond(self._send, 202)
        raise HttpRefusal(405, "method", "Use GET, POST or DELETE", {"Allow": "GET, POST, DELETE"})

    def _connection(self) -> RemoteConnection:
        connection_id = self._headers.get("acp-connection-id")
        if not connection_id:
            raise HttpRefusal(400, "no_connection_id", "Acp-Connection-Id is missing")
        connection = self._connections.find(connection_id, self._principal)
        if connection is None or not connection.has_session_streams:
            raise HttpRefusal(404, "connection", "There is no such connection")
        return connection

    # --- POST

    async def _post(self) -> int:
        if not _is_json(self._headers.get("content-type", "")):
            raise HttpRefusal(415, "content_type", "The content type must be application/json")
        limits = self._connections.limits
        if "acp-connection-id" in self._headers:
            self._connection()  # before the body is read
        text = await read_body(
            self._receive, self._headers, max_bytes=limits.body_bytes, timeout_seconds=limits.body_seconds
        )
        fault = malformed(text)
        if fault is not None:
            self._connections.metrics.refusals["message"] += 1
            log.info("refused with 400 a body of %s: no JSON-RPC message", self._principal.name)
            return await respond(self._send, 400, fault, {"Content-Type": "application/json"})
        if "acp-connection-id" in self._headers:
            return await self._post_message(self._connection(), text)
        return await self._post_initialize(text)

    async def _post_initialize(self, text: bytes) -> int:
        try:
            introduction = read_introduction(text)
        except RequestError as error:
            raise HttpRefusal(400, "no_connection_id", "Acp-Connection-Id is missing") from error
        connection_id = self._connections.new_id()
        try:
            connection = take_over(
                self._connections,
                introduction,
                self._principal,
                self._credentials,
                connection_id,
                has_session_streams=True,
            )
        except RequestError as error:
            answer = error_answer(introduction.message, error)
            return await respond(self._send, 200, answer, {"Content-Type": "application/json"})
        if connection is None:
            connection = self._connections.make(
                self._principal, self._credentials, has_session_streams=True, connection_id=connection_id
            )
            connection.begin(text, introduction.message, introduction.params)
            self._connections.start(connection)
        answered_text = await answered(connection, self._connections.limits.initialize_seconds)
        if answered_text is None:
            connection.end("the agent did not answer initialize")
            raise HttpRefusal(504, "initialize", "The agent does not answer")
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        if connection.is_initialized:
            headers["Acp-Connection-Id"] = connection.id
        else:
            connection.end("the agent refused initialize")
        return await respond(self._send, 200, with_id(answered_text, introduction.message), headers)

    async def _post_message(self, connection: RemoteConnection, text: bytes) -> int:
        message, header = read_envelope(text), self._headers.get("acp-session-id")
        if message.method.startswith(OWN_PREFIX):
            self._own(connection, text, message.method)
            return await respond(self._send, 202)
        if message.method == "initialize":
            raise HttpRefusal(400, "initialized", "This connection is initialized already")
        if header and message.kind != "answer" and message.session_id not in (None, header):
            raise HttpRefusal(400, "session_mismatch", "Acp-Session-Id and params.sessionId differ")
        number = self._headers.get("accord-message-number", "")
        if not self._is_new(connection, number):
            return await respond(self._send, 202)
        # In the order in which they were read: nothing may be awaited between here and `receive`.
        connection.receive(text, message, header)
        await connection.agent.room()
        return await respond(self._send, 202)

    def _is_new(self, connection: RemoteConnection, number: str) -> bool:
        """Whether a numbered message was not accepted before; one without a number always is new."""
        if not number:
            return True
        wanted = cursor_of(number)
        if wanted is None or wanted > connection.message_number + 1:
            raise HttpRefusal(409, "message_number", "A message before this one did not arrive")
        if wanted <= connection.message_number:
            return False
        connection.message_number = wanted
        return True

    def _own(self, connection: RemoteConnection, text: bytes, method: str) -> None:
        params = params_of(text)
        cursor = cursor_of(params.get("cursor"))
        if method == RECEIVED_METHOD and cursor is not None:
            session_id = params.get("sessionId")
            connection.acknowledge(session_id if isinstance(session_id, str) else None, cursor)

    # --- GET

    async def _get(self) -> int:
        if "text/event-stream" not in self._headers.get("accept", "").lower():
            raise HttpRefusal(406, "accept", "Accept must have text/event-stream")
        connection = self._connection()
        name: Stream = self._headers.get("acp-session-id") or None
        if name not in connection.streams and len(connection.streams) >= MAX_STREAMS:
            raise HttpRefusal(503, "limit", "There are too many streams", {"Retry-After": "5"})
        last = self._headers.get("last-event-id")
        if last is not None:
            cursor = cursor_of(last)
            if cursor is None or not connection.rewind(name, cursor):
                raise HttpRefusal(409, "gap", "The events after this one are not kept")
            self._connections.metrics.resumed_links += 1
        await self._stream(connection, name)
        return 200

    async def _stream(self, connection: RemoteConnection, name: Stream) -> None:
        if connection.streams.is_read(name):
            log.info(
                "connection %s of %s: a newer reader replaces the older one", connection.id[:8], self._principal.name
            )
        headers = {**_STREAM_HEADERS, "Acp-Connection-Id": connection.id}
        if name is not None:
            headers["Acp-Session-Id"] = name
        if self._hand_over(connection, name, headers):
            return
        link = StreamLink(connection.streams.get(name))
        connection.attach()
        loop = asyncio.get_running_loop()
        writer = loop.create_task(self._write(connection, link, headers))
        leaving = loop.create_task(self._until_left())
        connection.writers[writer] = None
        try:
            await asyncio.wait((writer, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            link.end()
            connection.writers.pop(writer, None)
            for task in (writer, leaving):
                task.cancel()
            await asyncio.gather(writer, leaving, return_exceptions=True)
            connection.detach()
            connection.streams.drop_unused(name)

    def _hand_over(self, connection: RemoteConnection, name: Stream, headers: Mapping[str, str]) -> bool:
        """Let a link write the stream without a task, where the server can do that."""
        extension = self.extensions.get(STREAM)
        taken = None if extension is None else extension["take_over"](200, _encoded(headers))
        if taken is None:
            return False
        link = EventLink(connection, name, self._connections.limits.keepalive_seconds)
        transport, sockets = taken
        link.begin(transport, sockets, self._began)
        self.is_linked = True
        return True

    async def _until_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _write(self, connection: RemoteConnection, link: StreamLink, headers: Mapping[str, str]) -> None:
        stream = link.stream
        await self._send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": _encoded(headers),
            }
        )
        await self._body(b"id: %d\n\n" % stream.written)
        while link.is_current and not (connection.has_ended and not stream.has_waiting):
            if not await link.wait(self._connections.limits.keepalive_seconds):
                await self._body(KEEPALIVE)
            elif stream.has_waiting and stream.link is link:
                await self._body(events_of(*connection.take(stream)))
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _body(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


def take_message(
    connections: Connections, principal: Principal, headers: Mapping[str, str], text: bytes
) -> AgentTransport | None:
    """Give the agent a message of a connection that is here, if nothing about it has to be refused or answered here.

    None: nothing was done, and the request has to go through `HttpExchange`.
    """
    if headers.get("content-type") != "application/json":
        return None
    connection = connections.find(headers.get("acp-connection-id", ""), principal)
    if connection is None or not connection.has_session_streams or malformed(text) is not None:
        return None
    message, header = read_envelope(text), headers.get("acp-session-id")
    if message.kind == "other" or message.method == "initialize" or message.method.startswith(OWN_PREFIX):
        return None
    if header and message.kind != "answer" and message.session_id not in (None, header):
        return None
    number = headers.get("accord-message-number", "")
    if number:
        if cursor_of(number) != connection.message_number + 1:
            return None
        connection.message_number += 1
    connection.receive(text, message, header)
    return connection.agent


def _is_json(content_type: str) -> bool:
    """Whether a body is JSON: `application/json`, or a type with its suffix, such as `application/vnd.acp+json`."""
    kind, _, subtype = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or (subtype.endswith("+json") and subtype != "+json"))


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
