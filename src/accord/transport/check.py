"""The conformance test of the `Transport` interface, for authors of new transports."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeAlias

from accord.errors import ConnectionLost, TransportError
from accord.time_scale import scaled
from accord.transport.interface import Transport

__all__ = ["TransportCheckFailed", "check_transport"]

MakePair: TypeAlias = Callable[[], Awaitable[tuple[Transport, Transport]]]
"""Makes a connected pair of transports."""
Check: TypeAlias = Callable[[Transport, Transport], Coroutine[None, None, None]]

# Far more than any step takes: it turns a hang into a failure with a message.
PATIENCE_SECONDS = scaled(20.0)

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
        received = _Texts(receiver)
        for text in texts:
            _expect(await received.next() == text, f"a text of {len(text)} bytes came out different")


async def _large(left: Transport, right: Transport) -> None:
    """A text of a megabyte arrives whole."""
    sending, received = asyncio.gather(left.send(_LARGE_TEXT), left.send(b"{}")), _Texts(right)
    _expect(await received.next() == _LARGE_TEXT, "it came out different")
    _expect(await received.next() == b"{}", "the text behind it did not arrive")
    await sending


async def _huge(left: Transport, right: Transport) -> None:
    """The sender of a text that is larger than any buffer is suspended while the other end does not receive."""
    text = b'"' + b"x" * (_FLOOD_TEXTS * 16 * 1024) + b'"'
    sending = asyncio.create_task(left.send(text))
    await asyncio.wait((sending,), timeout=_STILL_SECONDS)
    _expect(not sending.done(), f"{len(text)} bytes were accepted without a receiver")
    _expect(await _Texts(right).next() == text, "it came out different")
    await sending


async def _bytearrays(left: Transport, right: Transport) -> None:
    """A text may be a bytearray, and is received as bytes."""
    await left.send(bytearray(b'"text"'))
    received = await right.receive()
    _expect(received == [b'"text"'] and isinstance(received[0], bytes), "something else was received")


async def _concurrency(left: Transport, right: Transport) -> None:
    """Texts of concurrent senders are not mixed, and those of each one stay in order."""
    senders, each = 8, 40

    async def send_all(sender: int) -> None:
        for number in range(each):
            await left.send(b"%d %d " % (sender, number) + b"x" * (number * 700))

    sending = asyncio.gather(*(send_all(sender) for sender in range(senders)))
    next_number, received = [0] * senders, _Texts(right)
    for _ in range(senders * each):
        text = await received.next() or b""
        _expect(text.count(b" ") == 2, "a text was torn")  # noqa: PLR2004
        name, number, filling = text.split(b" ")
        _expect(filling == b"x" * (int(number) * 700), "a text was torn")
        _expect(int(number) == next_number[int(name)], "a later text overtook an earlier one")
        next_number[int(name)] += 1
    await sending


async def _pressure(left: Transport, right: Transport) -> None:
    """A sender is suspended while the other end does not receive, and goes on when it does."""
    flood = _Flood(left)
    await flood.stall()
    _expect(not flood.task.done(), f"{_FLOOD_TEXTS * len(_FLOOD_TEXT)} bytes were accepted without a receiver")
    received = _Texts(right)
    for _ in range(_FLOOD_TEXTS):
        _expect(await received.next() == _FLOOD_TEXT, "a text was torn")
    await flood.task


async def _try_send(left: Transport, right: Transport) -> None:
    """Texts of try_send leave together, behind those that were sent before and before those that are sent after."""
    received, number = _Texts(right), 0
    for several in (1, 2, 3, 7) * 20:
        texts = [b"%d" % (number + place) for place in range(several)]
        await left.send(texts[0])
        if several > 1 and not left.try_send([bytearray(text) for text in texts[1:]]):
            for text in texts[1:]:
                await left.send(text)
        number += several
        for text in texts:
            _expect(await received.next() == text, "some were lost, or the order was another")


async def _try_send_waits(left: Transport, right: Transport) -> None:
    """Texts of try_send are not sent past a sender that waits, nor after close."""
    flood = _Flood(left)
    await flood.stall()
    _expect(not left.try_send([b"2"]), "they were taken while a sender waited")
    behind = asyncio.create_task(left.send(b"3"))
    await asyncio.sleep(0)
    flood.task.cancel()
    received = _Texts(right)
    while (text := await received.next()) == _FLOOD_TEXT:
        pass
    _expect(text == b"3", "something was sent although try_send was False")
    await behind
    await left.close()
    _expect(not left.try_send([b"4"]), "they were taken after close")


async def _hung_up(left: Transport, right: Transport) -> None:
    """hung_up is False while the other end may still send, and hides no text that was sent."""
    _expect(left.hung_up is False and right.hung_up is False, "it is true of a link that was just made")
    await left.send(b"{}")
    _expect(right.hung_up is False, "it is true of a link on which a text is on its way")
    closing = asyncio.create_task(left.close())
    _expect(await _Texts(right).next() == b"{}", "the text was lost")
    await closing


async def _cancelled_sender(left: Transport, right: Transport) -> None:
    """A sender that is cancelled while it waits leaves a whole text or none, and others go on."""
    flood = _Flood(left)
    await flood.stall()
    waiting = asyncio.create_task(left.send(b'"the one behind"'))
    await asyncio.sleep(0)
    flood.task.cancel()
    await asyncio.wait((flood.task,))
    received, texts = 0, _Texts(right)
    while (text := await texts.next()) == _FLOOD_TEXT:
        received += 1
    _expect(text == b'"the one behind"', "a text was torn, or the next sender's was lost")
    _expect(received in {flood.sent, flood.sent + 1}, "texts were lost")
    await waiting


async def _close_wakes_receiver(left: Transport, right: Transport) -> None:
    """Closing wakes a pending receive with an empty list, also at the other end."""
    here = asyncio.create_task(left.receive())
    there = asyncio.create_task(right.receive())
    await asyncio.sleep(0)
    await left.close()
    _expect(await here == [], "the receiver at this end got a text")
    _expect(await left.receive() == [], "a later receive got a text")
    try:
        last = await there
    except ConnectionLost:
        last = []
    _expect(last == [], "the receiver at the other end got a text")


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
    """Texts that were sent before close arrive, and then the end."""
    for number in range(100):
        await left.send(b"%d" % number)
    closing = asyncio.create_task(left.close())
    received = _Texts(right)
    for number in range(100):
        _expect(await received.next() == b"%d" % number, "a text was lost")
    await closing
    try:
        last = await received.next()
    except ConnectionLost:
        last = None
    _expect(last is None, "there was one more")


class _Texts:
    """The texts that one end receives, one by one."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._texts: deque[bytes] = deque()

    async def next(self) -> bytes | None:
        """The next one; None at the end."""
        if not self._texts:
            self._texts.extend(await self._transport.receive())
        return self._texts.popleft() if self._texts else None


class _Flood:
    """A sender that sends until it is suspended."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.sent = 0
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(_take_note)

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


def _take_note(sending: asyncio.Task[None]) -> None:
    """Retrieve the outcome of a sender that a failed check left behind, so that asyncio logs no warning."""
    if not sending.cancelled():
        sending.exception()


_CHECKS: tuple[Check, ...] = (
    _order,
    _large,
    _bytearrays,
    _concurrency,
    _pressure,
    _huge,
    _try_send,
    _try_send_waits,
    _hung_up,
    _cancelled_sender,
    _close_wakes_receiver,
    _close_wakes_senders,
    _close_again,
    _send_after_close,
    _last_texts,
)
