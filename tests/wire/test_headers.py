"""Content-Length frames: tables fed whole, in pieces and with a tail; broken lengths find their way back."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from accord.errors import FrameError
from accord.wire import HeaderReader, Reader, frame_headers
from accord.wire.headers import MAX_HEADER_BYTES
from tests.tables import rows

PIECES = [1, 2, 3, 7, 1 << 20]

GOOD = {
    "one frame": (b"Content-Length: 2\r\n\r\n{}", [b"{}"]),
    "two frames": (b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]", [b"{}", b"[]"]),
    "bytes are counted, not characters": ("Content-Length: 4\r\n\r\n😀".encode(), ["😀".encode()]),
    "a body with line ends": (b"Content-Length: 6\r\n\r\n{\r\n\r\n}", [b"{\r\n\r\n}"]),
    "a body that looks like a header": (
        b"Content-Length: 21\r\n\r\nContent-Length: 5\r\n\r\n",
        [b"Content-Length: 5\r\n\r\n"],
    ),
    "bytes that are no UTF-8": (b"Content-Length: 3\r\n\r\n\xff\x00\xc3", [b"\xff\x00\xc3"]),
    "the name in any case": (b"CONTENT-length: 2\r\n\r\n{}", [b"{}"]),
    "no space after the colon": (b"Content-Length:2\r\n\r\n{}", [b"{}"]),
    "white space everywhere": (b"Content-Length \t: \t2 \t\r\n\r\n{}", [b"{}"]),
    "bare LF": (b"Content-Length: 2\n\n{}", [b"{}"]),
    "LF and CRLF mixed": (b"Content-Length: 2\n\r\n{}Content-Length: 2\r\n\n[]", [b"{}", b"[]"]),
    "a type before the length": (
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        [b"{}"],
    ),
    "a type after the length": (b"Content-Length: 2\r\nContent-Type: text/x\r\n\r\n{}", [b"{}"]),
    "a header nobody knows": (b"X-Trace: 7\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "a header that ends like ours": (b"X-Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "of two lengths the last": (b"Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "leading zeros": (b"Content-Length: " + b"0" * 5000 + b"2\r\n\r\n{}", [b"{}"]),
    "blank lines before": (b"\r\n\n \r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "blank lines between": (
        b"Content-Length: 2\r\n\r\n{}\r\n\nContent-Length: 2\r\n\r\n[]\n",
        [b"{}", b"[]"],
    ),
    "a mark before the first header": (b"\xef\xbb\xbfContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "a length of zero says nothing": (b"Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
    "a blank body says nothing": (b"Content-Length: 2\r\n\r\n\r\n", []),
}

BROKEN = {
    "too short": (
        b'Content-Length: 5\r\n\r\n{"id":1}Content-Length: 2\r\n\r\n{}',
        [b'{"id"', b":1}", b"{}"],
    ),
    "too short by one": (b"Content-Length: 1\r\n\r\n{}Content-Length: 2\r\n\r\n[]", [b"{", b"}", b"[]"]),
    "too short and the rest could be a name": (
        b"Content-Length: 3\r\n\r\nnullContent-Length: 2\r\n\r\n{}",
        [b"nul", b"l", b"{}"],
    ),
    "too short and the body speaks of lengths": (
        b'Content-Length: 1\r\n\r\n{"a":"Content-Length: 5"}Content-Length: 2\r\n\r\n{}',
        [b"{", b'"a":"Content-Length: 5"}', b"{}"],
    ),
    "a length of zero before a body": (
        b'Content-Length: 0\r\n\r\n{"a":1}Content-Length: 2\r\n\r\n{}',
        [b'{"a":1}', b"{}"],
    ),
    "too long, into the name": (
        b'Content-Length: 9\r\n\r\n{}Content-Length: 7\r\n\r\n{"a":1}\r\nContent-Length: 2\r\n\r\n[]',
        [b"{}Content", b"-Length: 7", b'{"a":1}', b"[]"],
    ),
    "too long, into the number": (
        b"Content-Length: 18\r\n\r\n{}Content-Length: 17\r\n\r\n[1]Content-Length: 2\r\n\r\n[]",
        [b"{}Content-Length: ", b"17", b"[1]", b"[]"],
    ),
    "too long, over the whole header": (
        b"Content-Length: 23\r\n\r\n{}Content-Length: 3\r\n\r\n[1]Content-Length: 2\r\n\r\n[]",
        [b"{}Content-Length: 3\r\n\r\n", b"[1]", b"[]"],
    ),
    "no number": (
        b"Content-Length: two\r\n\r\n{}Content-Length: 2\r\n\r\n[]",
        [b"Content-Length: two", b"{}", b"[]"],
    ),
    "no length after the colon": (
        b"Content-Length:\n\nContent-Length: 2\r\n\r\n[]",
        [b"Content-Length:", b"[]"],
    ),
    "below zero": (
        b"Content-Length: -2\r\n\r\n{}\nContent-Length: 2\n\n[]",
        [b"Content-Length: -2", b"{}", b"[]"],
    ),
    "with a sign": (
        b"Content-Length: +2\r\n\r\n{}\nContent-Length: 2\n\n[]",
        [b"Content-Length: +2", b"{}", b"[]"],
    ),
    "a fraction": (
        b"Content-Length: 2.0\n\n{}\nContent-Length: 2\n\n[]",
        [b"Content-Length: 2.0", b"{}", b"[]"],
    ),
    "no number and then one": (
        b"Content-Length: two\r\nContent-Length: 2\r\n\r\n{}",
        [b"Content-Length: two", b"{}"],
    ),
    "a name too long for a header": (
        b"a" * 9000 + b": 1\nContent-Length: 2\r\n\r\n{}",
        [b"a" * 9000 + b": 1", b"{}"],
    ),
    "a stray print": (b"Loading model...\nContent-Length: 2\r\n\r\n{}", [b"Loading model...", b"{}"]),
    "a stray print within the headers": (b"Content-Length: 2\r\noh no\r\n\r\n{}", [b"oh no", b"{}"]),
    "a line instead of a frame": (b'{"a":1}\nContent-Length: 2\r\n\r\n{}', [b'{"a":1}', b"{}"]),
    "no blank line before the body": (
        b"Content-Length: 3\r\n[1]\r\nContent-Length: 2\r\n\r\n{}",
        [b"[1]", b"{}"],
    ),
    "headers without a length": (
        b"Content-Type: text/x\r\nX-Y: 1\r\n\r\nContent-Length: 2\r\n\r\n{}",
        [b"Content-Type: text/x\nX-Y: 1", b"{}"],
    ),
    "a name without end": (b"a" * 20_000 + b"\nContent-Length: 2\r\n\r\n{}", [b"a" * 20_000, b"{}"]),
    "a large body in header position": (
        b"{" * 100_000 + b"Content-Length: 2\r\n\r\n{}",
        [b"{" * 100_000, b"{}"],
    ),
}

CASES = GOOD | BROKEN


def read(reader: Reader, stream: bytes, piece_bytes: int) -> list[bytes]:
    return [text for at in range(0, len(stream), piece_bytes) for text in reader.feed(stream[at : at + piece_bytes])]


@rows("piece_bytes", PIECES)
@rows("case", CASES)
def test_frames_become_texts_however_they_are_cut(case: str, piece_bytes: int) -> None:
    stream, texts = CASES[case]
    reader = HeaderReader()
    assert read(reader, stream, piece_bytes) == texts
    assert reader.pending_bytes == 0
    assert reader.finish() == []
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows("case", CASES)
def test_the_next_frame_is_read_after_every_case(case: str, piece_bytes: int) -> None:
    stream, texts = CASES[case]
    tail = frame_headers(b'{"next":1}')
    assert read(HeaderReader(), stream + tail, piece_bytes) == [*texts, b'{"next":1}']


@rows("piece_bytes", PIECES)
@rows(
    ("rest", "texts"),
    [
        (b"Content-Length: 9\r\n\r\n[1,", [b"[1,"]),
        (b"Content-Length: 9\r\n\r\n", [b"Content-Length: 9"]),
        (b"Content-Length: 9\r\n", [b"Content-Length: 9"]),
        (b"Content-Type: x\r\nContent-Len", [b"Content-Type: x\nContent-Len"]),
        (b"{}", [b"{}"]),
        (b"{}\r", [b"{}"]),
        (b"\r", []),
    ],
)
def test_an_unfinished_frame_is_delivered_as_far_as_it_came(rest: bytes, texts: list[bytes], piece_bytes: int) -> None:
    reader = HeaderReader()
    assert read(reader, frame_headers(b"1") + rest, piece_bytes) == [b"1"]
    assert reader.pending_bytes > 0
    assert reader.finish() == texts
    assert reader.pending_bytes == 0
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows("size", [9, 10])
def test_a_body_up_to_the_limit_is_read(size: int, piece_bytes: int) -> None:
    reader = HeaderReader(10)
    assert read(reader, frame_headers(b"x" * size) * 2, piece_bytes) == [b"x" * size] * 2
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows("length", [b"11", b"99999999999999999999999", b"9" * 5000])
def test_a_length_over_the_limit_is_a_fault_before_any_of_the_body_came(length: bytes, piece_bytes: int) -> None:
    reader = HeaderReader(10)
    stream = frame_headers(b"1") + b"Content-Length: " + length + b"\r\n"
    assert read(reader, stream, piece_bytes) == [b"1"]
    assert isinstance(reader.fault, FrameError)
    assert reader.fault.limit_bytes == 10
    assert reader.pending_bytes == 0
    assert reader.feed(frame_headers(b"2")) == []
    assert reader.finish() == []


@rows("piece_bytes", PIECES)
@rows("line_end", [b"\n", b"\r\n", b"Content-Length: 1\r\n\r\n1"])
@rows(("size", "readable"), [(9, True), (10, True), (11, False), (20_000, False)])
def test_bytes_in_header_position_meet_the_limit_of_texts(
    size: int, line_end: bytes, piece_bytes: int, *, readable: bool
) -> None:
    reader = HeaderReader(10)
    texts = read(reader, b"{" * size + line_end, piece_bytes)
    assert texts[:1] == ([b"{" * size] if readable else [])
    assert (reader.fault is None) == readable
    assert reader.pending_bytes == 0


def test_bytes_in_header_position_without_end_are_not_held_for_ever() -> None:
    reader = HeaderReader(10)
    assert reader.feed(b"{" * (10 + MAX_HEADER_BYTES)) == []
    assert reader.fault is None
    assert reader.feed(b"{") == []
    assert reader.fault is not None
    assert reader.pending_bytes == 0


def test_an_unfinished_line_over_the_limit_is_a_fault_when_the_stream_ends() -> None:
    reader = HeaderReader(10)
    assert reader.feed(b"{" * 11) == []
    assert reader.finish() == []
    assert reader.fault is not None


@rows("piece_bytes", PIECES)
@rows(("excess", "readable"), [(-1, True), (0, True), (1, False)])
@rows("start", [b"X-A: ", b"X-A: 1\r\nX-B: "])
def test_a_block_of_headers_has_a_limit_of_its_own(
    start: bytes, excess: int, piece_bytes: int, *, readable: bool
) -> None:
    length = b"Content-Length: 2"
    filler = MAX_HEADER_BYTES + excess - len(length) - len(start.replace(b"\r\n", b""))
    reader = HeaderReader()
    stream = start + b"x" * filler + b"\n" + length + b"\n\n{}"
    assert read(reader, stream, piece_bytes) == ([b"{}"] if readable else [])
    assert (reader.fault is None) == readable


def test_a_header_without_end_is_a_fault() -> None:
    reader = HeaderReader()
    assert reader.feed(b"X-A:" + b"x" * (MAX_HEADER_BYTES - 4)) == []
    assert reader.fault is None
    assert reader.feed(b"x") == []
    assert reader.fault is not None
    assert reader.fault.limit_bytes == MAX_HEADER_BYTES


@given(
    texts=st.lists(st.binary(min_size=1).filter(lambda raw: not raw.isspace() and raw != b"\xef\xbb\xbf")),
    cuts=st.lists(st.integers(min_value=1, max_value=40), min_size=1),
)
def test_what_was_framed_is_read_back_for_any_cuts(texts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frame_headers(text) for text in texts)
    reader = HeaderReader()
    received: list[bytes] = []
    turn = 0
    while stream:
        size = cuts[turn % len(cuts)]
        received += reader.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    assert received == texts


fragments = st.sampled_from(
    [
        b"Content-Length: ",
        b"content-length:",
        b"3",
        b"12",
        b"-1",
        b"\r\n",
        b"\n",
        b"\r\n\r\n",
        b"{}",
        b"x",
        b" ",
        b":",
    ]
)


@given(parts=st.lists(fragments, max_size=30), piece_bytes=st.integers(1, 20))
def test_the_cuts_never_change_what_is_read(parts: list[bytes], piece_bytes: int) -> None:
    stream = b"".join(parts)
    whole, cut = HeaderReader(20), HeaderReader(20)
    assert whole.feed(stream) == read(cut, stream, piece_bytes)
    assert (whole.fault is None) == (cut.fault is None)
    assert whole.pending_bytes == cut.pending_bytes
    assert whole.finish() == cut.finish()


@given(first=st.integers(0, 60), piece_bytes=st.integers(1, 20))
def test_a_wrong_length_costs_only_its_neighbours(first: int, piece_bytes: int) -> None:
    body = b'{"jsonrpc":"2.0","id":1}'
    stream = b"Content-Length: %d\r\n\r\n%b" % (first, body) + b"\r\n".join(frame_headers(body) for _ in range(4))
    texts = read(HeaderReader(), stream, piece_bytes)
    assert texts[-2:] == [body, body]


def seconds_for(stream: bytes, piece_bytes: int) -> float:
    pieces = [stream[at : at + piece_bytes] for at in range(0, len(stream), piece_bytes)]
    reader = HeaderReader()
    started = time.process_time()
    texts = [text for piece in pieces for text in reader.feed(piece)]
    spent = time.process_time() - started
    assert len(texts) == 1
    return spent


@pytest.mark.parametrize(("piece_bytes", "large_bytes"), [(4096, 20_000_000), (64, 4_000_000)])
@pytest.mark.parametrize("place", ["body", "header position"])
def test_a_long_text_in_small_pieces_costs_time_in_proportion(place: str, piece_bytes: int, large_bytes: int) -> None:
    def stream(size_bytes: int) -> bytes:
        body = b"{" * size_bytes
        return frame_headers(body) if place == "body" else body + b"\n"

    small = min(seconds_for(stream(large_bytes // 5), piece_bytes) for _ in range(3))
    large = min(seconds_for(stream(large_bytes), piece_bytes) for _ in range(2))
    assert large < 15 * small + 0.5
