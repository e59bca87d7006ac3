"""The write buffer: whole frames in order, small ones joined, and nothing is added to what is closed."""

from __future__ import annotations

import random

from accord.transport.write_buffer import SLICE_BYTES, WriteBuffer


def written(buffer: WriteBuffer, size_bytes: int) -> bytes:
    """Write so much of the first chunk."""
    with buffer.first() as chunk:
        data = bytes(chunk[:size_bytes])
    buffer.remove(len(data))
    return data


def is_empty(buffer: WriteBuffer) -> bool:
    return not buffer.chunks and buffer.lines is None and buffer.size_bytes == 0


def test_small_frames_are_joined_up_to_a_limit_and_large_ones_go_alone() -> None:
    buffer = WriteBuffer()
    for frame in (b"a\n", b"b\n", b"c" * 7 + b"\n"):
        buffer.append(frame, open_bytes=8)
    large = b"x" * SLICE_BYTES
    buffer.append(large, open_bytes=8)
    assert list(buffer.chunks) == [b"a\nb\n", b"c" * 7 + b"\n", large]
    assert buffer.chunks[-1] is large, "a large frame is not copied"
    assert buffer.lines is None
    assert buffer.size_bytes == 12 + SLICE_BYTES


def test_lines_may_be_added_to_the_open_chunk_and_count() -> None:
    buffer = WriteBuffer()
    buffer.append(b"a\n", SLICE_BYTES)
    assert buffer.lines is not None
    buffer.lines += b"b\n"
    assert buffer.size_bytes == 4
    assert written(buffer, 3) == b"a\nb"
    assert buffer.lines is not None, "it is still the last one"
    buffer.lines += b"c\n"
    assert buffer.size_bytes == 3
    assert written(buffer, 100) == b"\nc\n"
    assert is_empty(buffer)


def test_nothing_is_added_where_frames_are_no_lines() -> None:
    buffer = WriteBuffer(takes_lines=False)
    buffer.append(b"a", SLICE_BYTES)
    buffer.append(b"b", SLICE_BYTES)
    assert (buffer.lines, list(buffer.chunks)) == (None, [b"ab"])
    buffer = WriteBuffer()
    buffer.append(b"a\n", SLICE_BYTES)
    buffer.refuse_lines()
    buffer.append(b"b", SLICE_BYTES)
    assert (buffer.lines, list(buffer.chunks), buffer.size_bytes) == (None, [b"a\n", b"b"], 3)


def test_the_rest_of_a_frame_and_what_follows_leave_in_order() -> None:
    buffer = WriteBuffer()
    buffer.append_rest(b"first\n", 3)
    buffer.append(b"second\n", SLICE_BYTES)
    assert buffer.size_bytes == 10
    assert written(buffer, 100) + written(buffer, 100) == b"st\nsecond\n"
    buffer.append(b"lost\n", SLICE_BYTES)
    buffer.clear()
    assert is_empty(buffer)


def test_whatever_is_added_and_written_nothing_is_lost_and_all_is_counted() -> None:
    chance = random.Random(5)
    buffer, said, heard = WriteBuffer(), b"", b""
    for number in range(2000):
        line = b"%d %s\n" % (number, b"x" * chance.choice((0, 3, 50, 400, SLICE_BYTES)))
        match chance.randrange(4):
            case 0 if buffer.lines is not None:
                buffer.lines += line
                said += line
            case 1 | 2 if buffer.chunks:
                heard += written(buffer, chance.choice((1, 7, 300, 100_000)))
            case 3:
                buffer.append(line, 1000)
                said += line
            case _:
                buffer.close_chunk()
        assert buffer.size_bytes == len(said) - len(heard)
    while buffer.chunks:
        heard += written(buffer, 1 << 20)
    assert heard == said
