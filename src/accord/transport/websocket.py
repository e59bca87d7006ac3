"""A transport to the address `ws://…` or `wss://…`, which outlives its sockets where the server allows it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from accord.errors import ConnectFailed, ConnectionLost, FrameError, TransportError
from accord.jsonrpc.fast_decode import is_utf8
from accord.time_scale import scaled
from accord.transport.interface import Transport
from accord.transport.remote import (
    LinkReport,
    RemoteOptions,
    RemoteTransport,
    Retry,
    is_refused,
    needs_extra,
    refusal_of,
    request_headers,
)
from accord.transport.resumption import WebSocketResumption

with needs_extra():
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidProxy, InvalidStatus, InvalidURI
    from websockets.frames import DATA_OPCODES, Frame
    from websockets.http11 import Response

__all__ = ["WebSocketTransport", "connect_websocket"]

PING_SECONDS = scaled(15.0)
CLOSE_SECONDS = scaled(1.0)

# After these the other side has ended the connection; after all others the link is only broken (docs/remote-wire.md).
_FINAL_CODES = frozenset({1000, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 4001})
_TOO_BIG = 1009
# The server has ended the connection, and has answered every request that it received.
_ENDED = 4001
# A close frame without a code is as deliberate as one with 1000.
_CLEAN_CODES = frozenset({1000, 1005})


async def connect_websocket(address: str, options: RemoteOptions | None = None) -> Transport:
    """Connect to an agent at a `ws` or `wss` address.

    Where the server has `accord/resume` (docs/remote-wire.md), a lost socket is replaced by a new one and nothing is
    missed; otherwise its loss is the end. `RemoteOptions.on_link` gets a report of either. Proxies are those of the
    environment. No redirect is followed.

    Raises:
        ConnectFailed: There is no agent; has the HTTP status where the server refused.
        ValueError: The address or a header is not usable.
        LocalProtocolError: The token would be sent unencrypted to another machine.
    """
    options = options or RemoteOptions()
    headers = request_headers(address, options)
    cookies: dict[str, str] = {}
    link = await open_link(address, headers, cookies, options)
    return WebSocketTransport(address, options, headers, cookies, link)


class WebSocketTransport(RemoteTransport):
    """See `connect_websocket`."""

    def __init__(
        self,
        address: str,
        options: RemoteOptions,
        headers: dict[str, str],
        cookies: dict[str, str],
        link: WebSocketLink,
    ) -> None:
        super().__init__()
        self._address = address
        self._options = options
        self._headers = headers
        self._cookies = cookies
        self._state = WebSocketResumption()
        self._wanted = asyncio.Event()
        """Set when there may be something to write."""
        self._retry = Retry(None)
        self._is_lost = False
        self._link = link
        link.pause()
        self._running = self._loop.create_task(self._run())

    def _on_outgoing(self) -> None:
        self._wanted.set()

    def _on_space(self) -> None:
        if not self._is_full:
            self._link.resume()

    def _on_text(self, link: WebSocketLink, text: bytes) -> None:
        if link is not self._link:
            return
        was_open = self._state.is_open
        if self._state.receive(text):
            if self._retry.is_running:
                self._retry.succeeded()
            self._deliver(text)
            if self._is_full:
                link.pause()
        if self._state.refusal is not None:
            link.abort()
        elif not was_open and self._state.is_open:
            self._retry.opened()
            self._is_lost = False
            self._options.on_link(LinkReport("resumed", "the connection goes on"))
        self._wanted.set()

    async def _run(self) -> None:
        try:
            link: WebSocketLink | None = self._link
            while link is not None:
                await self._serve(link)
                link = await self._replace(link)
        except Exception as error:
            self._end(ConnectionLost(f"the transport failed: {type(error).__name__}"))
            raise

    async def _serve(self, link: WebSocketLink) -> None:
        """Move texts until the socket is gone."""
        link.begin(lambda text: self._on_text(link, text))
        tasks = [self._loop.create_task(self._write(link)), self._loop.create_task(link.ping_for_ever())]
        seconds = self._options.connect_seconds
        late = (
            None if self._state.is_open or seconds is None else self._loop.call_later(seconds, self._check_open, link)
        )
        try:
            await link.wait_lost()
        finally:
            if late is not None:
                late.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _check_open(self, link: WebSocketLink) -> None:
        if not self._state.is_open:
            link.abort()

    async def _write(self, link: WebSocketLink) -> None:
        with contextlib.suppress(ConnectionLost):
            while True:
                item = self._state.next_text(self._outgoing)
                if item is None:
                    self._wanted.clear()
                    await self._wanted.wait()
                    continue
                text, is_new = item
                try:
                    await link.write(text)
                finally:
                    if is_new:
                        self._written(len(text))

    async def _replace(self, link: WebSocketLink) -> WebSocketLink | None:
        """Open another socket for one that is gone; None at the end of the connection."""
        failure, is_final = link.ending
        if self._closed:
            return None
        if is_final or not self._state.can_resume or self._state.advertisement is None:
            self._give_up(failure)
            return None
        grace, limit = self._state.advertisement.grace_seconds, self._options.reconnect_seconds
        self._retry.limit_seconds = grace if limit is None else min(limit, grace)
        if not self._is_lost:
            self._is_lost = True
            self._options.on_link(LinkReport("lost", str(failure)))
        while await self._retry.wait():
            try:
                new = await open_link(self._address, self._headers, self._cookies, self._options)
            except ConnectFailed as error:
                failure = error
                if is_refused(error):
                    break
            else:
                self._state.begin_link()
                self._link = new
                return new
        self._give_up(failure)
        return None

    def _give_up(self, failure: TransportError) -> None:
        if isinstance(failure, ConnectFailed):
            failure = ConnectionLost(str(failure))
        if self._link.close_code == _ENDED:
            for answer in self._state.not_received(self._outgoing):
                self._deliver(answer)
        if self._state.refusal is not None:
            failure = ConnectionLost(f"the server cannot take the connection up again: {self._state.refusal}")
        if isinstance(failure, ConnectionLost) and failure.clean:
            self._end(None)
            return
        self._options.on_link(LinkReport("gap", str(failure)))
        self._end(failure)

    async def _shut_down(self) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._link.leave()


class WebSocketLink(ClientConnection):
    """One socket: whole messages in the instant in which they were read, and its end.

    Until `begin` nothing is read but the handshake.
    """

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
        """Send pings at intervals, and end a socket that does not answer.

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
