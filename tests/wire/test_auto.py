"""Recognising the framing: from the first bytes, however they are cut, and never by mistake from a banner."""

from __future__ import annotations

import time
from typing import Literal

import pytest
from hypothesis import given, strategies as st

from accord.wire import AutoReader, Framing, HeaderReader, LineReader, Reader, frame
from accord.wire.headers import MAX_HEADER_BYTES
from tests.limits import limit
from tests.tables import rows

PIECES = [1, 2, 3, 7, 1 << 20]

CASES: dict[str, tuple[bytes, list[bytes], Literal["lines", "headers"] | None]] = {
    "an object on a line": (b'{"a":1}\n', [b'{"a":1}'], "lines"),
    "an array on a line": (b"[1]\n[2]\n", [b"[1]", b"[2]"], "lines"),
    "CRLF lines": (b"[1]\r\n[2]\r\n", [b"[1]", b"[2]"], "lines"),
    "blank lines first": (b"\r\n\n \t\n{}\n", [b"{}"], "lines"),
    "an indented object": (b"  {}\n", [b"  {}"], "lines"),
    "a mark and an object": (b"\xef\xbb\xbf{}\n", [b"{}"], "lines"),
    "a frame": (b"Content-Length: 2\r\n\r\n{}", [b"{}"], "headers"),
    "a frame in any case": (b"cOnTeNt-LeNgTh:2\n\n{}", [b"{}"], "headers"),
    "a frame with its type first": (b"Content-Type: x\r\nContent-Length: 2\r\n\r\n{}", [b"{}"], "headers"),
    "a space before the colon": (b"Content-Length : 2\r\n\r\n{}", [b"{}"], "headers"),
    "blank lines and a frame": (b"\r\n\nContent-Length: 2\r\n\r\n{}", [b"{}"], "headers"),
    "a mark and a frame": (b"\xef\xbb\xbfContent-Length: 2\r\n\r\n{}", [b"{}"], "headers"),
    "a banner": (b"Welcome!\n", [b"Welcome!"], None),
    "a banner with CRLF": (b"Welcome!\r\n", [b"Welcome!"], None),
    "a banner and lines": (b"Welcome!\nversion 2\n{}\n", [b"Welcome!", b"version 2", b"{}"], "lines"),
    "a banner and a frame": (b"Hi\nContent-Length: 2\r\n\r\n{}", [b"Hi", b"{}"], "headers"),
    "a frame with a header of its own first": (b"X-Trace: 7\r\nContent-Length: 2\r\n\r\n{}", [b"{}"], "headers"),
    "a frame with its type last": (b"Content-Length: 2\r\nContent-Type: x\r\n\r\n{}", [b"{}"], "headers"),
    "a frame whose length is no number": (b"Content-Length: two\n\n", [b"Content-Length: two"], "headers"),
    "a mark, a header of its own and a frame": (
        b"\xef\xbb\xbfX-Trace: 7\nContent-Length: 2\n\n{}",
        [b"{}"],
        "headers",
    ),
    "banners that look like headers": (b"Model: a\nCost: 1\n{}\n", [b"Model: a", b"Cost: 1", b"{}"], "lines"),
    "a banner that looks like a header, and another": (b"Model: a\nready\n", [b"Model: a", b"ready"], None),
    "a banner that looks like a header, and nothing": (b"Model: a\n\n", [b"Model: a"], None),
    "a banner with more than the headers of a frame": (
        b"Model: " + b"a" * MAX_HEADER_BYTES + b"\nContent-Length: 2\n\n{}",
        [b"Model: " + b"a" * MAX_HEADER_BYTES, b"{}"],
        "headers",
    ),
    "a banner that begins like a header": (b"Content-Lost: 1\n{}\n", [b"Content-Lost: 1", b"{}"], "lines"),
    "a banner that is nearly a header": (b"Content-Length\n{}\n", [b"Content-Length", b"{}"], "lines"),
    "a banner that speaks of a header": (b"no Content-Length: 5\n", [b"no Content-Length: 5"], None),
    "a banner with an object in it": (b"got {}\n", [b"got {}"], None),
    "a long banner": (b"=" * 500 + b"\n{}\n", [b"=" * 500, b"{}"], "lines"),
    "a line that opens with nothing for long": (b" " * 64 + b"{}\n", [b" " * 64 + b"{}"], None),
    "a banner that is no UTF-8": (b"\xff\xfe\n\xef\xbb\n{}\n", [b"\xff\xfe", b"\xef\xbb", b"{}"], "lines"),
    "a frame among lines is no frame": (
        b"{}\nContent-Length: 2\n[]\n",
        [b"{}", b"Content-Length: 2", b"[]"],
        "lines",
    ),
}


def read(reader: Reader, stream: bytes, piece_bytes: int) -> list[bytes]:
    return [text for at in range(0, len(stream), piece_bytes) for text in reader.feed(stream[at : at + piece_bytes])]


@rows("piece_bytes", PIECES)
@rows("case", CASES)
def test_the_framing_is_recognised_however_the_stream_is_cut(case: str, piece_bytes: int) -> None:
    stream, texts, framing = CASES[case]
    reader = AutoReader()
    assert read(reader, stream, piece_bytes) == texts
    assert reader.framing == framing
    assert reader.pending_bytes == 0
    assert reader.finish() == []
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows("tail_framing", ["lines", "headers"])
@rows("case", CASES)
def test_the_next_text_is_read_after_every_case(
    case: str, tail_framing: Literal["lines", "headers"], piece_bytes: int
) -> None:
    stream, texts, framing = CASES[case]
    reader = AutoReader()
    tail = frame(b'{"next":1}', framing or tail_framing)
    assert read(reader, stream + tail, piece_bytes) == [*texts, b'{"next":1}']
    assert reader.framing == (framing or tail_framing)


@rows("opening", [b"{", b"[", b" {", b"\xef\xbb\xbf{", b"\n\n["])
def test_lines_are_recognised_by_their_first_byte(opening: bytes) -> None:
    reader = AutoReader()
    assert read(reader, opening, 1) == []
    assert reader.framing == "lines"
    assert reader.pending_bytes == len(opening.strip(b"\n").removeprefix(b"\xef\xbb\xbf"))


def test_headers_are_recognised_by_their_colon() -> None:
    reader = AutoReader()
    assert reader.feed(b"content-length ") == []
    assert reader.framing is None
    assert reader.pending_bytes == 15
    assert reader.feed(b":") == []
    assert reader.framing == "headers"
    assert reader.pending_bytes == 16


@rows("piece_bytes", PIECES)
@rows(
    ("stream", "texts"),
    [
        (b"", []),
        (b"Content-Le", [b"Content-Le"]),
        (b"\xef\xbb", [b"\xef\xbb"]),
        (b"\xef\xbb\xbf", []),
        (b"Welc", [b"Welc"]),
        (b"Model: a", [b"Model: a"]),
        (b"Model: a\nCost: 1\r\n", [b"Model: a", b"Cost: 1"]),
        (b" \r", []),
        (b'{"a"', [b'{"a"']),
        (b"Content-Length: 5\r\n\r\n[1", [b"[1"]),
    ],
)
def test_an_unfinished_text_is_delivered_when_the_stream_ends(
    stream: bytes, texts: list[bytes], piece_bytes: int
) -> None:
    reader = AutoReader()
    assert read(reader, stream, piece_bytes) == []
    assert reader.finish() == texts
    assert reader.pending_bytes == 0


@rows("piece_bytes", PIECES)
@rows("framing", ["lines", "headers"])
@rows(("size", "readable"), [(99, True), (100, True), (101, False)])
def test_the_limit_holds_in_either_framing(size: int, framing: Framing, piece_bytes: int, *, readable: bool) -> None:
    reader = AutoReader(100)
    text = b"[" * size
    stream = frame(b"[]", framing) + frame(text, framing) + frame(b"[]", framing)
    assert read(reader, bytes(stream), piece_bytes) == ([b"[]", text, b"[]"] if readable else [b"[]"])
    assert (reader.fault is None) == readable


@rows("piece_bytes", PIECES)
@rows(("size", "readable"), [(99, True), (100, True), (101, False)])
def test_the_limit_holds_for_a_banner(size: int, piece_bytes: int, *, readable: bool) -> None:
    reader = AutoReader(100)
    banner = b"=" * size
    assert read(reader, b"Hi\n" + banner + b"\n{}\n", piece_bytes) == ([b"Hi", banner, b"{}"] if readable else [b"Hi"])
    assert (reader.fault is None) == readable
    assert reader.feed(b"Hi\n") == ([b"Hi"] if readable else [])


def test_a_banner_over_the_limit_is_the_end_whatever_comes_after_it() -> None:
    reader = AutoReader(100)
    frames = b"\nContent-Length: 2\r\n\r\n{}"
    assert reader.feed(b"=" * 101 + frames) == []
    assert reader.feed(frames) == []
    assert reader.fault is not None
    assert reader.framing is None
    assert reader.finish() == []


@given(
    texts=st.lists(st.binary(max_size=90).map(lambda raw: b"{" + raw.replace(b"\n", b"") + b"}"), min_size=1),
    framing=st.sampled_from(["lines", "headers"]),
    cuts=st.lists(st.integers(min_value=1, max_value=40), min_size=1),
)
def test_it_reads_what_the_reader_of_that_framing_reads(
    texts: list[bytes], framing: Literal["lines", "headers"], cuts: list[int]
) -> None:
    stream = b"".join(frame(text, framing) for text in texts)
    auto = AutoReader()
    known: Reader = LineReader() if framing == "lines" else HeaderReader()
    received: list[bytes] = []
    turn = 0
    while stream:
        size = cuts[turn % len(cuts)]
        texts_now = auto.feed(stream[:size])
        assert texts_now == known.feed(stream[:size])
        received += texts_now
        stream, turn = stream[size:], turn + 1
    assert received == texts
    assert auto.framing == framing


@rows("piece_bytes", PIECES)
@rows(
    ("stream", "framing"),
    [(b"Hi\n[1]\n[2]\n", "lines"), (b"Hi\nX-Y: 1\nContent-Length: 3\n\n[1]Content-Length: 3\n\n[2]", "headers")],
)
def test_the_reader_that_is_recognised_takes_over_where_it_is_told(
    stream: bytes, framing: str, piece_bytes: int
) -> None:
    readers: list[Reader] = []
    readers.append(AutoReader(on_recognised=readers.append))
    texts: list[bytes] = []
    for at in range(0, len(stream), piece_bytes):
        texts += readers[-1].feed(stream[at : at + piece_bytes])
    assert texts == [b"Hi", b"[1]", b"[2]"]
    assert [type(reader) for reader in readers[1:]] == [LineReader if framing == "lines" else HeaderReader]
    assert readers[-1].pending_bytes == 0


fragments = st.sampled_from(
    [b"Content-Length", b"Model", b":", b" 2", b"\r\n", b"\n", b"{}", b"x", b" ", b"\xef\xbb\xbf"]
)


@given(parts=st.lists(fragments, max_size=30), piece_bytes=st.integers(1, 20))
def test_the_cuts_never_change_what_is_read(parts: list[bytes], piece_bytes: int) -> None:
    stream = b"".join(parts)
    whole, cut = AutoReader(30), AutoReader(30)
    assert whole.feed(stream) == read(cut, stream, piece_bytes)
    assert whole.framing == cut.framing
    assert (whole.fault is None) == (cut.fault is None)
    assert whole.finish() == cut.finish()


def test_header_lines_that_come_byte_by_byte_are_looked_at_once() -> None:
    reader = AutoReader()
    lines = b"a:\n" * (MAX_HEADER_BYTES // 3)
    started = time.process_time()
    assert read(reader, lines, 1) == []
    assert time.process_time() - started < limit(2), "every line again for every byte would take many seconds"
    assert reader.pending_bytes == len(lines)
    assert len(read(reader, b"a:\n{}\n", 1)) == MAX_HEADER_BYTES // 3 + 2


@pytest.mark.parametrize("filler", [b" ", b"=", b"a"])
def test_a_long_banner_in_small_pieces_costs_time_in_proportion(filler: bytes) -> None:
    def seconds_for(size_bytes: int) -> float:
        reader = AutoReader()
        piece = filler * 64
        started = time.process_time()
        for _ in range(size_bytes // 64):
            reader.feed(piece)
        spent = time.process_time() - started
        assert reader.pending_bytes == size_bytes
        return spent

    small = min(seconds_for(800_000) for _ in range(3))
    large = min(seconds_for(4_000_000) for _ in range(2))
    assert large < 15 * small + 0.5
