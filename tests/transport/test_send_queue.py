"""Senders are served one by one, in the order in which they came."""

from __future__ import annotations

import asyncio

from accord.transport.write_buffer import CREDIT_BYTES, SendQueue


class Buffer:
    """Takes texts while it has room for them."""

    def __init__(self) -> None:
        self.room_bytes = 0
        self.texts: list[bytes] = []
        self.queue = SendQueue(lambda size: size <= self.room_bytes, self.put, lambda: self.room_bytes < 0)

    def put(self, text: bytes | bytearray) -> None:
        self.room_bytes -= len(text)
        self.texts.append(bytes(text))

    def make_room(self, size_bytes: int) -> None:
        self.room_bytes += size_bytes
        self.queue.advance()


async def waiting_for(buffer: Buffer, *texts: bytes) -> list[asyncio.Task[bool]]:
    tasks = [asyncio.create_task(buffer.queue.wait(text)) for text in texts]
    await asyncio.sleep(0)
    return tasks


async def test_the_first_in_line_passes_first_and_alone() -> None:
    buffer = Buffer()
    first, second, third = await waiting_for(buffer, b"aa", b"b", b"c")
    buffer.make_room(2)
    assert await first
    assert buffer.texts == [b"aa"]
    assert not second.done()
    buffer.make_room(2)
    assert all(await asyncio.gather(second, third))
    assert buffer.texts == [b"aa", b"b", b"c"]
    assert not buffer.queue.waiting


async def test_a_small_text_does_not_overtake_a_large_one() -> None:
    buffer = Buffer()
    large, small = await waiting_for(buffer, b"x" * 10, b"y")
    buffer.make_room(5)
    await asyncio.sleep(0)
    assert not large.done()
    assert not small.done()
    buffer.make_room(6)
    assert all(await asyncio.gather(large, small))


async def test_a_cancelled_sender_leaves_nothing_and_lets_the_next_pass() -> None:
    buffer = Buffer()
    large, small = await waiting_for(buffer, b"x" * 10, b"y")
    buffer.make_room(5)
    large.cancel()
    assert await small
    assert large.cancelled()
    assert buffer.texts == [b"y"]


async def test_a_sender_cancelled_in_the_turn_in_which_room_is_made_sends_nothing() -> None:
    buffer = Buffer()
    first, second = await waiting_for(buffer, b"a", b"b")
    first.cancel()
    buffer.make_room(2)
    assert await second
    assert first.cancelled()
    assert buffer.texts == [b"b"]


async def test_a_sender_cancelled_just_after_it_passed_has_sent_its_whole_text() -> None:
    buffer = Buffer()
    (first,) = await waiting_for(buffer, b"a")
    buffer.make_room(1)
    first.cancel()
    await asyncio.wait((first,))
    assert first.cancelled()
    assert buffer.texts == [b"a"]


async def test_shutting_sends_everybody_away() -> None:
    buffer = Buffer()
    waiting = await waiting_for(buffer, b"a", b"b")
    waiting[0].cancel()
    buffer.queue.close()
    assert await waiting[1] is False
    assert buffer.texts == []


async def test_who_was_served_last_may_send_a_little_more_although_others_wait() -> None:
    buffer = Buffer()
    buffer.queue = SendQueue(lambda size: size <= buffer.room_bytes, buffer.put, lambda: False, grants_credit=True)
    spent: list[bool] = []

    async def send() -> None:
        await buffer.queue.wait(b"a")
        spent.extend(buffer.queue.spend_credit(size) for size in (CREDIT_BYTES - 1, 2, 1))

    sending = asyncio.create_task(send())
    (other,) = await waiting_for(buffer, b"b")
    buffer.make_room(CREDIT_BYTES)
    await sending
    assert spent == [True, False, True]
    assert not other.done(), "the credit of the first takes room"
    assert not buffer.queue.spend_credit(1), "the credit is not this task's"
    buffer.make_room(CREDIT_BYTES)
    assert await other


async def test_the_sender_of_a_large_frame_waits_until_the_buffer_holds_less() -> None:
    buffer = Buffer()
    buffer.put(b"xxx")
    drains = [asyncio.create_task(buffer.queue.drain()) for _ in range(2)]
    await asyncio.sleep(0)
    drains[0].cancel()
    buffer.make_room(2)
    await asyncio.sleep(0)
    assert not drains[1].done()
    buffer.make_room(1)
    assert await drains[1]
    buffer.put(b"x")
    draining = asyncio.create_task(buffer.queue.drain())
    await asyncio.sleep(0)
    buffer.queue.close()
    assert not await draining
