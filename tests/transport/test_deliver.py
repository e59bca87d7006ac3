"""Texts handed over in the instant they are read: all of them, in order, and no further than they are wanted."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from accord.errors import FrameError
from accord.transport import StreamTransport
from accord.transport.interface import DeliveringTransport
from tests.transport.processes import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.wire.piece import Piece


class Line:
    """A transport, and the raw end of the pipe that it reads."""

    def __init__(self, way: str, **options: int) -> None:
        read_from, self.write_to = os.pipe()
        self.nowhere, write_to = os.pipe()
        self.transport = StreamTransport(read_from, write_to, force_threads=way == "threads", **options)  # type: ignore[arg-type]

    def say(self, data: bytes) -> None:
        assert os.write(self.write_to, data) == len(data)

    def hang_up(self) -> None:
        if self.write_to >= 0:
            os.close(self.write_to)
            self.write_to = -1


def each(take: Callable[[bytes], bool]) -> Callable[[Piece], bool]:
    """A taker that looks at every text before it wants the next one."""
    return lambda piece: all(take(text) for text in piece.left)


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


async def test_texts_are_taken_in_order_until_the_stream_ends(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))
    assert isinstance(line.transport, DeliveringTransport)
    taken: list[bytes] = []

    def take(text: bytes) -> bool:
        taken.append(text)
        return True

    delivering = asyncio.ensure_future(line.transport.deliver(each(take)))
    for index in range(100):
        line.say(b"%d\n" % index)
        if index % 10 == 0:
            await until(lambda so_far=index: len(taken) == so_far + 1)  # type: ignore[misc]
    line.hang_up()
    assert await delivering is False
    assert taken == [b"%d" % index for index in range(100)]
    await line.transport.close()


async def test_what_is_not_wanted_stays_for_the_next_time(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))
    taken: list[bytes] = []

    def take_two(text: bytes) -> bool:
        taken.append(text)
        return len(taken) % 2 == 1

    line.say(b"1\n2\n3\n4\n5\n6\n7\n")
    assert await line.transport.deliver(each(take_two)) is True
    assert taken == [b"1", b"2"]
    assert await line.transport.receive() == b"3"
    taken.clear()
    assert await line.transport.deliver(each(take_two)) is True
    assert taken == [b"4", b"5"]
    assert await line.transport.deliver(each(take_two)) is True
    assert taken == [b"4", b"5", b"6", b"7"]
    await line.transport.close()


async def test_nothing_more_is_read_while_nothing_is_wanted(lines: list[Line]) -> None:
    lines.append(line := Line("polled"))
    line.say(b"1\n")
    assert await line.transport.deliver(each(lambda _: False)) is True
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


async def test_what_a_taker_raises_is_raised_where_it_was_asked_for(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))

    def refuse(text: bytes) -> bool:
        raise KeyError(text)

    delivering = asyncio.ensure_future(line.transport.deliver(each(refuse)))
    await asyncio.sleep(0)
    line.say(b"1\n2\n")
    with pytest.raises(KeyError):
        await delivering
    assert await line.transport.receive() == b"2"
    await line.transport.close()


async def test_closing_ends_a_delivery(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way))
    delivering = asyncio.ensure_future(line.transport.deliver(lambda _: True))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await line.transport.deliver(lambda _: True)
    await line.transport.close()
    assert await delivering is False
    assert await line.transport.deliver(lambda _: True) is False


async def test_a_taker_may_close_the_transport(lines: list[Line]) -> None:
    lines.append(line := Line("polled"))
    taken: list[bytes] = []
    closing: list[asyncio.Task[None]] = []

    def take(text: bytes) -> bool:
        taken.append(text)
        closing.append(asyncio.ensure_future(line.transport.close()))
        return True

    delivering = asyncio.ensure_future(line.transport.deliver(each(take)))
    await asyncio.sleep(0)
    line.say(b"1\n")
    assert await delivering is False
    await asyncio.gather(*closing)
    assert taken == [b"1"]


async def test_a_frame_over_the_limit_ends_a_delivery_with_a_reason(lines: list[Line], way: str) -> None:
    lines.append(line := Line(way, max_bytes=10))
    taken: list[bytes] = []

    def take(text: bytes) -> bool:
        taken.append(text)
        return True

    line.say(b"1\n" + b"x" * 100 + b"\n2\n")
    with pytest.raises(FrameError):
        await line.transport.deliver(each(take))
    assert taken == [b"1"]
    await line.transport.close()
