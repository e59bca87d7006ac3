"""Texts over pipes: framing, coalescing, pressure, and every way in which a stream can end."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import socket
import struct
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from accord.errors import ConnectionLost, FrameError, LocalProtocolError
from accord.transport import StreamTransport, polled
from accord.transport.polled import PIPE_BYTES, READ_BYTES, enlarge_pipe, unread_bytes
from accord.transport.write_buffer import SLICE_BYTES, WriteBuffer
from accord.wire import HeaderReader, LineReader
from tests.limits import limit
from tests.transport.one_by_one import OneByOne
from tests.transport.processes import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Ends:
    """A transport and the raw other ends of its two pipes."""

    def __init__(self, **options: Any) -> None:
        read_from, self.write_to = os.pipe()
        self.read_from, write_to = os.pipe()
        self.transport: Any = OneByOne(StreamTransport(read_from, write_to, **options))

    def say(self, data: bytes) -> None:
        assert os.write(self.write_to, data) == len(data)

    def hear(self) -> bytes:
        return os.read(self.read_from, 1 << 20)

    def hang_up(self) -> None:
        for name in ("write_to", "read_from"):
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
                setattr(self, name, -1)


@pytest.fixture
def opened() -> Iterator[list[Ends]]:
    all_ends: list[Ends] = []
    yield all_ends
    for ends in all_ends:
        ends.hang_up()


@pytest.fixture(params=["polled", "threads"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The pieces that leave from now on, one per system call."""
    pieces: list[bytes] = []
    write = os.write
    ours = ends.transport._sink._descriptor

    def recording(descriptor: int, data: Any) -> int:
        if descriptor == ours:
            pieces.append(bytes(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", recording)
    return pieces


async def test_a_text_leaves_at_once_and_the_others_of_a_burst_together(
    opened: list[Ends], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.append(ends := Ends())
    pieces = written(ends, monkeypatch)
    clock = [1.0]
    monkeypatch.setattr(polled, "monotonic", lambda: clock[0])
    await ends.transport.send(b"1")
    assert pieces == [b"1\n"]
    for text in (b"2", b"3", b"4"):
        await ends.transport.send(text)
    assert pieces == [b"1\n"]
    await asyncio.sleep(0)
    assert pieces == [b"1\n", b"2\n3\n4\n"]
    clock[0] += 1
    await ends.transport.send(b"5")
    assert pieces[2:] == [b"5\n"]
    await ends.transport.close()


async def test_much_of_one_turn_leaves_before_the_turn_ends(
    opened: list[Ends], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.append(ends := Ends())
    pieces = written(ends, monkeypatch)
    # On a busy machine two of these texts may be far apart, and the second of them leaves at once.
    monkeypatch.setattr(polled, "monotonic", lambda: 1.0)
    senders = [asyncio.create_task(ends.transport.send(b"x" * 1023)) for _ in range(70)]
    await asyncio.sleep(0)
    assert [len(piece) for piece in pieces] == [1024, 64 * 1024]
    await asyncio.gather(*senders)
    assert [len(piece) for piece in pieces] == [1024, 64 * 1024, 5 * 1024]
    await ends.transport.close()


def _fail(error: OSError | None, _: bytes) -> None:
    pytest.fail(f"writing failed: {error}")


async def test_who_waits_for_room_is_told_also_when_all_has_left_before_the_turn_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(polled, "monotonic", lambda: 1.0)
    read_from, write_to = os.pipe()
    enlarge_pipe(write_to)
    told: list[int] = []
    sink = polled.PolledSink(write_to, lambda: told.append(sink.buffered_bytes), _fail, WriteBuffer())
    sink.put(b"at once")
    sink.put(b"x" * 64 * 1024)
    assert sink.buffered_bytes == 0
    assert told == []
    await asyncio.sleep(0)
    assert told == [0]
    sink.close()
    os.close(read_from)


async def test_a_sender_that_never_waits_still_gives_the_loop_a_turn_now_and_then(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    for _ in range(63):
        await ends.transport.send(b"x" * 1023)
    assert not turn.done()
    await ends.transport.send(b"x" * 1023)
    assert turn.done()
    await ends.transport.close()


async def test_a_small_text_does_not_overtake_a_large_one_that_waits(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    first, large = b"x" * (PIPE_BYTES + 100_000), b"y" * 200_000
    await ends.transport.send(first)
    senders = [asyncio.create_task(ends.transport.send(text)) for text in (large, b"z")]
    await asyncio.sleep(0)
    assert not senders[1].done()
    heard = b""
    while heard.count(b"\n") < 3:
        heard += await asyncio.to_thread(ends.hear)
    await asyncio.gather(*senders)
    await ends.transport.close()
    assert heard.split(b"\n") == [first, large, b"z", b""]


async def test_a_bytearray_may_be_sent(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    await ends.transport.send(b"0")
    for size in (10, 200_000):
        text = bytearray(b"x" * size)
        await ends.transport.send(text)
    await ends.transport.close()
    heard = b""
    while piece := ends.hear():
        heard += piece
    assert heard == b"0\n" + b"x" * 10 + b"\n" + b"x" * 200_000 + b"\n"


async def test_a_text_with_a_newline_is_refused_and_nothing_of_it_is_sent(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    with pytest.raises(LocalProtocolError):
        await ends.transport.send(b"{\n}")
    await ends.transport.send(b"{}")
    assert ends.hear() == b"{}\n"
    await ends.transport.close()


async def test_auto_answers_as_it_is_spoken_to(opened: list[Ends]) -> None:
    opened.append(ends := Ends(framing="auto"))
    await ends.transport.send(b"1")
    assert ends.hear() == b"1\n"
    ends.say(b"Content-Length: 2\r\n\r\n{}")
    assert await ends.transport.receive() == b"{}"
    await ends.transport.send(b"2")
    assert ends.hear() == b"Content-Length: 1\r\n\r\n2"
    await ends.transport.close()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"\xef\xbb\xbf\r\n {}\n", b"1\n"),
        (b"\r\nX-Y: 1\r\nContent-Length: 2\r\n\r\n{}", b"Content-Length: 1\r\n\r\n1"),
    ],
)
async def test_a_framing_is_recognised_byte_by_byte(opened: list[Ends], way: str, said: bytes, answer: bytes) -> None:
    opened.append(ends := Ends(framing="auto", force_threads=way == "threads"))
    receiving = asyncio.create_task(ends.transport.receive())
    for byte in said:
        assert not receiving.done()
        ends.say(bytes([byte]))
        await until(lambda: unread_bytes(ends.write_to) == 0)
        await asyncio.sleep(0)
    assert (await receiving or b"").strip() == b"{}"
    await ends.transport.send(b"1")
    assert await asyncio.to_thread(ends.hear) == answer
    await ends.transport.close()


async def test_nothing_is_read_while_nobody_receives(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(force_threads=way == "threads"))
    receiving = asyncio.create_task(ends.transport.receive())
    await asyncio.sleep(0)
    ends.say(b"1\n2\n")
    assert await receiving == b"1"
    ends.say(b"3\n4\n")
    # Nothing is what shall happen, so there is nothing to wait for but time.
    await asyncio.sleep(0.1)
    assert unread(ends.transport) == 4
    assert [await ends.transport.receive() for _ in range(3)] == [b"2", b"3", b"4"]
    await ends.transport.close()


def unread(transport: StreamTransport) -> int:
    descriptor = transport._source._descriptor
    answer = bytearray(4)
    fcntl.ioctl(descriptor, 0x541B, answer)
    size: int = struct.unpack("i", answer)[0]
    return size


async def test_a_buffered_text_is_received_without_giving_the_loop_a_turn(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    ends.say(b"1\n2\n")
    assert await ends.transport.receive() == b"1"
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    assert await ends.transport.receive() == b"2"
    assert not turn.done()
    await ends.transport.close()


async def test_a_receiver_that_keeps_up_leaves_the_loop_watching(
    opened: list[Ends], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.append(ends := Ends())
    loop = asyncio.get_running_loop()
    watched: list[int] = []
    add_reader = loop.add_reader

    def counting(descriptor: int, *arguments: Any) -> None:
        watched.append(descriptor)
        add_reader(descriptor, *arguments)

    monkeypatch.setattr(loop, "add_reader", counting)
    for _ in range(50):
        ends.say(b"1\n")
        assert await ends.transport.receive() == b"1"
    assert len(watched) == 1
    await ends.transport.close()


async def test_a_text_that_comes_in_pieces_is_put_together(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(force_threads=way == "threads"))
    text = b"x" * (3 * READ_BYTES)

    def say_all() -> None:
        view = memoryview(text + b"\n")
        while view:
            view = view[os.write(ends.write_to, view) :]

    speaking = threading.Thread(target=say_all)
    speaking.start()
    assert await ends.transport.receive() == text
    speaking.join(timeout=limit(10))
    await ends.transport.close()


async def test_the_end_of_the_stream_is_none_behind_the_last_text(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(force_threads=way == "threads"))
    ends.say(b"1\nlast")
    ends.hang_up()
    received = [await ends.transport.receive() for _ in range(4)]
    assert received == [b"1", b"last", None, None]
    await ends.transport.close()


async def test_a_text_over_the_limit_is_a_frame_error_behind_the_texts_before_it(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(max_bytes=10, force_threads=way == "threads"))
    ends.say(b"1\n" + b"x" * 11 + b"\n2\n")
    assert await ends.transport.receive() == b"1"
    for _ in range(2):
        with pytest.raises(FrameError) as fault:
            await ends.transport.receive()
        assert fault.value.limit_bytes == 10
    await ends.transport.close()


async def test_sending_to_a_peer_that_no_longer_reads_is_a_lost_connection(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(force_threads=way == "threads"))
    os.close(ends.read_from)
    ends.read_from = -1

    async def send_on() -> None:
        for _ in range(1000):
            await ends.transport.send(b"x" * 10_000)

    for _ in range(2):
        with pytest.raises(ConnectionLost) as lost:
            await send_on()
        assert not lost.value.clean
    ends.say(b"still there\n")
    assert await ends.transport.receive() == b"still there"
    await ends.transport.close()


async def test_senders_that_wait_are_told_when_the_peer_goes(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(force_threads=way == "threads"))

    async def flood() -> None:
        while True:
            await ends.transport.send(b"x" * 100_000)

    floods = [asyncio.create_task(flood()) for _ in range(3)]
    assert await until(lambda: len(ends.transport._queue.waiting) == 3)
    ends.hang_up()
    errors = await asyncio.gather(*floods, return_exceptions=True)
    assert [type(error) for error in errors] == [ConnectionLost] * 3
    assert await ends.transport.receive() is None
    await ends.transport.close()


async def test_a_reset_socket_is_a_lost_connection() -> None:
    left, right = socket.socketpair()
    transport = StreamTransport(os.dup(left.fileno()), os.dup(left.fileno()))
    left.close()
    await transport.send(b"never read")
    right.close()
    with pytest.raises(ConnectionLost):
        await transport.receive()
    await transport.close()


async def test_a_terminal_that_is_hung_up_is_an_end() -> None:
    ours, theirs = pty.openpty()
    transport = StreamTransport(ours, os.dup(ours))
    os.close(theirs)
    assert await transport.receive() == []
    await transport.close()


async def test_what_cannot_be_read_is_a_lost_connection(tmp_path: Path) -> None:
    read_from = os.open(tmp_path, os.O_RDONLY)
    hearing, write_to = os.pipe()
    transport = StreamTransport(read_from, write_to)
    for _ in range(2):
        with pytest.raises(ConnectionLost) as lost:
            await transport.receive()
        assert not lost.value.clean
    await transport.close()
    os.close(hearing)


async def test_close_writes_out_what_was_sent(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(force_threads=way == "threads"))
    text = b"x" * (4 * 1024 * 1024)
    sending = asyncio.create_task(ends.transport.send(text))
    await asyncio.sleep(0)
    closing = asyncio.create_task(ends.transport.close())
    heard = bytearray()

    def hear_all() -> None:
        while piece := ends.hear():
            heard.extend(piece)

    await asyncio.to_thread(hear_all)
    await closing
    assert heard == text + b"\n"
    with pytest.raises(ConnectionLost):
        await sending


async def test_close_does_not_wait_for_ever_for_a_peer_that_does_not_read(
    opened: list[Ends], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.transport.streams.FLUSH_SECONDS", 0.05)
    opened.append(ends := Ends(force_threads=way == "threads"))
    sending = asyncio.create_task(ends.transport.send(b"x" * (4 * 1024 * 1024)))
    await asyncio.sleep(0)
    async with asyncio.timeout(limit(10)):
        await ends.transport.close()
        with pytest.raises(ConnectionLost):
            await sending
    # Whoever writes lets go: the peer sees the end behind what the pipe holds.
    heard_bytes = 0
    async with asyncio.timeout(limit(10)):
        while piece := await asyncio.to_thread(ends.hear):
            heard_bytes += len(piece)
    assert heard_bytes <= PIPE_BYTES


async def test_a_cancelled_close_closes_nevertheless(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    sending = asyncio.create_task(ends.transport.send(b"x" * (4 * 1024 * 1024)))
    await asyncio.sleep(0)
    closing = asyncio.create_task(ends.transport.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait((sending, closing), timeout=limit(10))
    assert isinstance(sending.exception(), ConnectionLost)
    assert closing.cancelled()
    await ends.transport.close()
    with pytest.raises(BrokenPipeError):
        os.write(ends.write_to, b"x")


async def test_the_blocking_mode_is_given_back() -> None:
    left, right = socket.socketpair()
    copies = os.dup(left.fileno()), os.dup(left.fileno())
    transport = StreamTransport(*copies)
    assert not left.getblocking() or not os.get_blocking(left.fileno())
    await transport.close()
    assert os.get_blocking(left.fileno())
    left.close()
    right.close()


async def test_a_cancelled_receiver_loses_nothing(opened: list[Ends], way: str) -> None:
    opened.append(ends := Ends(force_threads=way == "threads"))
    receiving = asyncio.create_task(ends.transport.receive())
    await asyncio.sleep(0)
    receiving.cancel()
    await asyncio.wait((receiving,))
    ends.say(b"1\n")
    async with asyncio.timeout(limit(10)):
        assert await ends.transport.receive() == b"1"
    await ends.transport.close()


async def test_a_second_receiver_is_refused(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    receiving = asyncio.create_task(ends.transport.receive())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await ends.transport.receive()
    await ends.transport.close()
    assert await receiving is None


async def test_threads_end_with_their_transport(opened: list[Ends]) -> None:
    before = set(threading.enumerate())
    opened.append(ends := Ends(force_threads=True))
    receiving = asyncio.create_task(ends.transport.receive())
    await asyncio.sleep(0)
    assert len(set(threading.enumerate()) - before) == 2
    await ends.transport.close()
    assert await receiving is None
    assert await until(lambda: not set(threading.enumerate()) - before)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a pipe be made larger")
async def test_pipes_are_made_larger_and_never_smaller(opened: list[Ends]) -> None:
    opened.append(ends := Ends())
    sizes = [fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) for descriptor in (ends.read_from, ends.write_to)]
    large = 2 * PIPE_BYTES
    fcntl.fcntl(ends.read_from, fcntl.F_SETPIPE_SZ, large)
    enlarge_pipe(ends.read_from)
    after = fcntl.fcntl(ends.read_from, fcntl.F_GETPIPE_SZ)
    await ends.transport.close()
    assert (sizes, after) == ([PIPE_BYTES, PIPE_BYTES], large)


# --- several texts at once


@pytest.fixture
def bursting(opened: list[Ends], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ends]:
    """Opens a transport on which, however slow the machine is, texts follow each other at once."""
    monkeypatch.setattr(polled, "monotonic", lambda: 1.0)

    def open_one(**options: Any) -> Ends:
        opened.append(ends := Ends(**options))
        return ends

    return open_one


async def test_several_texts_leave_together_or_none_of_them_does(bursting: Callable[..., Ends]) -> None:
    ends = bursting()
    async with asyncio.timeout(limit(10)):
        assert ends.transport.try_send([b"a", b"b"]), "nothing is in the way"
        assert ends.hear() == b"a\nb\n"
        assert ends.transport.try_send([b"1"])
        assert ends.transport.try_send([bytearray(b"2"), b"3"])
        assert not ends.transport.try_send([b"4", b"x" * SLICE_BYTES])
        assert not ends.transport.try_send([b"5", b"with a\nnewline"])
        assert not ends.transport.try_send([b"with a\nnewline"])
        await asyncio.sleep(0)
        assert ends.hear() == b"1\n2\n3\n"
        await ends.transport.close()
        assert not ends.transport.try_send([b"6", b"7"])


async def test_texts_of_try_send_count_for_the_turn_of_the_loop(bursting: Callable[..., Ends]) -> None:
    ends = bursting()
    async with asyncio.timeout(limit(10)):
        for _ in range(2):
            sent = 0
            while ends.transport.try_send([b"x" * 1023]):
                sent += 1
            assert 63 <= sent <= 65, "a slice was sent without a turn of the loop"
            turn = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(turn.set_result, None)
            await ends.transport.send(b"y")
            assert turn.done()
            ends.hear()
        await ends.transport.close()


async def test_texts_are_not_sent_past_those_that_wait_nor_after_close(bursting: Callable[..., Ends]) -> None:
    ends = bursting()
    async with asyncio.timeout(limit(10)):
        await ends.transport.send(b"x" * (PIPE_BYTES + 100_000))
        assert ends.transport.try_send([b"1"])
        waiting = asyncio.create_task(ends.transport.send(b"y" * 200_000))
        await asyncio.sleep(0)
        assert not ends.transport.try_send([b"2"])
        waiting.cancel()
        await asyncio.wait([waiting])
        assert ends.transport.try_send([b"3"])
        closing = asyncio.create_task(ends.transport.close())
        await asyncio.sleep(0)
        assert not ends.transport.try_send([b"4"])
        heard = b""
        while piece := await asyncio.to_thread(ends.hear):
            heard += piece
        await closing
        assert heard == b"x" * (PIPE_BYTES + 100_000) + b"\n1\n3\n", "what was sent before still leaves"


async def test_texts_of_try_send_leave_as_frames_where_frames_are_spoken(bursting: Callable[..., Ends]) -> None:
    ends = bursting(framing="headers")
    assert ends.transport.try_send([b"1"])
    assert ends.transport.try_send([b"2", b"3"])
    await ends.transport.close()
    assert ends.hear() == b"".join(b"Content-Length: 1\r\n\r\n%d" % number for number in (1, 2, 3))


async def test_frames_follow_the_lines_that_left_before_the_peer_was_heard(bursting: Callable[..., Ends]) -> None:
    ends = bursting(framing="auto")
    receiving = asyncio.create_task(ends.transport.receive())
    await asyncio.sleep(0)
    await ends.transport.send(b"x" * (PIPE_BYTES + 100_000))
    assert ends.transport.try_send([b"1"])
    ends.say(b"Content-Length: 2\r\n\r\n{}")
    assert await receiving == b"{}"
    assert ends.transport.try_send([b"2"])
    await ends.transport.send(b"3")
    closing = asyncio.create_task(ends.transport.close())
    heard = b""
    while piece := await asyncio.to_thread(ends.hear):
        heard += piece
    await closing
    assert heard.lstrip(b"x") == b"\n1\nContent-Length: 1\r\n\r\n2Content-Length: 1\r\n\r\n3"


@pytest.mark.parametrize("said", [b"[1]\n", b"Content-Length: 3\r\n\r\n[1]"])
async def test_a_framing_that_was_recognised_costs_no_further_call(opened: list[Ends], said: bytes) -> None:
    opened.append(ends := Ends(framing="auto"))
    ends.say(said)
    assert await ends.transport.receive() == b"[1]"
    assert type(ends.transport._reader) in {LineReader, HeaderReader}
    await ends.transport.close()


async def test_threads_take_several_texts_too(opened: list[Ends]) -> None:
    opened.append(ends := Ends(force_threads=True))
    assert ends.transport.try_send([b"1", b"2"])
    assert ends.transport.try_send([b"3"])
    await ends.transport.close()
    assert ends.hear() == b"1\n2\n3\n"
