"""What leaves: one text after the other through the transport, seen by observers, and the ones nobody waits for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from accord.errors import TransportError
from accord.transport.burst import Burst
from accord.transport.interface import DrainingTransport, PostingTransport, QueueingTransport, Transport

__all__ = ["Observer", "Outbox"]

log = logging.getLogger("accord.connection")

Observer: TypeAlias = Callable[[Literal["in", "out"], bytes], None]
"""Sees every text as it is on the wire, without its frame. Must not block; what it raises is raised at the sender."""


class Outbox:
    """The writing half of a connection."""

    def __init__(self, transport: Transport) -> None:
        self._send = transport.send
        self.post_at_once = transport.post if isinstance(transport, PostingTransport) else _cannot_post
        self.post_lines_at_once = transport.post_lines if isinstance(transport, PostingTransport) else _cannot_post
        self.burst = transport.burst if isinstance(transport, PostingTransport) else Burst()
        self.observers: tuple[Observer, ...] = ()
        self._drain = transport.drain if isinstance(transport, DrainingTransport) else None
        self._queue = transport.queue if isinstance(transport, QueueingTransport) else None
        self._posts: set[asyncio.Future[Any]] = set()

    def put(self, text: bytes | bytearray) -> bool:
        """Send one text if nobody has to wait or to look; otherwise False, and `send` has to do it."""
        return not self.observers and self.post_at_once(text)

    async def send(self, text: bytes | bytearray) -> None:
        """Send one text; suspends while the peer does not read.

        Raises:
            ConnectionLost: The link is gone.
        """
        if self._queue is None and self._posts:
            await asyncio.wait(self._posts)
        if self.observers:
            self._show(bytes(text))
        if not self.post_at_once(text):
            await self._send(text)

    async def send_whole(self, text: bytes | bytearray) -> None:
        """Send one text; suspends until it is written, but for what a transport holds of small ones.

        Raises:
            ConnectionLost: The link is gone.
        """
        await self.send(text)
        if self._drain is not None:
            await self._drain()

    def post(self, text: bytes) -> asyncio.Future[Any] | None:
        """Send one text before all that are sent from now on, by somebody who cannot wait.

        What is returned is done when there was room for it; None if there is nothing to wait for. If the link is gone,
        so is the text.
        """
        try:
            self._show(text)
        except Exception:
            log.exception("an observer failed")
        room = self._take(text)
        if room is not None:
            self._posts.add(room)
            room.add_done_callback(self._posts.discard)
        return room

    def waits(self) -> list[asyncio.Future[Any]]:
        """What was posted and had no room yet."""
        return list(self._posts)

    def _show(self, text: bytes) -> None:
        for observer in self.observers:
            observer("out", text)

    def _take(self, text: bytes) -> asyncio.Future[Any] | None:
        if self._queue is not None:
            return self._queue(text)
        # A transport without a queue: whoever sends next waits until this has been sent.
        return asyncio.get_running_loop().create_task(self._send_quietly(text))

    async def _send_quietly(self, text: bytes) -> None:
        with contextlib.suppress(TransportError):
            await self._send(text)


def _cannot_post(*_: Any) -> bool:
    """Stands for `post` and its like where a transport has none."""
    return False
