"""Sockets whose client never reads: what ends them does not wait for what they did not take."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from uvicorn.protocols.utils import ClientDisconnected

from accord.serve.linked_socket import LinkedSocket
from tests.limits import limit

UNREAD = b"x" * 8_000_000
NOT_MASKED = b"\x81\x01x"


def ping_twice(linked: LinkedSocket) -> None:
    for _ in range(2):
        linked.ping()


ENDS: dict[str, Callable[[LinkedSocket], None]] = {
    "a frame that breaks the rules": lambda linked: linked.data_received(NOT_MASKED),
    "a close of ours": lambda linked: linked.send_close(1000, ""),
    "the end of the server": LinkedSocket.shutdown,
    "a ping without an answer": ping_twice,
}


@asynccontextmanager
async def unread() -> AsyncIterator[tuple[LinkedSocket, set[LinkedSocket]]]:
    """A socket with more to write than its client takes, and the sockets of its server."""
    sockets: set[LinkedSocket] = set()
    ours, theirs = socket.socketpair()
    with theirs:
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=ours)
        linked = LinkedSocket(transport, sockets, max_bytes=1000, ping_seconds=0.0)
        transport.set_protocol(linked)
        linked.write([UNREAD])
        assert not linked.is_writable
        yield linked, sockets
        linked.abort()


@pytest.mark.parametrize("end", ENDS)
async def test_a_socket_ends_although_its_client_never_reads(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.serve.linked_socket.CLOSE_SECONDS", 0.05)
    async with unread() as (linked, sockets):
        ENDS[end](linked)
        async with asyncio.timeout(limit(10.0)):
            while sockets:
                await asyncio.sleep(0.01)


async def test_to_send_on_a_socket_that_was_lost_unread_is_an_error() -> None:
    async with unread() as (linked, sockets):
        linked.abort()
        async with asyncio.timeout(limit(10.0)):
            while sockets:
                await asyncio.sleep(0.01)
            with pytest.raises(ClientDisconnected):
                await linked.send({"type": "websocket.send", "text": "late"})
