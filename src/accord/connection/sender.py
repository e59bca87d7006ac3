"""The sending half of a connection: every text leaves through here, in order, and is shown to the observers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from accord.errors import ConnectionLost, TransportError
from accord.transport.interface import Transport

__all__ = ["Observer", "Sender"]

log = logging.getLogger("accord.connection")

Observer: TypeAlias = Callable[[Literal["in", "out"], bytes], None]
"""Gets every text as it is on the wire, without its frame. Must not block; its exceptions are raised at the sender."""


class _Queued(msgspec.Struct, frozen=True):
    text: bytes | bytearray
    sent: asyncio.Future[None]


# Replaced when a text has to wait: a server has thousands of connections on which none ever does.
_NO_QUEUE: deque[_Queued] = deque(maxlen=0)


class Sender:
    """Sends texts, and queues those that must keep their place although their sender cannot wait (`post`).

    Nearly always the transport takes a posted text at once. Where it does not, the text is queued here, a task sends
    it, and every text that is sent meanwhile is queued behind it.

    `on_detour` is called when texts may not go straight to the transport any more: they have to be shown or queued.
    """

    def __init__(self, transport: Transport, on_detour: Callable[[], None] = lambda: None) -> None:
        self._send = transport.send
        self._try_send = transport.try_send
        self._on_detour = on_detour
        self._observers: tuple[Observer, ...] = ()
        self._queue = _NO_QUEUE
        """The posted texts that wait; the first one is being sent."""
        self._task: asyncio.Task[None] | None = None

    @property
    def observers(self) -> tuple[Observer, ...]:
        return self._observers

    @observers.setter
    def observers(self, observers: tuple[Observer, ...]) -> None:
        self._observers = observers
        self._on_detour()

    @property
    def is_direct(self) -> bool:
        """Whether a text may go straight to the transport: it has to be neither shown nor queued."""
        return not self._observers and not self._queue

    def try_send(self, text: bytes | bytearray) -> bool:
        """Send one text without waiting; False if `send` has to do it."""
        return not self._observers and not self._queue and self._try_send((text,))

    async def send(self, text: bytes | bytearray) -> None:
        """Send one text; suspends while the peer does not read.

        Raises:
            ConnectionLost: The link is gone.
        """
        if self._observers:
            self._show(bytes(text))
        if self._queue:
            await self._enqueue(text)
        else:
            await self._send(text)

    def post(self, text: bytes) -> asyncio.Future[None] | None:
        """Send one text before all that are sent from now on, without waiting; for few and small ones.

        The returned future is done when the transport took it; None if there is nothing to wait for. If the link is
        gone, the text is dropped.
        """
        try:
            self._show(text)
        except Exception:
            log.exception("an observer failed")
        if not self._queue and self._try_send((text,)):
            return None
        sent = self._enqueue(text)
        sent.add_done_callback(_forget_failure)
        return sent

    def tasks(self) -> list[asyncio.Task[None]]:
        return [] if self._task is None else [self._task]

    def _show(self, text: bytes) -> None:
        for observer in self._observers:
            observer("out", text)

    def _enqueue(self, text: bytes | bytearray) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        queued = _Queued(text, loop.create_future())
        if self._queue is _NO_QUEUE:
            self._queue = deque()
        self._queue.append(queued)
        if self._task is None:
            self._on_detour()
            self._task = loop.create_task(self._send_queued())
        return queued.sent

    async def _send_queued(self) -> None:
        queue = self._queue
        try:
            while queue:
                first = queue[0]
                # A sender that was cancelled while it waited has sent nothing.
                if not first.sent.done():
                    await self._send_one(first.text, first.sent)
                queue.popleft()
        finally:
            self._task = None
            while queue:
                _settle(queue.popleft().sent, ConnectionLost(clean=True))

    async def _send_one(self, text: bytes | bytearray, sent: asyncio.Future[None]) -> None:
        try:
            await self._send(text)
        except Exception as error:  # noqa: BLE001 - it is the sender's
            _settle(sent, error)
        else:
            _settle(sent, None)


def _settle(sent: asyncio.Future[None], error: Exception | None) -> None:
    if sent.done():
        return
    if error is None:
        sent.set_result(None)
    else:
        sent.set_exception(error)


def _forget_failure(sent: asyncio.Future[None]) -> None:
    """Ignore the failure of a posted text: its sender does not wait, and where the link is gone the text is dropped."""
    if not sent.cancelled():
        with contextlib.suppress(TransportError):
            sent.result()
