"""Forwards a WebSocket to the node that has its connection: its messages both ways, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from accord.serve.fleet import Node, ServerFleet
from accord.serve.fleet_pass import FORWARD_HEADER
from accord.serve.principals import Principal
from accord.time_scale import scaled

__all__ = ["RESTART", "ForwardedSocket", "SocketClosed", "open_socket", "socket_address"]

log = logging.getLogger("accord.serve")

CONNECT_SECONDS = scaled(3.0)
FINISHED = 1000
# The client comes back after this one (docs/remote-wire.md).
RESTART = 1012
_NO_CODE = frozenset({1005, 1006, 1015})


class SocketClosed(NamedTuple):
    """How a forwarded socket ended, for the client: a close code and a reason."""

    code: int
    reason: str


def socket_address(node: Node) -> str:
    """The `ws` address of a node."""
    return f"ws{node.address.removeprefix('http').rstrip('/')}/acp"


async def open_socket(fleet: ServerFleet, node: Node, principal: Principal, max_bytes: int) -> ForwardedSocket | None:
    """A socket to another node in the name of a principal; None if there is none to be had just now.

    Raises:
        ConnectionRefusedError: Nothing listens there: the node is gone.
    """
    headers = {FORWARD_HEADER: fleet.pass_to(node, principal)}
    try:
        opening = connect(
            socket_address(node),
            additional_headers=headers,
            compression=None,
            open_timeout=CONNECT_SECONDS,
            # The node sends them, and its lease says whether it lives.
            ping_interval=None,
            max_size=max_bytes,
            proxy=None,
        )
        link = await fleet.while_live(node, _opened(opening))
    except ConnectionRefusedError:
        fleet.forget(node)
        raise
    except (OSError, EOFError, TimeoutError, InvalidHandshake, InvalidURI, InvalidStatus) as error:
        log.warning("node %s cannot be reached: %s", node.name, str(error) or type(error).__name__)
        fleet.forget(node)
        return None
    return ForwardedSocket(fleet, node, link)


async def _opened(opening: connect) -> ClientConnection:
    return await opening


class ForwardedSocket:
    """A socket to another node, behind one of a client."""

    def __init__(self, fleet: ServerFleet, node: Node, link: ClientConnection) -> None:
        self._fleet = fleet
        self._node = node
        self._link = link

    async def run(
        self,
        first: bytes,
        next_text: Callable[[], Awaitable[bytes | SocketClosed]],
        say: Callable[[str | bytes], Awaitable[None]],
    ) -> SocketClosed | None:
        """Pass messages on until either side ends; how the client's socket is to be closed, None if it is gone."""
        self._fleet.forwarded_requests += 1
        loop = asyncio.get_running_loop()
        outward = loop.create_task(self._send(first, next_text))
        inward = loop.create_task(self._receive(say))
        try:
            with self._fleet.until_gone(self._node, self._link.transport.abort):
                await asyncio.wait((outward, inward), return_when=asyncio.FIRST_COMPLETED)
                if outward.done() and not outward.cancelled() and outward.exception() is None:
                    ended = outward.result()
                    if ended is not None and ended.code == FINISHED:
                        # The client has finished: so is its connection.
                        await self._link.close(FINISHED)
                    return None if ended is not None else await inward
                return await inward
        finally:
            for task in (outward, inward):
                task.cancel()
            await asyncio.gather(outward, inward, return_exceptions=True)
            self._link.transport.abort()

    async def _send(
        self, first: bytes, next_text: Callable[[], Awaitable[bytes | SocketClosed]]
    ) -> SocketClosed | None:
        """The client's messages; how the client closed, None if the node did."""
        text: bytes | SocketClosed = first
        try:
            while not isinstance(text, SocketClosed):
                await self._link.send(text, text=True)
                text = await next_text()
        except ConnectionClosed:
            return None
        return text

    async def _receive(self, say: Callable[[str | bytes], Awaitable[None]]) -> SocketClosed:
        try:
            while True:
                await say(await self._link.recv())
        except ConnectionClosed as closed:
            received = closed.rcvd
            if received is None or received.code in _NO_CODE:
                return SocketClosed(RESTART, "the node of this connection is gone")
            return SocketClosed(received.code, received.reason)
