"""Lines: every table case is fed whole, in small pieces, and with a next text behind it."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given, strategies as st

from accord.errors import FrameError, LocalProtocolError
from accord.wire import DEFAULT_MAX_BYTES, LineReader, Reader, frame, frame_line, reader_for
from tests.tables import rows

PIECES = [1, 2, 3, 5, 1 << 20]

CASES = {
    "one line": (b'{"a":1}\n', [b'{"a":1}']),
    "two lines": (b"1\n2\n", [b"1", b"2"]),
    "CRLF": (b"1\r\n2\r\n", [b"1", b"2"]),
    "CRLF and LF mixed": (b"1\r\n2\n3\r\n", [b"1", b"2", b"3"]),
    "only the CR next to the LF is the line's end": (b"1\r\r\n", [b"1\r"]),
    "a CR inside a line stays": (b"1\r2\n", [b"1\r2"]),
    "blank lines are skipped": (b"\n\r\n \t\n1\n\n\n2\n", [b"1", b"2"]),
    "white space around a text stays": (b" 1 \n", [b" 1 "]),
    "a mark before the first text": (b"\xef\xbb\xbf1\n2\n", [b"1", b"2"]),
    "a mark and nothing else": (b"\xef\xbb\xbf\n", []),
    "a mark later on stays": (b"1\n\xef\xbb\xbf2\n", [b"1", b"\xef\xbb\xbf2"]),
    "half a mark is no mark": (b"\xef\xbb1\n", [b"\xef\xbb1"]),
    "bytes that are no UTF-8": (b'"\xff\xfe\xc3\x28\x00"\n', [b'"\xff\xfe\xc3\x28\x00"']),
    "no JSON at all": (b"Loading model...\n", [b"Loading model..."]),
}


def read(reader: Reader, stream: bytes, piece_bytes: int) -> list[bytes]:
    return [text for at in range(0, len(stream), piece_bytes) for text in reader.feed(stream[at : at + piece_bytes])]


@rows("piece_bytes", PIECES)
@rows("case", CASES)
def test_lines_become_texts_however_they_are_cut(case: str, piece_bytes: int) -> None:
    stream, texts = CASES[case]
    reader = LineReader()
    assert read(reader, stream, piece_bytes) == texts
    assert reader.pending_bytes == 0
    assert reader.finish() == []
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows("case", CASES)
def test_the_next_text_is_read_after_every_case(case: str, piece_bytes: int) -> None:
    stream, texts = CASES[case]
    assert read(LineReader(), stream + b'{"next":1}\n', piece_bytes) == [*texts, b'{"next":1}']


@rows("piece_bytes", PIECES)
@rows(
    ("rest", "texts"),
    [
        (b"", []),
        (b'{"a":', [b'{"a":']),
        (b"1\r", [b"1"]),
        (b"\r", []),
        (b" \t", []),
        (b"\xff", [b"\xff"]),
    ],
)
def test_an_unfinished_last_line_is_delivered_when_the_stream_ends(
    rest: bytes, texts: list[bytes], piece_bytes: int
) -> None:
    reader = LineReader()
    assert read(reader, b"first\n" + rest, piece_bytes) == [b"first"]
    assert reader.pending_bytes == len(rest)
    assert reader.finish() == texts
    assert reader.pending_bytes == 0


def test_a_stream_that_ends_within_the_mark_loses_nothing() -> None:
    reader = LineReader()
    assert reader.feed(b"\xef\xbb") == []
    assert reader.pending_bytes == 2
    assert reader.finish() == [b"\xef\xbb"]


def test_an_empty_piece_changes_nothing() -> None:
    reader = LineReader()
    assert reader.feed(b"") == []
    assert reader.feed(b"\xef\xbb") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"\xbf1") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"\n") == [b"1"]


@rows("piece_bytes", PIECES)
@rows("mark", [b"", b"\xef\xbb\xbf"])
@rows("line_end", [b"\n", b"\r\n"])
@rows("size", [9, 10])
def test_a_text_up_to_the_limit_is_read(size: int, line_end: bytes, mark: bytes, piece_bytes: int) -> None:
    reader = LineReader(10)
    assert read(reader, mark + (b"x" * size + line_end) * 2, piece_bytes) == [b"x" * size] * 2
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows("line_end", [b"\n", b"\r\n"])
@rows("size", [11, 12, 100])
def test_a_text_over_the_limit_is_a_fault_and_the_texts_before_it_are_read(
    size: int, line_end: bytes, piece_bytes: int
) -> None:
    reader = LineReader(10)
    assert read(reader, b"1\n2\n" + b"x" * size + line_end + b"3\n", piece_bytes) == [b"1", b"2"]
    assert isinstance(reader.fault, FrameError)
    assert reader.fault.limit_bytes == 10
    assert reader.pending_bytes == 0
    assert reader.feed(b"4\n") == []
    assert reader.finish() == []


def test_the_limit_is_met_before_the_line_ends() -> None:
    reader = LineReader(10)
    assert reader.feed(b"x" * 10) == []
    assert reader.fault is None
    assert reader.feed(b"x") == []
    assert reader.fault is not None


def test_an_unfinished_line_behind_complete_ones_meets_the_limit_too() -> None:
    reader = LineReader(10)
    assert reader.feed(b"1\n" + b"x" * 11) == [b"1"]
    assert reader.fault is not None


def test_a_carriage_return_over_the_limit_may_still_be_the_end_of_the_line() -> None:
    reader = LineReader(10)
    assert reader.feed(b"x" * 10 + b"\r") == []
    assert reader.feed(b"") == []
    assert reader.fault is None
    assert reader.feed(b"\n") == [b"x" * 10]
    assert reader.feed(b"x" * 10 + b"\r") == []
    assert reader.feed(b"x") == []
    assert reader.fault is not None


def test_a_large_piece_of_small_lines_is_within_the_limit() -> None:
    reader = LineReader(10)
    assert reader.feed(b"12345\n" * 10) == [b"12345"] * 10
    assert reader.fault is None


@given(
    texts=st.lists(st.binary(min_size=1).map(lambda raw: b'"' + raw.replace(b"\n", b"") + b'"')),
    cuts=st.lists(st.integers(min_value=1, max_value=9), min_size=1),
)
def test_what_was_framed_is_read_back_for_any_cuts(texts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frame_line(text) for text in texts)
    reader = LineReader()
    received: list[bytes] = []
    turn = 0
    while stream:
        size = cuts[turn % len(cuts)]
        received += reader.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    assert received == texts


@given(stream=st.text(alphabet="a\n\r \ufeff").map(str.encode), piece_bytes=st.integers(1, 8))
def test_the_cuts_never_change_what_is_read(stream: bytes, piece_bytes: int) -> None:
    whole, cut = LineReader(4), LineReader(4)
    assert whole.feed(stream) == read(cut, stream, piece_bytes)
    assert (whole.fault is None) == (cut.fault is None)
    assert whole.finish() == cut.finish()


def seconds_for(size_bytes: int, piece_bytes: int) -> float:
    reader = LineReader()
    piece = b"x" * piece_bytes
    started = time.process_time()
    for _ in range(size_bytes // piece_bytes):
        reader.feed(piece)
    texts = reader.feed(b"\n")
    spent = time.process_time() - started
    assert [len(text) for text in texts] == [size_bytes // piece_bytes * piece_bytes]
    return spent


@pytest.mark.parametrize(("piece_bytes", "large_bytes"), [(4096, 50_000_000), (64, 20_000_000)])
def test_a_long_line_in_small_pieces_costs_time_in_proportion(piece_bytes: int, large_bytes: int) -> None:
    small = min(seconds_for(large_bytes // 5, piece_bytes) for _ in range(3))
    large = min(seconds_for(large_bytes, piece_bytes) for _ in range(2))
    assert large < 15 * small + 0.5  # a reader that copies what it holds for every piece needs minutes


def test_a_long_line_is_held_once() -> None:
    reader, piece, count = LineReader(), b"x" * 65536, 128
    tracemalloc.start()
    try:
        for _ in range(count):
            reader.feed(piece)
        texts = reader.feed(b"\n")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert texts == [piece * count]
    assert peak_bytes < 1.5 * count * len(piece)


def test_a_text_with_a_newline_is_refused_before_it_is_sent() -> None:
    with pytest.raises(LocalProtocolError):
        frame_line(b'{"a":\n1}')


def test_a_reader_is_made_for_its_framing() -> None:
    assert reader_for("lines").framing == "lines"
    assert reader_for("headers").framing == "headers"
    assert reader_for("auto", 5).framing is None
    assert DEFAULT_MAX_BYTES == 64 * 1024 * 1024


def test_a_text_is_framed_in_lines_unless_headers_are_spoken() -> None:
    assert frame(b"1", "lines") == b"1\n"
    assert frame(b"1", "auto") == b"1\n"
    assert frame(b"1", "headers") == b"Content-Length: 1\r\n\r\n1"
