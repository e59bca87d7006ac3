"""Two ends in one loop behave as two ends of a real link."""

from __future__ import annotations

import asyncio

import pytest

from accord.errors import ConnectionLost
from accord.transport import memory_pair


async def test_a_text_larger_than_the_buffer_fits_where_there_is_no_other() -> None:
    left, right = memory_pair(max_bytes=10)
    sending = asyncio.create_task(left.send(b"x" * 100))
    await asyncio.sleep(0)
    assert not sending.done(), "it is held, and its sender waits"
    assert await right.receive() == [b"x" * 100]
    await sending


async def test_a_sender_waits_for_exactly_as_long_as_there_is_no_room() -> None:
    left, right = memory_pair(max_bytes=10)
    await left.send(b"12345")
    await left.send(b"67890")
    sending = asyncio.create_task(left.send(b"x"))
    await asyncio.sleep(0)
    assert not sending.done()
    assert await right.receive() == [b"12345", b"67890"]
    await sending
    assert await right.receive() == [b"x"]


async def test_a_newcomer_does_not_overtake_a_sender_that_was_just_let_through() -> None:
    left, right = memory_pair(max_bytes=1)
    await left.send(b"1")
    second = asyncio.create_task(left.send(b"2"))
    await asyncio.sleep(0)
    assert await right.receive() == [b"1"]
    third = asyncio.create_task(left.send(b"3"))
    assert await right.receive() == [b"2"]
    assert await right.receive() == [b"3"]
    await asyncio.gather(second, third)


async def test_a_buffered_text_is_received_without_giving_the_loop_a_turn() -> None:
    left, right = memory_pair()
    await left.send(b"1")
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    assert await right.receive() == [b"1"]
    assert not turn.done()


async def test_a_sender_that_never_waits_still_gives_the_loop_a_turn_now_and_then() -> None:
    left, _right = memory_pair()
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    for _ in range(63):
        await left.send(b"x" * 1024)
    assert not turn.done()
    await left.send(b"x" * 1024)
    assert turn.done()


async def test_a_small_text_does_not_overtake_a_large_one_that_waits() -> None:
    left, right = memory_pair(max_bytes=10)
    await left.send(b"12345678")
    senders = [asyncio.create_task(left.send(text)) for text in (b"large", b"s")]
    await asyncio.sleep(0)
    assert await right.receive() == [b"12345678"]
    await asyncio.gather(*senders)
    assert await right.receive() == [b"large", b"s"]


async def test_what_was_sent_before_a_close_is_still_received() -> None:
    left, right = memory_pair()
    await left.send(b"1")
    await left.close()
    assert right.hung_up
    assert await right.receive() == [b"1"]
    assert await right.receive() == []
    with pytest.raises(ConnectionLost) as lost:
        await right.send(b"2")
    assert lost.value.clean


async def test_nothing_is_received_after_our_own_close() -> None:
    left, right = memory_pair()
    await right.send(b"1")
    await left.close()
    assert await left.receive() == []


async def test_a_second_receiver_is_refused() -> None:
    left, _right = memory_pair()
    receiving = asyncio.create_task(left.receive())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await left.receive()
    await left.close()
    assert await receiving == []


async def test_a_cancelled_receiver_loses_nothing() -> None:
    left, right = memory_pair()
    receiving = asyncio.create_task(right.receive())
    await asyncio.sleep(0)
    await left.send(b"1")
    receiving.cancel()
    await asyncio.wait((receiving,))
    assert await right.receive() == [b"1"]


async def test_several_texts_are_taken_at_once_or_none_of_them_is() -> None:
    left, right = memory_pair(max_bytes=10)
    assert left.try_send([b"12", b"34", b"56"])
    assert not left.try_send([b"7", b"8", b"9", b"0", b"1"]), "there is room for four of them"
    assert left.try_send([bytearray(b"7890")])
    assert await right.receive() == [b"12", b"34", b"56", b"7890"]
    await right.close()
    assert not left.try_send([b"1"])


async def test_texts_are_not_taken_past_a_sender_that_waits() -> None:
    left, right = memory_pair(max_bytes=10)
    await left.send(b"12345678")
    sending = asyncio.create_task(left.send(b"large"))
    await asyncio.sleep(0)
    assert not left.try_send([b"s"])
    assert await right.receive() == [b"12345678"]
    assert left.try_send([b"s"])
    await sending
    assert await right.receive() == [b"large", b"s"]


async def test_texts_are_not_taken_without_end_before_the_loop_has_a_turn() -> None:
    left, _right = memory_pair()
    taken = 0
    while left.try_send([b"x" * 1024]):
        taken += 1
    assert taken == 63
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    await left.send(b"x")
    assert turn.done()
    assert left.try_send([b"x"])


async def test_a_read_gives_no_more_than_a_pipe_would() -> None:
    left, right = memory_pair()
    for _ in range(4):
        await left.send(b"x" * 30_000)
    assert [len(text) for text in await right.receive()] == [30_000] * 3
    assert [len(text) for text in await right.receive()] == [30_000]
