"""Adapters for tests: receiving one text at a time, and the least that a transport must have."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from accord.transport import Transport


class OneByOne:
    """A transport whose `receive` gives the next text, or None at the end; everything else is the transport's own."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._texts: deque[bytes] = deque()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    async def receive(self) -> bytes | None:
        if not self._texts:
            self._texts.extend(await self.transport.receive())
        return self._texts.popleft() if self._texts else None


class MinimalTransport:
    """The least that a transport must have beside `send`, `receive` and `close`."""

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:  # noqa: ARG002
        return False

    @property
    def hung_up(self) -> bool:
        return False
