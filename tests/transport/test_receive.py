"""Reads: the texts of one read come together, and the receiver is resumed in the instant in which they were read."""

from __future__ import annotations

import asyncio
import contextvars
import os
from typing import TYPE_CHECKING, Any

import pytest

from accord.errors import FrameError
from accord.transport import StreamTransport

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
    async with asyncio.timeout(10):
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


async def test_a_receiver_is_resumed_before_the_loop_does_anything_else(lines: list[Line]) -> None:
    lines.append(line := Line())
    order: list[object] = []
    started = asyncio.Event()

    async def receive() -> None:
        started.set()
        while texts := await line.transport.receive():
            order.append(texts)

    receiving = asyncio.create_task(receive())
    await started.wait()
    # The loop finds the pipe readable in the same turn in which it is told to note the turn itself.
    line.say(b"1\n")
    asyncio.get_running_loop().call_soon(lambda: asyncio.get_running_loop().call_soon(order.append, "turn"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == [[b"1"], "turn"]
    await line.transport.close()
    await receiving


async def test_a_receiver_keeps_its_context_and_is_the_current_task(lines: list[Line]) -> None:
    lines.append(line := Line())
    variable = contextvars.ContextVar("variable", default="the loop's")
    seen: list[object] = []

    async def receive() -> None:
        variable.set("the receiver's")
        for _ in range(2):
            await line.transport.receive()
            seen.extend([variable.get(), asyncio.current_task()])

    receiving = asyncio.create_task(receive())
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        for count in (2, 4):
            line.say(b"1\n")
            while len(seen) < count:
                await asyncio.sleep(0)
        await receiving
    assert seen == ["the receiver's", receiving] * 2
    assert variable.get() == "the loop's"
    await line.transport.close()


async def test_a_receiver_may_close_the_transport(lines: list[Line]) -> None:
    lines.append(line := Line())

    async def receive() -> list[list[bytes]]:
        received = [await line.transport.receive()]
        await line.transport.close()
        return [*received, await line.transport.receive()]

    receiving = asyncio.create_task(receive())
    await asyncio.sleep(0)
    line.say(b"1\n")
    async with asyncio.timeout(10):
        assert await receiving == [[b"1"], []]


async def test_a_receiver_that_fails_breaks_nothing_but_itself(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))

    async def fail() -> None:
        raise KeyError(*await line.transport.receive())

    receiving = asyncio.create_task(fail())
    await asyncio.sleep(0)
    line.say(b"1\n")
    async with asyncio.timeout(10):
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
    async with asyncio.timeout(10):
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
