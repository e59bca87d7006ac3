"""Answers that overtook the replay they belong behind, held back until the replay is read.

Some servers of streamable HTTP send the answer to `session/load` on the connection stream, where it overtakes the
replay on the session's stream. A request without a meaning is answered on the session's stream, behind the replay, if
only with an error: a barrier.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from accord.jsonrpc.message import RequestId
from accord.time_scale import scaled
from accord.transport.routing import Envelope

__all__ = ["ReplayBarriers"]

# A server that does not answer the barrier does not hold the answer for longer.
BARRIER_SECONDS = scaled(5.0)

SendBarrier: TypeAlias = Callable[[bytes, str], Awaitable[bool]]
"""Sends a text of a session; False where the server did not take it."""


class ReplayBarriers:
    """The answers of one connection that are held back."""

    def __init__(self, send: SendBarrier, deliver: Callable[[bytes], None]) -> None:
        self._send = send
        self._deliver = deliver
        self._count = 0
        self._held: dict[RequestId, tuple[bytes, asyncio.Event]] = {}
        """The answers, by the ids of their barriers."""

    def passes(self, message: Envelope) -> bool:
        """Whether a message is the answer to a barrier; then what it held back is delivered."""
        if message.kind != "answer" or message.id not in self._held:
            return False
        self._release(message.id)
        return True

    async def hold(self, text: bytes, session_id: str) -> None:
        """Hold an answer back until the barrier behind the replay of its session is answered, for a bounded time."""
        self._count += 1
        id_ = f"_accord/barrier-{self._count}"
        passed = asyncio.Event()
        self._held[id_] = (text, passed)
        message = {"jsonrpc": "2.0", "id": id_, "method": "_accord/barrier", "params": {"sessionId": session_id}}
        try:
            if await self._send(json.dumps(message).encode(), session_id):
                async with asyncio.timeout(BARRIER_SECONDS):
                    await passed.wait()
        except TimeoutError:
            pass
        finally:
            self._release(id_)

    def _release(self, id_: RequestId) -> None:
        held = self._held.pop(id_, None)
        if held is not None:
            text, passed = held
            passed.set()
            self._deliver(text)
