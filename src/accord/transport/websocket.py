"""A transport to the address `ws://…` or `wss://…`, which outlives its sockets where the server allows it."""

from __future__ import annotations

import asyncio
import contextlib

from accord.errors import ConnectFailed, ConnectionLost, TransportError
from accord.transport.interface import Transport
from accord.transport.remote import (
    LinkReport,
    RemoteOptions,
    RemoteTransport,
    Retry,
    is_refused,
    needs_extra,
    request_headers,
)
from accord.transport.resumption import WebSocketResumption

with needs_extra():
    from accord.transport.websocket_link import WebSocketLink, open_link

__all__ = ["WebSocketTransport", "connect_websocket"]


async def connect_websocket(address: str, options: RemoteOptions | None = None) -> Transport:
    """Connect to an agent at a `ws` or `wss` address.

    Where the server has `accord/resume` (docs/remote-wire.md), a lost socket is replaced by a new one and nothing is
    missed; otherwise its loss is the end. `RemoteOptions.on_link` gets to know either. Proxies are those of the
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
