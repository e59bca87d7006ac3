"""What leaves: one text after the other through the transport, seen by observers, and the ones nobody waits for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from accord.errors import TransportError
from accord.transport.burst import Burst
from accord.transport.interface import PostingTransport, Transport

__all__ = ["Observer", "Outbox"]

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
        self._posts: set[asyncio.Task[None]] = set()

    def put(self, text: bytes | bytearray) -> bool:
        """Send one text if nobody has to wait or to look; otherwise False, and `send` has to do it."""
        return not self.observers and self.post_at_once(text)

    async def send(self, text: bytes | bytearray) -> None:
        """Send one text; suspends while the peer does not read.

        Raises:
            ConnectionLost: The link is gone.
        """
        if self.observers:
            seen = bytes(text)
            for observer in self.observers:
                observer("out", seen)
        if not self.post_at_once(text):
            await self._send(text)

    def post(self, text: bytes) -> asyncio.Task[None]:
        """Send one text without waiting for it; if the link is gone, so is the text."""
        task = asyncio.get_running_loop().create_task(self._send_quietly(text))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)
        return task

    async def _send_quietly(self, text: bytes) -> None:
        with contextlib.suppress(TransportError):
            await self.send(text)

    def tasks(self) -> list[asyncio.Task[None]]:
        """What was posted and has not left yet."""
        return list(self._posts)


def _cannot_post(*_: Any) -> bool:
    """Stands for `post` and its like where a transport has none."""
    return False
