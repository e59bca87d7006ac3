"""uvicorn's HTTP/1.1 for our own runner: a deadline for headers, plain POSTs taken at once, streams without a task.

A plain POST is a whole message for a connection that is known, in a shape that every parser reads alike. Everything
else, refusals among it, is left to uvicorn and h11 with all its bytes.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from accord.serve.agent_transport import AgentTransport
from accord.serve.application import AgentApplication
from accord.serve.event_link import STREAM
from accord.serve.linked_socket import SocketProtocol
from accord.time_scale import scaled

__all__ = ["HttpProtocol"]

log = logging.getLogger("accord.serve")

HEADER_SECONDS = scaled(10.0)
# A plain POST that has more is left to h11.
_MAX_HEAD_BYTES = 16 * 1024
_MAX_BODY_BYTES = 64 * 1024
_POST = b"POST /acp HTTP/1.1\r\n"
# RFC 9112, 5: a token, a colon, and a value without control characters; no folded lines.
_FIELD = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([!-~\x80-\xff](?:[ \t!-~\x80-\xff]*[!-~\x80-\xff])?)?[ \t]*"
)
# Headers that change how a message is read or answered.
_NOT_PLAIN = frozenset({"transfer-encoding", "expect", "upgrade", "content-encoding", "te", "trailer", "origin"})


class HttpProtocol(H11Protocol):
    """One socket. A request whose headers do not arrive in time loses it."""

    _acceptance: ClassVar[tuple[list[tuple[bytes, bytes]] | None, bytes]] = (None, b"")
    """The answer to a plain POST, and the fields of uvicorn that it has."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._held = b""
        """The beginning of a plain POST."""
        self._accepted = 0
        """How many POSTs of this read are not answered yet."""
        self._awaited_agent: AgentTransport | None = None
        """The agent that has to read before the last POST is answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        if self._awaits_agent():
            self._held = data  # pipelined: reading is paused, so this is one read at most
            return
        data = self._take_posts(data)
        if self._accepted:
            self._answer_accepted()
        if data:
            self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        """Leave data to h11."""
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle and self.transport.get_protocol() is self:
            self.scope["extensions"] = {STREAM: {"take_over": self._take_over}}
        if self._is_at_work():
            self._stop_waiting()
        elif self._deadline is None and self.transport.get_protocol() is self:
            self._await_headers()

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade(event)
        early, _ = self.conn.trailing_data
        protocol = self.transport.get_protocol()
        if early and isinstance(protocol, SocketProtocol) and not protocol.handshake_complete:
            protocol.data_received(early)  # frames that came in one read with the head

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP. The application may have the head of that request already: it must not answer too."""
        if self._is_at_work():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    # --- plain POSTs

    def _awaits_agent(self) -> bool:
        return self._awaited_agent is not None

    def _is_between_requests(self) -> bool:
        http = self.conn
        return (
            http.our_state is h11.IDLE
            and http.their_state is h11.IDLE
            and not http.trailing_data[0]
            and not self.transport.is_closing()
        )

    def _take_posts(self, data: bytes) -> bytes:
        """Take the plain POSTs with which the data begins; what is left for h11."""
        while data.startswith(_POST) and self._is_between_requests():
            size = self._take_post(data)
            if not size:
                break
            data = data[max(size, 0) :]
            if size < 0 or self._awaits_agent() or not data:
                self._held = data
                return b""
        return data

    def _take_post(self, data: bytes) -> int:
        """Take the POST with which the data begins: its size, 0 if it is not plain, negative if more has to come."""
        end = data.find(b"\r\n\r\n", 0, _MAX_HEAD_BYTES)
        if end < 0:
            return 0
        headers = _plain_headers(data[len(_POST) : end])
        if headers is None:
            return 0
        size = end + 4 + int(headers["content-length"])
        if size > len(data):
            self._unset_keepalive_if_required()
            if self._deadline is None:
                self._await_headers()
            return -1
        app = self.config.app
        if not isinstance(app, AgentApplication):
            return 0
        take = app._take_post  # noqa: SLF001 - for this runner alone
        agent = take(headers, data[end + 4 : size], None if self.client is None else self.client[0])
        if agent is None:
            return 0
        self._stop_waiting()
        self._unset_keepalive_if_required()
        self.server_state.total_requests += 1
        if agent.is_full:
            self._awaited_agent = agent
            self.flow.pause_reading()
            agent.when_room(self._answer_late)
        else:
            self._accepted += 1
        return size

    def _answer_late(self) -> None:
        agent = self._awaited_agent
        if agent is not None and agent.is_full:
            agent.when_room(self._answer_late)
            return
        self._awaited_agent = None
        if self.transport.is_closing():
            return
        self._accepted += 1
        self._answer_accepted()
        self.flow.resume_reading()
        held, self._held = self._held, b""
        if held:
            self.data_received(held)

    def _answer_accepted(self) -> None:
        """Answer the POSTs of one read in one write."""
        count, self._accepted = self._accepted, 0
        fields, answer = HttpProtocol._acceptance
        if fields is not self.server_state.default_headers:  # uvicorn makes another list each second
            fields = self.server_state.default_headers
            head = b"".join([b"%b: %b\r\n" % field for field in fields])
            answer = b"HTTP/1.1 202 Accepted\r\n%bcontent-length: 0\r\n\r\n" % head
            HttpProtocol._acceptance = fields, answer
        self.transport.write(answer * count)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    # --- streams

    def _take_over(self, status: int, headers: list[tuple[bytes, bytes]]) -> tuple[asyncio.Transport, set[Any]] | None:
        """Send the head of a response without end; None where a task has to send all of it."""
        cycle: RequestResponseCycle = self.cycle
        if self.scope["http_version"] != "1.1" or self.transport.is_closing() or cycle.response_started:
            return None
        cycle.response_started = cycle.response_complete = True
        fields = [*self.server_state.default_headers, *headers, (b"transfer-encoding", b"chunked")]
        head = b"".join([b"%b: %b\r\n" % field for field in fields])
        self.transport.write(b"HTTP/1.1 %d OK\r\n%b\r\n" % (status, head))
        self._stop_waiting()
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        self.connections.discard(self)
        self.scope["extensions"].clear()  # it holds this object
        return self.transport, self.connections

    # --- the deadline

    def _is_at_work(self) -> bool:
        # Before the first request there is no cycle, which its type does not say.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _await_headers(self) -> None:
        self._deadline = asyncio.get_running_loop().call_later(HEADER_SECONDS, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if self._held:
            # The head has arrived: the limit for the body is applied where bodies are read.
            held, self._held = self._held, b""
            self._pass_on(held)
        elif not self._is_at_work():
            log.info("a socket was closed: its request did not arrive in time")
            self.transport.abort()


def _plain_headers(head: bytes) -> dict[str, str] | None:
    """The headers of a POST by name, in lower case; None if it is not plain."""
    headers: dict[str, str] = {}
    for line in head.split(b"\r\n"):
        field = _FIELD.fullmatch(line)
        if field is None:
            return None
        name = field[1].decode("ascii").lower()
        if name in headers or name in _NOT_PLAIN:
            return None
        value = (field[2] or b"").decode("latin-1")
        if name == "connection" and value.lower() != "keep-alive":
            return None
        headers[name] = value
    length = headers.get("content-length", "")
    if "host" not in headers or not (length.isascii() and length.isdigit()) or len(length) > len(str(_MAX_BODY_BYTES)):
        return None
    return headers if int(length) <= _MAX_BODY_BYTES else None
