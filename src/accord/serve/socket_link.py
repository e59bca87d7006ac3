"""A socket of our own runner as the link of a connection: callbacks read and write it, no task does.

It also has the close codes of every WebSocket: those that the server sends, and the meaning of those of a client.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Protocol

from accord.display import exact
from accord.serve.outgoing_stream import StreamLink
from accord.serve.own_messages import ReceivedTexts
from accord.serve.remote_connection import RemoteConnection

__all__ = [
    "LINK",
    "TEXTS",
    "DirectSocket",
    "SocketLink",
    "SocketReader",
    "close_code",
    "is_fault",
    "is_finished",
    "log_fault",
]

log = logging.getLogger("accord.serve")
access_log = logging.getLogger("accord.serve.access")

TEXTS = "accord.texts"
"""An extension of ASGI that our own runner has: `websocket.send` with a list of texts, as bytes, under this key."""
LINK = "accord.link"
"""Another one: `socket` gives the `DirectSocket` behind an accepted upgrade. Once it is linked, the application may
return, and the socket stays open."""

_FINISHED, _NO_CODE = 1000, 1005
_SHOWN_CHARACTERS = 200
# Closes for a fault of the client, which are logged.
_FAULTS = frozenset({1002, 1003, 1007, 1008, 1009, 1010, 1011})
_CODES = {
    "the server ends": 4001,
    "its token was revoked": 1008,
    "its token expired": 1008,
    "its root was changed": 1008,
    "its client does not read": 1008,
    "the client closed it": 1000,
}


class SocketReader(Protocol):
    """The methods that a socket calls once it is linked."""

    def take(self, text: bytes) -> None: ...

    def flush(self) -> None:
        """The socket takes more again."""

    def lose(self, code: int, reason: str | None) -> None:
        """The socket is gone; `reason` is None where no close frame came. Called once."""


class DirectSocket(Protocol):
    """A socket that is read and written without tasks."""

    @property
    def is_writable(self) -> bool:
        """Whether a text would be sent now, and not only be kept."""

    def link(self, reader: SocketReader) -> None: ...

    def write(self, texts: Sequence[bytes]) -> None: ...

    def send_close(self, code: int, reason: str) -> None: ...

    def pause(self) -> None:
        """Read nothing more for now."""

    def resume(self) -> None: ...

    def abort(self) -> None: ...


class SocketLink(StreamLink):
    """Reads and writes one socket from `begin` until the socket is gone."""

    __slots__ = ("_began", "_connection", "_is_flushing", "_path", "_socket", "_texts")

    def __init__(self, connection: RemoteConnection, socket: DirectSocket) -> None:
        self._connection = connection
        self._socket = socket
        self._texts = ReceivedTexts(connection)
        self._is_flushing = False
        self._path = ""
        self._began = 0.0
        super().__init__(connection.streams.get(None))

    def begin(self, path: str, began: float) -> None:
        """Link the socket, whose upgrade to `path` came at `began`."""
        self._path, self._began = path, began
        self._connection.writers[self] = None
        self._socket.link(self)
        self.wake()

    def wake(self) -> None:
        """Write the waiting messages soon: those that come until then are in the same write."""
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Write the waiting messages, as far as the socket takes them."""
        self._is_flushing = False
        socket, stream, connection = self._socket, self.stream, self._connection
        if not self.is_current:
            socket.send_close(1000, "a newer socket has the connection")
            return
        while stream.has_waiting and socket.is_writable:
            socket.write(connection.take(stream)[1])
        if connection.has_ended and not stream.has_waiting:
            socket.send_close(close_code(connection.end_reason), connection.end_reason)
        elif socket.is_writable and not connection.agent.is_full:
            socket.resume()

    def take(self, text: bytes) -> None:
        """See `SocketReader`."""
        reply = self._texts.take(text)
        if reply is not None:
            self._socket.write([reply.text])
            if reply.refusal:
                self._socket.send_close(1000, reply.refusal)
            elif not self._socket.is_writable:
                self._socket.pause()  # or a client that never reads would get replies without end
        if self._connection.agent.is_full:
            self._socket.pause()
            self._connection.agent.when_room(self.wake)

    def lose(self, code: int, reason: str | None) -> None:
        """See `SocketReader`."""
        connection, is_current = self._connection, self.is_current
        connection.writers.pop(self, None)
        if is_current and is_finished(code, reason) and not connection.has_ended:
            connection.end("the client closed it")
        elif is_fault(code) and not connection.has_ended and is_current:
            log_fault(connection.principal.name, code, reason or "")
        self._is_flushing = True  # nothing more is written
        self.end()
        connection.detach()
        access_log.info(
            "WEBSOCKET %s %d %s %.3fs", self._path, 101, connection.principal.name, time.monotonic() - self._began
        )

    def cancel(self) -> None:
        """The connection has ended, and its client does not read: see `RemoteConnection.writers`."""
        self._socket.abort()


def close_code(end_reason: str) -> int:
    """The code of a connection that has ended for this reason."""
    return _CODES.get(end_reason, 1011)


def is_finished(code: int, reason: str | None) -> bool:
    """Whether a client closed its connection for good; `reason` is None where no close frame came.

    A close frame without a code is as deliberate as one with 1000; a lost socket has no reason.
    """
    return code == _FINISHED or (code == _NO_CODE and reason is not None)


def is_fault(code: int) -> bool:
    """Whether the socket was closed for a fault of the client."""
    return code in _FAULTS


def log_fault(principal: str, code: int, reason: str) -> None:
    """Log a close for a fault of the client: a line break in its reason begins no line of the log."""
    log.info("a socket of %s was closed with %d: %s", principal, code, exact(reason, _SHOWN_CHARACTERS))
