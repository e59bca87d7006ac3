"""The end of a relay at the agent of this node: a `Transport` between the agent and a client that other nodes share.

What the agent sends goes straight to the client; what the client sends is put here by the relay.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from accord.transport import Transport

__all__ = ["LocalEnd"]

QUEUE_BYTES = 1024 * 1024


class LocalEnd:
    """The agent's end.

    `passes` is asked once of each message of the agent whether the client gets it, unless `passes_all` says so of all.
    """

    def __init__(
        self, client: Transport, passes: Callable[[bytes | bytearray], bool], passes_all: Callable[[], bool]
    ) -> None:
        self._client = client
        self._passes = passes
        self._passes_all = passes_all
        self._incoming: deque[bytes] = deque()
        self._incoming_bytes = 0
        self._receiver: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False

    @property
    def hung_up(self) -> bool:
        """See `Transport.hung_up`."""
        return self._ended or self._client.hung_up

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`."""
        if self._passes(text):
            await self._client.send(text)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """See `Transport.try_send`."""
        return self._passes_all() and self._client.try_send(texts)

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`."""
        while not self._incoming:
            if self._ended:
                return []
            self._receiver = asyncio.get_running_loop().create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        texts = list(self._incoming)
        self._incoming.clear()
        self._incoming_bytes = 0
        self._room.set()
        return texts

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._client.close()
        self.hang_up()

    async def put(self, text: bytes) -> None:
        """Give the agent one text; waits while it has not read most of what it was given."""
        self._incoming.append(text)
        self._incoming_bytes += len(text)
        self._wake()
        if self._incoming_bytes > QUEUE_BYTES and not self._ended:
            self._room.clear()
            await self._room.wait()

    def hang_up(self) -> None:
        """The client is gone."""
        self._ended = True
        self._room.set()
        self._wake()

    def _wake(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)
