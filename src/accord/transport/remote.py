"""The common part of the transports to an address: their options, and a queue of texts in each direction.

The tasks that move the texts belong to `websocket` and `http`.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import random
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from accord.errors import ConnectFailed, ConnectionLost, LocalProtocolError, TransportError
from accord.time_scale import scaled
from accord.transport.resumption import none_received
from accord.transport.write_buffer import SLICE_BYTES, SendQueue
from accord.version import install_line
from accord.wire import DEFAULT_MAX_BYTES

__all__ = [
    "LinkReport",
    "RemoteOptions",
    "RemoteTransport",
    "Retry",
    "is_address",
    "is_refused",
    "needs_extra",
    "refusal_of",
    "request_headers",
    "session_header",
]

ADDRESS_SCHEMES = frozenset({"ws", "wss", "http", "https"})

HIGH_WATER_BYTES = 256 * 1024
FLUSH_SECONDS = scaled(1.0)

_STATUS = {
    401: "it wants a token, or another one",
    403: "it is not allowed",
    404: "there is no agent at this address",
    405: "there is no agent at this address",
    426: "it serves WebSocket only",
    429: "there are too many requests",
    503: "it is busy, or shuts down",
}
_TRY_AGAIN = frozenset({408, 425, 429})

_FIRST_DELAY_SECONDS = 0.1
_MAX_DELAY_SECONDS = 5.0
# The delays begin anew behind a link that lived for so long; they do not grow over this where links do open.
_SHORT_LIFE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LinkReport:
    """A change of the link under a connection."""

    kind: Literal["lost", "resumed", "gap"]
    """`lost`: it broke, and is tried again. `resumed`: it is back, and nothing was missed. `gap`: it cannot be taken up
    again, or not without missing messages; the connection ends."""
    reason: str
    """Why, for people."""


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """The options of a connection to an address. A token never appears in a representation of this."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request."""
    token: str | None = field(default=None, repr=False)
    """Sent as `Authorization: Bearer`."""
    tls: ssl.SSLContext | None = None
    """For `wss` and `https`; the system's certificates unless given."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """How large one message may be."""
    connect_seconds: float | None = 20.0
    """For one attempt to open a link, TLS included."""
    reconnect_seconds: float | None = 60.0
    """How long a lost link is tried again; at most as long as the server keeps the connection."""
    on_link: Callable[[LinkReport], None] = lambda _: None
    """Called when the link breaks, is back, or is given up."""


def is_address(text: str) -> bool:
    """Whether a string is the address of an agent: it has one of the schemes."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.lower() in ADDRESS_SCHEMES


def request_headers(address: str, options: RemoteOptions) -> dict[str, str]:
    """The headers of every request to an address.

    Raises:
        ValueError: The address names no host, or contains a password.
        LocalProtocolError: The token would be sent unencrypted to another machine.
    """
    parts = urlsplit(address)
    if not parts.hostname:
        raise ValueError("the address names no host")
    if parts.password is not None or parts.username is not None:
        raise ValueError("an address must not contain a user or a password: use a token, or headers")
    headers = dict(options.headers)
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isprintable()):
            raise ValueError(f"the header {name!r} has characters that no header may have")
    if options.token is not None:
        if not (options.token.isascii() and options.token.isprintable()):
            raise ValueError("the token has characters that no header may have")
        if parts.scheme.lower() in ("ws", "http") and not _is_loopback(parts.hostname):
            raise LocalProtocolError(
                "a token is not sent unencrypted to another machine: use wss or https",
                field="token",
                expected="an address with TLS",
            )
        headers["Authorization"] = f"Bearer {options.token}"
    return headers


def session_header(session_id: str) -> str:
    """A session id as the value of a header.

    Raises:
        ConnectionLost: It cannot be one.
    """
    if session_id.isascii() and session_id.isprintable() and session_id.strip() == session_id != "":
        return session_id
    raise ConnectionLost("the server chose a session id that no header can have")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    from ipaddress import ip_address  # noqa: PLC0415 - few programs need it

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def needs_extra() -> Iterator[None]:
    """A context for the import of the packages that addresses need.

    Raises:
        ConnectFailed: They are not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"addresses need {error.name}, which is not installed; type {install_line('http')}"
        raise ConnectFailed(message) from error


def refusal_of(status: int) -> ConnectFailed:
    """The error for a server that answered, but not as one that serves an agent would."""
    meaning = _STATUS.get(status) or ("it redirects, which is not followed" if status // 100 == 3 else "it refused")  # noqa: PLR2004
    return ConnectFailed(f"the server answered {status}: {meaning}", status=status)


def is_refused(error: ConnectFailed) -> bool:
    """Whether a further attempt would be answered in the same way."""
    return error.status is not None and error.status < 500 and error.status not in _TRY_AGAIN  # noqa: PLR2004


class Retry:
    """The attempts to open a lost link again: how long to wait before each, and when to give up.

    The delays are short at first, then doubled, each with a random part. They begin anew with `succeeded`, and not with
    `opened`: a server that opens links and ends them at once would be asked without a pause.
    """

    def __init__(self, limit_seconds: float | None) -> None:
        self.limit_seconds = limit_seconds
        self._loop = asyncio.get_running_loop()
        self._deadline: float | None = None
        self._delay_seconds = 0.0
        self._opened_at: float | None = None

    @property
    def is_running(self) -> bool:
        """Whether the link is lost since an earlier attempt."""
        return self._delay_seconds > 0

    def opened(self) -> None:
        """The link is open again, and nothing has come over it yet."""
        self._deadline, self._opened_at = None, self._loop.time()

    def succeeded(self) -> None:
        self._deadline, self._delay_seconds, self._opened_at = None, 0.0, None

    async def wait(self, at_least_seconds: float = 0.0) -> bool:
        """Wait before the next attempt; False if the time is over. The server may ask for more than the delay."""
        now = self._loop.time()
        if self._opened_at is not None:
            is_short = now - self._opened_at < _SHORT_LIFE_SECONDS
            self._delay_seconds = min(self._delay_seconds, _SHORT_LIFE_SECONDS) if is_short else 0.0
            self._opened_at = None
        if self._deadline is None and self.limit_seconds is not None:
            self._deadline = now + self.limit_seconds
        delay = self._delay_seconds * (0.5 + random.random() / 2)  # noqa: S311 - it only spreads clients
        delay = max(delay, min(at_least_seconds, _MAX_DELAY_SECONDS))
        self._delay_seconds = min(self._delay_seconds * 2, _MAX_DELAY_SECONDS) or _FIRST_DELAY_SECONDS
        if self._deadline is not None and now + delay >= self._deadline:
            return False
        await asyncio.sleep(delay)
        return True


class RemoteTransport:
    """A `Transport` of which a subclass moves the texts: from `_outgoing` to the link, and from there to `_deliver`."""

    def __init__(self, flush_seconds: float = FLUSH_SECONDS) -> None:
        self._loop = asyncio.get_running_loop()
        self._flush_seconds = flush_seconds
        self._incoming: list[bytes] = []
        self._incoming_bytes = 0
        self._receiver: asyncio.Future[None] | None = None
        self._outgoing: deque[bytes | bytearray] = deque()
        self._outgoing_bytes = 0
        """The size of the texts that are queued or being written."""
        self._queue = SendQueue(self._fits, self._put, self._is_over)
        self._unyielded_bytes = 0
        self._failure: TransportError | None = None
        self._ended = False
        self._closed = False
        self._gone = asyncio.Event()
        self._flushed = asyncio.Event()
        self._flushed.set()

    @property
    def hung_up(self) -> bool:
        """See `Transport.hung_up`."""
        return self._ended

    # --- sending

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`.

        Raises:
            ConnectionLost: The link is gone for good, or this end was closed.
        """
        if self._closed or self._ended:
            raise self._unsent()
        if self._queue.waiting or not self._fits(len(text)):
            if not await self._queue.wait(text):
                raise self._unsent()
            self._unyielded_bytes = 0
        else:
            self._put(text)
            self._unyielded_bytes += len(text)
        if self._is_over() and not await self._queue.drain():
            raise self._loss()
        if self._unyielded_bytes >= SLICE_BYTES:
            self._unyielded_bytes = 0
            await asyncio.sleep(0)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """See `Transport.try_send`."""
        size_bytes = sum(map(len, texts))
        if self._closed or self._ended or self._queue.waiting:
            return False
        if self._outgoing_bytes + size_bytes > HIGH_WATER_BYTES:
            return False
        if self._unyielded_bytes + size_bytes >= SLICE_BYTES:
            self._unyielded_bytes = SLICE_BYTES
            return False
        self._unyielded_bytes += size_bytes
        for text in texts:
            self._put(text)
        return True

    def _fits(self, size_bytes: int) -> bool:
        return not self._outgoing_bytes or self._outgoing_bytes + size_bytes <= HIGH_WATER_BYTES

    def _is_over(self) -> bool:
        return self._outgoing_bytes > HIGH_WATER_BYTES

    def _put(self, text: bytes | bytearray) -> None:
        self._outgoing.append(text)
        self._outgoing_bytes += len(text)
        self._flushed.clear()
        self._on_outgoing()

    def _written(self, size_bytes: int) -> None:
        """A text of the queue was written."""
        self._outgoing_bytes -= size_bytes
        self._queue.advance()
        if not self._outgoing_bytes:
            self._flushed.set()

    def _refuse_unreceived(self, texts: Iterable[bytes | bytearray]) -> None:
        """Answer the requests among texts that the server has not received, and never will."""
        for answer in none_received(texts):
            self._deliver(answer)

    def _unsent(self) -> ConnectionLost:
        loss = self._loss()
        loss.unsent = True
        return loss

    def _loss(self) -> ConnectionLost:
        if isinstance(self._failure, ConnectionLost):
            return copy.copy(self._failure)
        return ConnectionLost("the connection is closed", clean=self._failure is None)

    # --- receiving

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`.

        Raises:
            ConnectFailed: There was never a connection.
            ConnectionLost: The link broke for good.
            FrameError: A message over `max_bytes`.
        """
        if self._receiver is not None:
            raise RuntimeError("another task is receiving from this transport")
        while not self._incoming:
            if self._closed:
                return []
            if self._ended:
                if self._failure is not None:
                    raise copy.copy(self._failure)
                return []
            self._receiver = self._loop.create_future()
            self._on_space()
            try:
                await self._receiver
            finally:
                self._receiver = None
        texts, self._incoming, self._incoming_bytes = self._incoming, [], 0
        self._on_space()
        return texts

    def _deliver(self, text: bytes) -> None:
        if self._closed:
            return
        self._incoming.append(text)
        self._incoming_bytes += len(text)
        self._wake_receiver()

    @property
    def _is_full(self) -> bool:
        """Whether so much was read and not received that reading has to stop."""
        return self._incoming_bytes >= SLICE_BYTES

    def _wake_receiver(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)

    # --- the end

    def _end(self, failure: TransportError | None) -> None:
        """Nothing more will come, and nothing more can be sent."""
        if self._ended:
            return
        self._ended, self._failure = True, failure
        self._queue.close()
        self._flushed.set()
        self._wake_receiver()

    async def close(self) -> None:
        """See `Transport.close`; queued texts are written for a few seconds at most."""
        if self._closed:
            await self._gone.wait()
            return
        self._closed = True
        self._incoming, self._incoming_bytes = [], 0
        self._queue.close()
        self._wake_receiver()
        try:
            async with asyncio.timeout(self._flush_seconds):
                await self._flushed.wait()
        except TimeoutError:
            pass
        finally:
            self._end(None)
            try:
                await self._shut_down()
            finally:
                self._gone.set()

    # --- for subclasses

    def _on_outgoing(self) -> None:
        """A text was queued."""
        raise NotImplementedError

    def _on_space(self) -> None:
        """There is space for more to be read."""
        raise NotImplementedError

    async def _shut_down(self) -> None:
        """Release everything; bounded in time."""
        raise NotImplementedError
