"""Reads: the texts of one read come together, or are given to a function in the instant in which they were read."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from accord.errors import FrameError
from accord.transport import StreamTransport, memory_pair
from accord.transport.interface import receive_into
from tests.limits import limit

if TYPE_CHECKING:
    from collections.abc import Iterator


class Line:
    """A transport, and the raw end of the pipe that it reads."""

    def __init__(self, way: str = "polled", **options: Any) -> None:
        read_from, self.write_to = os.pipe()
        self.nowhere, write_to = os.pipe()
        self.transport = StreamTransport(read_from, write_to, force_threads=way == "threads", **options)

    def say(self, data: bytes) -> None:
        assert os.write(self.write_to, data) == len(data)

    def hang_up(self) -> None:
        if self.write_to >= 0:
            os.close(self.write_to)
            self.write_to = -1


@pytest.fixture(params=["polled", "threads"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lines() -> Iterator[list[Line]]:
    made: list[Line] = []
    yield made
    for line in made:
        line.hang_up()
        os.close(line.nowhere)


async def test_the_texts_of_one_read_come_together_and_the_end_is_an_empty_list(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))
    async with asyncio.timeout(limit(10)):
        line.say(b"1\n2\n3\nha")
        assert await line.transport.receive() == [b"1", b"2", b"3"]
        line.say(b"lf\n")
        assert await line.transport.receive() == [b"half"]
        line.say(b"last")
        line.hang_up()
        assert await line.transport.receive() == [b"last"]
        assert [await line.transport.receive() for _ in range(2)] == [[], []]
        await line.transport.close()


async def test_nothing_more_is_read_while_nobody_receives(lines: list[Line]) -> None:
    lines.append(line := Line())
    line.say(b"1\n")
    assert await line.transport.receive() == [b"1"]
    os.set_blocking(line.write_to, False)
    sent: list[int] = []

    async def flood() -> None:
        while True:
            sent.append(os.write(line.write_to, b"x" * 65535 + b"\n"))
            await asyncio.sleep(0)

    with pytest.raises(BlockingIOError):
        await flood()
    assert sum(sent) < 3 * 1024 * 1024
    await line.transport.close()


async def test_texts_are_given_in_the_instant_in_which_they_are_read(lines: list[Line]) -> None:
    lines.append(line := Line())
    order: list[object] = []

    def take(texts: list[bytes]) -> bool:
        order.append(texts)
        asyncio.get_running_loop().call_soon(order.append, "turn")
        return True

    receiving = asyncio.create_task(receive_into(line.transport, take))
    await asyncio.sleep(0)
    line.say(b"1\n")
    while len(order) < 2:
        await asyncio.sleep(0)
    assert order == [[b"1"], "turn"]
    line.hang_up()
    async with asyncio.timeout(limit(10)):
        assert await receiving is False
    await line.transport.close()


async def test_no_text_is_given_that_is_not_wanted_and_none_is_lost(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))
    taken: list[list[bytes]] = []

    def take_one(texts: list[bytes]) -> bool:
        taken.append(texts)
        return False

    async with asyncio.timeout(limit(10)):
        line.say(b"1\n2\n")
        assert await receive_into(line.transport, take_one) is True
        line.say(b"3\n")
        assert await line.transport.receive() == [b"3"]
        line.say(b"4\n")
        assert await receive_into(line.transport, take_one) is True
        assert taken == [[b"1", b"2"], [b"4"]]
        closing = asyncio.create_task(line.transport.close())
        assert await receive_into(line.transport, take_one) is False
        await closing


async def test_what_a_taker_raises_is_raised_where_it_was_asked_for(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))

    def refuse(texts: list[bytes]) -> bool:
        raise KeyError(*texts)

    receiving = asyncio.create_task(receive_into(line.transport, refuse))
    await asyncio.sleep(0)
    line.say(b"1\n")
    async with asyncio.timeout(limit(10)):
        with pytest.raises(KeyError):
            await receiving
        line.say(b"2\n")
        assert await line.transport.receive() == [b"2"]
    await line.transport.close()


async def test_a_taker_may_close_the_transport(lines: list[Line]) -> None:
    lines.append(line := Line())
    closing: list[asyncio.Task[None]] = []

    def take(_: list[bytes]) -> bool:
        closing.append(asyncio.ensure_future(line.transport.close()))
        return True

    receiving = asyncio.create_task(receive_into(line.transport, take))
    await asyncio.sleep(0)
    line.say(b"1\n")
    async with asyncio.timeout(limit(10)):
        assert await receiving is False
        await asyncio.gather(*closing)


async def test_every_other_transport_is_received_from() -> None:
    left, right = memory_pair()
    taken: list[list[bytes]] = []

    def take(texts: list[bytes]) -> bool:
        taken.append(texts)
        return len(taken) < 2

    await left.send(b"1")
    await left.send(b"2")
    receiving = asyncio.create_task(receive_into(right, take))
    while not taken:
        await asyncio.sleep(0)
    await left.send(b"3")
    assert await receiving is True
    assert taken == [[b"1", b"2"], [b"3"]]
    await left.close()
    assert await receive_into(right, take) is False


async def test_a_receiver_may_close_the_transport(lines: list[Line]) -> None:
    lines.append(line := Line())

    async def receive() -> list[list[bytes]]:
        received = [await line.transport.receive()]
        await line.transport.close()
        return [*received, await line.transport.receive()]

    receiving = asyncio.create_task(receive())
    await asyncio.sleep(0)
    line.say(b"1\n")
    async with asyncio.timeout(limit(10)):
        assert await receiving == [[b"1"], []]


async def test_a_receiver_that_fails_breaks_nothing_but_itself(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))

    async def fail() -> None:
        raise KeyError(*await line.transport.receive())

    receiving = asyncio.create_task(fail())
    await asyncio.sleep(0)
    line.say(b"1\n")
    async with asyncio.timeout(limit(10)):
        with pytest.raises(KeyError):
            await receiving
        line.say(b"2\n")
        assert await line.transport.receive() == [b"2"]
    await line.transport.close()


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
async def test_a_receiver_that_is_cancelled_loses_nothing(lines: list[Line], way: str, turns: int) -> None:
    lines.append(line := Line(way))
    receiving = asyncio.create_task(line.transport.receive())
    await asyncio.sleep(0)
    line.say(b"1\n")
    for _ in range(turns):
        await asyncio.sleep(0)
    was_done = receiving.done()
    receiving.cancel()
    await asyncio.wait((receiving,))
    async with asyncio.timeout(limit(10)):
        assert (receiving.result() if was_done else await line.transport.receive()) == [b"1"]
    await line.transport.close()


async def test_a_receiver_that_is_cancelled_with_a_timeout_ends_in_time(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await line.transport.receive()
    await line.transport.close()


async def test_a_second_receiver_is_refused(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))
    receiving = asyncio.create_task(line.transport.receive())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await line.transport.receive()
    await line.transport.close()
    assert await receiving == []


async def test_a_frame_over_the_limit_is_an_error_behind_the_texts_before_it(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way, max_bytes=10))
    line.say(b"1\n" + b"x" * 100 + b"\n2\n")
    assert await line.transport.receive() == [b"1"]
    with pytest.raises(FrameError):
        await line.transport.receive()
    await line.transport.close()
