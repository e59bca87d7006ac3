"""A stream of server-sent events on a socket of our own runner: no task writes it, and its request is forgotten."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from accord.serve.outgoing_stream import StreamLink
from accord.serve.remote_connection import LAST_WRITE_SECONDS, RemoteConnection
from accord.serve.rounds import Rounds
from accord.transport.routing import Stream
from accord.wire.sse import KEEPALIVE

__all__ = ["STREAM", "EventLink", "events_of"]

access_log = logging.getLogger("accord.serve.access")

STREAM = "accord.stream"
"""An extension of ASGI that our own runner has: `take_over` answers a request with a head, and gives its transport and
the set of all sockets. The application may return then, and the socket stays open."""


class EventLink(StreamLink, asyncio.Protocol):
    """Writes one stream from `begin` until its client, or its connection, is gone."""

    __slots__ = (
        "_began",
        "_connection",
        "_is_flushing",
        "_is_writable",
        "_name",
        "_rounds",
        "_sockets",
        "slot",
        "transport",
    )

    def __init__(self, connection: RemoteConnection, name: Stream, keepalive_seconds: float) -> None:
        self._connection = connection
        self._name = name
        self._is_flushing = False
        self._is_writable = True
        self._began = 0.0
        self.slot = 0
        self._rounds = Rounds.running(keepalive_seconds)
        self.transport: asyncio.Transport | None = None
        self._sockets: set[Any] = set()
        super().__init__(connection.streams.get(name))

    def begin(self, transport: asyncio.Transport, sockets: set[Any], began: float) -> None:
        """Write to the transport, behind the head of the response; the request came at `began`."""
        self.transport, self._sockets, self._began = transport, sockets, began
        sockets.add(self)
        transport.set_protocol(self)
        self._rounds.add(self)
        self._connection.attach()
        self._connection.writers[self] = None
        self._write(b"id: %d\n\n" % self.stream.written)
        self.wake()

    def wake(self) -> None:
        """Write the waiting messages soon: those that come until then are in the same write."""
        if not self._is_flushing and self.transport is not None:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        stream, connection = self.stream, self._connection
        while self.is_current and stream.has_waiting and self._is_writable:
            self._write(events_of(*connection.take(stream)))
        if not self.is_current or (connection.has_ended and not stream.has_waiting):
            self._finish()

    def _write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _finish(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(b"0\r\n\r\n")
            self.transport.close()
            # A closed transport writes its buffer first, which does not end if the client never reads.
            asyncio.get_running_loop().call_later(LAST_WRITE_SECONDS, self.transport.abort)

    def ping(self) -> None:
        """A comment, so that no proxy takes the stream for dead."""
        if self._is_writable:
            self._write(KEEPALIVE)

    def cancel(self) -> None:
        """The connection has ended, and its client does not read: see `RemoteConnection.writers`."""
        if self.transport is not None:
            self.transport.abort()

    # --- the transport, and uvicorn

    def data_received(self, data: bytes) -> None:
        """A further request on this socket would have to wait for the end of the stream: it is not read."""

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._is_writable = True
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the interface
        """See `asyncio.Protocol`."""
        connection = self._connection
        self._is_flushing = True  # nothing more is written
        self._rounds.discard(self)
        self._sockets.discard(self)
        self.end()
        connection.writers.pop(self, None)
        connection.detach()
        connection.streams.drop_unused(self._name)
        spent = time.monotonic() - self._began
        access_log.info("GET /acp 200 %s %.3fs", connection.principal.name, spent)

    def shutdown(self) -> None:
        """The server ends; called by uvicorn."""
        self._finish()


def events_of(first: int, texts: list[bytes]) -> bytes:
    """Events with the numbers from `first` on."""
    joined = b"".join(texts)
    if b"\n" in joined or b"\r" in joined:
        # Outside of strings JSON may have line ends, and some readers take one line only.
        texts = [text.replace(b"\r", b" ").replace(b"\n", b" ") for text in texts]
    return b"".join([b"id: %d\ndata: %b\n\n" % event for event in enumerate(texts, start=first)])
