"""Knows what every `Transport` must keep, and proves it for one; for whoever writes a new way to move texts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeAlias

from accord.errors import ConnectionLost, TransportError
from accord.transport.interface import QueueingTransport, Transport

__all__ = ["TransportCheckFailed", "check_transport"]

MakePair: TypeAlias = Callable[[], Awaitable[tuple[Transport, Transport]]]
"""Makes a connected pair of transports."""
Check: TypeAlias = Callable[[Transport, Transport], Coroutine[None, None, None]]

# Far more than anything here takes: it turns a hang into a sentence.
PATIENCE_SECONDS = 20.0

# How long nothing may happen before a sender counts as suspended.
_STILL_SECONDS = 0.1

# Far more than any transport may hold for a peer that does not receive.
_FLOOD_TEXTS = 1024
_FLOOD_TEXT = b'"' + b"x" * (64 * 1024 - 2) + b'"'

_LARGE_TEXT = b'"' + "é→😀".encode() * 120_000 + b'"'


class TransportCheckFailed(AssertionError):
    """The transport broke a promise; the text says which."""


async def check_transport(make_pair: MakePair) -> None:
    """Try everything that `Transport` promises, each on a fresh pair of connected ends from `make_pair`.

    Both ends are closed again. Takes a few seconds.

    Raises:
        TransportCheckFailed: A promise was broken.
    """
    for check in _CHECKS:
        left, right = await make_pair()
        promise = (check.__doc__ or "").strip().rstrip(".")
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await check(left, right)
                await left.close()
                await right.close()
        except TimeoutError as error:
            raise TransportCheckFailed(f"{promise}: it hangs") from error
        except (TransportCheckFailed, TransportError) as error:
            raise TransportCheckFailed(f"{promise}: {error}") from error
        finally:
            for end in (left, right):
                with contextlib.suppress(TransportError):
                    await end.close()


def _expect(truth: object, otherwise: str) -> None:
    if not truth:
        raise TransportCheckFailed(otherwise)


async def _order(left: Transport, right: Transport) -> None:
    """Texts arrive whole and in order, both ways."""
    texts = [
        b"{}",
        b'{"a":1}',
        '{"a":"é→😀"}'.encode(),
        b"[" + b"0," * 5000 + b"0]",
        b'"\xff"',
        b'"' + b" " * 70_000 + b'"',
    ]
    for sender, receiver in ((left, right), (right, left)):
        for text in texts:
            await sender.send(text)
        for text in texts:
            _expect(await receiver.receive() == text, f"a text of {len(text)} bytes came out different")


async def _large(left: Transport, right: Transport) -> None:
    """A text of a megabyte arrives whole."""
    sending = asyncio.gather(left.send(_LARGE_TEXT), left.send(b"{}"))
    _expect(await right.receive() == _LARGE_TEXT, "it came out different")
    _expect(await right.receive() == b"{}", "the text behind it did not arrive")
    await sending


async def _bytearrays(left: Transport, right: Transport) -> None:
    """A text may be a bytearray, and is received as bytes."""
    await left.send(bytearray(b'"text"'))
    received = await right.receive()
    _expect(received == b'"text"' and isinstance(received, bytes), "something else was received")


async def _concurrency(left: Transport, right: Transport) -> None:
    """Texts of concurrent senders are not mixed, and those of each one stay in order."""
    senders, each = 8, 40

    async def send_all(sender: int) -> None:
        for number in range(each):
            await left.send(b"%d %d " % (sender, number) + b"x" * (number * 700))

    sending = asyncio.gather(*(send_all(sender) for sender in range(senders)))
    seen = [0] * senders
    for _ in range(senders * each):
        text = await right.receive() or b""
        _expect(text.count(b" ") == 2, "a text was torn")  # noqa: PLR2004
        name, number, filling = text.split(b" ")
        _expect(filling == b"x" * (int(number) * 700), "a text was torn")
        _expect(int(number) == seen[int(name)], "a later text overtook an earlier one")
        seen[int(name)] += 1
    await sending


async def _pressure(left: Transport, right: Transport) -> None:
    """A sender is suspended while nobody receives, and goes on when somebody does."""
    flood = _Flood(left)
    await flood.stall()
    _expect(not flood.task.done(), f"{_FLOOD_TEXTS * len(_FLOOD_TEXT)} bytes were taken for nobody")
    for _ in range(_FLOOD_TEXTS):
        _expect(await right.receive() == _FLOOD_TEXT, "a text was torn")
    await flood.task


async def _queue(left: Transport, right: Transport) -> None:
    """A text that is queued leaves behind what was sent before it and before what is sent after it."""
    if not isinstance(left, QueueingTransport):
        return  # what it does not offer it need not keep
    await left.send(b"1")
    left.queue(b"2")
    await left.send(b"3")
    for expected in (b"1", b"2", b"3"):
        _expect(await right.receive() == expected, "the order was another")
    flood = _Flood(left)
    await flood.stall()
    left.queue(b"2")
    behind = asyncio.create_task(left.send(b"3"))
    await asyncio.sleep(0)
    flood.task.cancel()
    while (text := await right.receive()) == _FLOOD_TEXT:
        pass
    _expect(text == b"2", "it was lost, or overtaken, while nobody received")
    _expect(await right.receive() == b"3", "the text behind it did not arrive")
    await behind
    await left.close()
    left.queue(b"4")


async def _cancelled_sender(left: Transport, right: Transport) -> None:
    """A sender that is cancelled while it waits leaves a whole text or none, and others go on."""
    flood = _Flood(left)
    await flood.stall()
    waiting = asyncio.create_task(left.send(b'"the one behind"'))
    await asyncio.sleep(0)
    flood.task.cancel()
    await asyncio.wait((flood.task,))
    received = 0
    while (text := await right.receive()) == _FLOOD_TEXT:
        received += 1
    _expect(text == b'"the one behind"', "a text was torn, or the next sender's was lost")
    _expect(received in {flood.sent, flood.sent + 1}, "texts were lost")
    await waiting


async def _close_wakes_receiver(left: Transport, right: Transport) -> None:
    """Closing wakes a pending receive with None, also at the other end."""
    here = asyncio.create_task(left.receive())
    there = asyncio.create_task(right.receive())
    await asyncio.sleep(0)
    await left.close()
    _expect(await here is None, "the receiver at this end got a text")
    _expect(await left.receive() is None, "a later receive got a text")
    try:
        last = await there
    except ConnectionLost:
        last = None
    _expect(last is None, "the receiver at the other end got a text")


async def _close_wakes_senders(left: Transport, _right: Transport) -> None:
    """Closing wakes pending senders with a clean ConnectionLost."""
    floods = [_Flood(left) for _ in range(3)]
    for flood in floods:
        await flood.stall()
    await left.close()
    for error in await asyncio.gather(*(flood.task for flood in floods), return_exceptions=True):
        _expect(isinstance(error, ConnectionLost) and error.clean, f"the sender got {error!r}")


async def _close_again(left: Transport, right: Transport) -> None:
    """Closing again, also at the same time, does nothing."""
    await asyncio.gather(left.close(), left.close(), right.close())
    await left.close()


async def _send_after_close(left: Transport, _right: Transport) -> None:
    """Sending after close raises ConnectionLost."""
    await left.close()
    error: Exception | None = None
    try:
        await left.send(b"{}")
    except ConnectionLost as lost:
        error = lost
    _expect(error is not None, "the text was taken")


async def _last_texts(left: Transport, right: Transport) -> None:
    """What was sent before close arrives, and then the end."""
    for number in range(100):
        await left.send(b"%d" % number)
    closing = asyncio.create_task(left.close())
    for number in range(100):
        _expect(await right.receive() == b"%d" % number, "a text was lost")
    await closing
    try:
        last = await right.receive()
    except ConnectionLost:
        last = None
    _expect(last is None, "there was one more")


class _Flood:
    """A sender that sends until it is suspended."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.sent = 0
        self.task = asyncio.create_task(self._run())

    async def stall(self) -> None:
        """Return when nothing was sent for a while."""
        before = -1
        while self.sent != before:
            before = self.sent
            await asyncio.sleep(_STILL_SECONDS)

    async def _run(self) -> None:
        for _ in range(_FLOOD_TEXTS):
            await self._transport.send(_FLOOD_TEXT)
            self.sent += 1


_CHECKS: tuple[Check, ...] = (
    _order,
    _large,
    _bytearrays,
    _concurrency,
    _pressure,
    _queue,
    _cancelled_sender,
    _close_wakes_receiver,
    _close_wakes_senders,
    _close_again,
    _send_after_close,
    _last_texts,
)
