"""One WebSocket, by the package `websockets`: whole messages in the instant in which they were read, and its end.

What a message says, and what follows from the end of a socket, is for `websocket`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidProxy, InvalidStatus, InvalidURI
from websockets.frames import DATA_OPCODES, Frame
from websockets.http11 import Response

from accord.errors import ConnectFailed, ConnectionLost, FrameError, TransportError
from accord.jsonrpc.fast_decode import is_utf8
from accord.time_scale import scaled
from accord.transport.remote import RemoteOptions, refusal_of

__all__ = ["WebSocketLink", "open_link"]

PING_SECONDS = scaled(15.0)
CLOSE_SECONDS = scaled(1.0)

# After these the other side has ended the connection; after all others the link is only broken (docs/remote-wire.md).
_FINAL_CODES = frozenset({1000, 1002, 1003, 1007, 1008, 1009, 1010, 1011})
_TOO_BIG = 1009
# A close frame without a code is as deliberate as one with 1000.
_CLEAN_CODES = frozenset({1000, 1005})


class WebSocketLink(ClientConnection):
    """One socket. Until `begin` nothing is read but the handshake."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._parts = bytearray()
        self._take: Callable[[bytes], None] | None = None
        self._early: list[bytes] = []
        self._is_paused = False
        self.max_bytes = 0

    def process_event(self, event: Any) -> None:
        """Join the frames of a message; binary messages count as texts."""
        if self.response is None or not isinstance(event, Frame) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
            return
        if event.fin and not self._parts:
            self._give(bytes(event.data))
            return
        self._parts += event.data
        if event.fin:
            text = bytes(self._parts)
            self._parts = bytearray()
            self._give(text)

    def _give(self, text: bytes) -> None:
        if self._take is None:
            self._early.append(text)
        else:
            self._take(text)

    def begin(self, take: Callable[[bytes], None]) -> None:
        """Give every message to `take` from now on."""
        self._take = take
        early, self._early = self._early, []
        for text in early:
            take(text)

    def pause(self) -> None:
        if not self._is_paused and not self.transport.is_closing():
            self._is_paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        if self._is_paused and not self.transport.is_closing():
            self._is_paused = False
            self.transport.resume_reading()

    async def write(self, text: bytes | bytearray) -> None:
        """Send one message; bytes that are no UTF-8 go as a binary one, because a text must be UTF-8.

        Raises:
            ConnectionLost: The socket is gone.
        """
        try:
            await self.send(text, text=is_utf8(bytes(text)))
        except ConnectionClosed:
            raise ConnectionLost("the socket is gone") from None

    async def wait_lost(self) -> None:
        await asyncio.shield(self.connection_lost_waiter)

    async def ping_for_ever(self) -> None:
        """Ask for a sign of life now and then, and end a socket that gives none.

        Not the pings of the package: while reading is paused no answer can be read, and that is not the peer's fault.
        """
        with contextlib.suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(PING_SECONDS)
                if self._is_paused:
                    continue
                pong = await self.ping()
                await asyncio.wait([asyncio.ensure_future(pong)], timeout=PING_SECONDS)
                if not pong.done() and not self._is_paused:  # type: ignore[attr-defined]
                    self.abort()

    def abort(self) -> None:
        self.transport.abort()

    async def leave(self) -> None:
        """Close with 1000, for a bounded time."""
        self._take = lambda _: None
        self.resume()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.close()
        except TimeoutError:
            pass
        finally:
            self.abort()

    @property
    def ending(self) -> tuple[TransportError, bool]:
        """How it ended, and whether that is the end of the connection."""
        received, sent = self.protocol.close_rcvd, self.protocol.close_sent
        if received is None and sent is not None and sent.code == _TOO_BIG:
            return FrameError("a message is over the size limit", limit_bytes=self.max_bytes), True
        if received is not None:
            is_clean = received.code in _CLEAN_CODES
            failure = ConnectionLost(f"the server closed with {received.code}", clean=is_clean)
            return failure, is_clean or received.code in _FINAL_CODES
        if sent is not None and sent.code in _FINAL_CODES:
            return ConnectionLost("the server broke the rules of WebSocket"), True
        return ConnectionLost("the connection to the server broke"), False


class _Dialer(connect):
    """Follows no redirect: the token is for the address that was given."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def open_link(
    address: str, headers: dict[str, str], cookies: dict[str, str], options: RemoteOptions
) -> WebSocketLink:
    """Open a socket; the cookies of the answer are added to `cookies`.

    Raises:
        ConnectFailed: It could not be opened.
    """
    sent = dict(headers)
    if cookies:
        sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    tls: dict[str, Any] = {"ssl": options.tls} if options.tls is not None and address.lower().startswith("wss") else {}
    try:
        link = await _Dialer(
            address,
            additional_headers=sent,
            compression=None,
            open_timeout=options.connect_seconds,
            ping_interval=None,
            close_timeout=CLOSE_SECONDS,
            max_size=options.max_bytes,
            create_connection=WebSocketLink,
            **tls,
        )
    except InvalidStatus as error:
        _keep_cookies(error.response, cookies)
        raise refusal_of(error.response.status_code) from None
    except TimeoutError:
        raise ConnectFailed(f"no connection within {options.connect_seconds:g} s") from None
    except OSError as error:
        raise ConnectFailed(f"no connection: {error.strerror or type(error).__name__}") from error
    except (InvalidHandshake, InvalidProxy, InvalidURI, EOFError, ValueError) as error:
        raise ConnectFailed(f"no WebSocket there: {type(error).__name__}") from error
    assert isinstance(link, WebSocketLink)  # noqa: S101 - the factory above
    link.max_bytes = options.max_bytes
    if link.response is not None:
        _keep_cookies(link.response, cookies)
    return link


def _keep_cookies(response: Response, cookies: dict[str, str]) -> None:
    """For servers behind a balancer: a cookie leads the next link to the same machine."""
    for line in response.headers.get_all("Set-Cookie"):
        with contextlib.suppress(CookieError):
            cookies.update({name: morsel.coded_value for name, morsel in SimpleCookie(line).items()})
