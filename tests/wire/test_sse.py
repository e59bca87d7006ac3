"""Server-sent events: the standard's own examples first, then every cut, every line end and every limit."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from accord.errors import FrameError, LocalProtocolError
from accord.wire.sse import KEEPALIVE, SseEvent, SseReader, serialize_event, serialize_id
from tests.tables import rows

PIECES = [1, 2, 3, 7, 1 << 20]


def event(data: str | bytes, *, name: str = "message", last_id: str = "", retry: int | None = None) -> SseEvent:
    return SseEvent(name, data if isinstance(data, bytes) else data.encode(), last_id, retry)


CASES = {
    "data over several lines": (b"data: YHOO\ndata: +2\ndata: 10\n\n", [event("YHOO\n+2\n10")]),
    "ids that stay and one that is taken back": (
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        [event("first event", last_id="1"), event("second event"), event(" third event")],
    ),
    "data without a value": (b"data\n\ndata\ndata\n\n", [event(""), event("\n")]),
    "one space after the colon is no matter": (
        b"data:test\n\ndata: test\n\n",
        [event("test"), event("test")],
    ),
    "an id stays for later events": (
        b"id: 7\ndata: a\n\ndata: b\n\n",
        [event("a", last_id="7"), event("b", last_id="7")],
    ),
    "an id without data stays too": (b"id: 7\n\ndata: b\n\n", [event("b", last_id="7")]),
    "an id with NUL is ignored": (b"id: 7\nid: 8\x009\ndata: b\n\n", [event("b", last_id="7")]),
    "a named event": (b"event: add\ndata: 1\n\ndata: 2\n\n", [event("1", name="add"), event("2")]),
    "a name without data is forgotten": (b"event: add\n\ndata: 2\n\n", [event("2")]),
    "retry": (b"retry: 250\ndata: 1\n\ndata: 2\n\n", [event("1", retry=250), event("2")]),
    "retry that is no number": (b"retry: 2s\nretry: -1\nretry:\ndata: 1\n\n", [event("1")]),
    "retry beyond all reason": (b"retry: " + b"9" * 5000 + b"\ndata: 1\n\n", [event("1")]),
    "comments and unknown fields": (
        b":\n: data: x\nDATA: x\nfoo: x\nfoo\ndata: 1\n:\ndata: 2\n\n",
        [event("1\n2")],
    ),
    "a colon in the data": (b"data: a: b\n\n", [event("a: b")]),
    "CR": (b"data: 1\rdata: 2\r\rdata: 3\r\r", [event("1\n2"), event("3")]),
    "CRLF": (b"data: 1\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n", [event("1\n2"), event("3")]),
    "every line end mixed": (
        b"data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\r\n\rdata: 5\n\n",
        [event("1\n2\n3"), event("4"), event("5")],
    ),
    "a mark at the start": (b"\xef\xbb\xbfdata: 1\n\n", [event("1")]),
    "a mark later on is part of a name": (b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", [event("1")]),
    "half a mark": (b"\xef\xbbdata: 1\n\ndata: 2\n\n", [event("2")]),
    "invalid UTF-8 is kept": (b"data: \xff\xe2\x82\n\n", [event(b"\xff\xe2\x82")]),
    "characters of several bytes": ("data: 😀\nid: é\n\n".encode(), [event("😀", last_id="é")]),
    "other line separators are data": (
        "data: a\u2028b\x0bc\x85d\n\n".encode(),
        [event("a\u2028b\x0bc\x85d")],
    ),
    "blank lines only": (b"\n\r\n\r\n\n", []),
    "keep-alives": (KEEPALIVE * 3 + b"data: 1\n\n" + KEEPALIVE, [event("1")]),
}


def read(reader: SseReader, stream: bytes, piece_bytes: int) -> list[SseEvent]:
    return [
        received for at in range(0, len(stream), piece_bytes) for received in reader.feed(stream[at : at + piece_bytes])
    ]


@rows("piece_bytes", PIECES)
@rows("case", CASES)
def test_the_stream_becomes_events_however_it_is_cut(case: str, piece_bytes: int) -> None:
    stream, events = CASES[case]
    reader = SseReader()
    assert read(reader, stream, piece_bytes) == events
    assert reader.pending_bytes == 0
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows("case", CASES)
def test_the_next_event_is_read_after_every_case(case: str, piece_bytes: int) -> None:
    stream, events = CASES[case]
    tail = serialize_event("next", event="tail", id="z", retry=5)
    assert read(SseReader(), stream + tail, piece_bytes) == [*events, SseEvent("tail", b"next", "z", 5)]


def test_an_event_is_dispatched_at_the_carriage_return_that_ends_it() -> None:
    reader = SseReader()
    assert reader.feed(b"data: 1\r\n\r") == [event("1")]
    assert reader.feed(b"") == []
    assert reader.feed(b"\ndata: 2\n") == []
    assert reader.feed(b"\n") == [event("2")]


def test_an_empty_piece_does_not_part_a_carriage_return_from_its_line_feed() -> None:
    reader = SseReader()
    assert reader.feed(b"data: 1\r") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"\ndata: 2\r\n\r\n") == [event("1\n2")]


def test_an_event_that_the_end_cuts_off_is_none() -> None:
    reader = SseReader()
    assert reader.feed(b"data: 1\ndata: 2") == []
    assert reader.pending_bytes == len(b"1\n") + len(b"data: 2")


def test_what_a_reader_that_comes_back_needs_is_kept() -> None:
    reader = SseReader()
    assert (reader.last_id, reader.retry) == ("", None)
    reader.feed(b"id: 3\nretry: 100\n")
    assert (reader.last_id, reader.retry) == ("", 100)
    reader.feed(b"\n")
    assert (reader.last_id, reader.retry) == ("3", 100)


@rows("piece_bytes", PIECES)
@rows("field", [b"data:", b"data: "])
@rows("size", [19, 20])
def test_data_up_to_the_limit_is_read(size: int, field: bytes, piece_bytes: int) -> None:
    reader = SseReader(20)
    assert read(reader, (field + b"x" * size + b"\n\n") * 2, piece_bytes) == [event("x" * size)] * 2
    assert reader.fault is None


@rows("piece_bytes", PIECES)
@rows(
    "block",
    [
        b"data:" + b"x" * 21,
        b"data: " + b"x" * 21,
        b"data: " + b"x" * 100,
        b"data: 0123456789\ndata: 0123456789",
        b"data\n" * 22,
        b": " + b"x" * 100,
        b"id: " + b"x" * 100,
    ],
)
def test_an_event_over_the_limit_is_a_fault_and_those_before_it_are_read(block: bytes, piece_bytes: int) -> None:
    reader = SseReader(20)
    assert read(reader, b"data: 1\n\n" + block + b"\n\ndata: 2\n\n", piece_bytes) == [event("1")]
    assert isinstance(reader.fault, FrameError)
    assert reader.fault.limit_bytes == 20
    assert reader.pending_bytes == 0
    assert reader.feed(b"data: 3\n\n") == []


def test_data_of_several_lines_fills_the_limit_exactly() -> None:
    reader = SseReader(20)
    assert reader.feed(b"data: 0123456789\ndata: 012345678\n\n") == [event("0123456789\n012345678")]
    assert reader.fault is None


def test_a_line_without_end_is_a_fault_together_with_the_data_before_it() -> None:
    reader = SseReader(20)
    assert reader.feed(b"data: 0123456789\ndata: 0123456789") == []
    assert reader.fault is not None


@given(
    data=st.text(),
    name=st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
    last_id=st.text(alphabet=st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])),
    retry=st.none() | st.integers(0, 10**9),
    piece_bytes=st.integers(1, 20),
)
def test_what_was_serialized_is_read_back_for_any_cuts(
    data: str, name: str, last_id: str, retry: int | None, piece_bytes: int
) -> None:
    stream = serialize_event(data, event=name, id=last_id, retry=retry)
    with_one_line_end = data.replace("\r\n", "\n").replace("\r", "\n")
    expected = SseEvent(name or "message", with_one_line_end.encode(), last_id, retry)
    assert read(SseReader(), stream, piece_bytes) == [expected]


@given(stream=st.text(alphabet="data: \r\nx\0").map(str.encode), piece_bytes=st.integers(1, 8))
def test_the_cuts_never_change_what_is_read(stream: bytes, piece_bytes: int) -> None:
    whole, cut = SseReader(), SseReader()
    assert whole.feed(stream) == read(cut, stream, piece_bytes)
    assert whole.pending_bytes == cut.pending_bytes


def test_an_event_is_written_with_only_the_fields_it_has() -> None:
    assert serialize_event(b"{}") == b"data: {}\n\n"
    assert serialize_event("a\nb\r\nc\rd") == b"data: a\ndata: b\ndata: c\ndata: d\n\n"
    assert serialize_event("", id="") == b"id: \ndata: \n\n"
    assert serialize_event("1", event="add", id="7", retry=0) == b"event: add\nid: 7\nretry: 0\ndata: 1\n\n"


@rows("piece_bytes", PIECES)
def test_an_id_can_be_given_before_the_first_event(piece_bytes: int) -> None:
    reader = SseReader()
    assert serialize_id("c.0", retry=5) == b"id: c.0\nretry: 5\n\n"
    assert read(reader, serialize_id("c.0", retry=5), piece_bytes) == []
    assert (reader.last_id, reader.retry) == ("c.0", 5)


def test_bytes_that_are_no_utf8_are_written_as_they_are() -> None:
    assert serialize_event(b"\xff") == b"data: \xff\n\n"


@rows("line_end", ["\n", "\r", "\r\n"])
def test_a_line_end_in_a_name_or_an_id_is_refused(line_end: str) -> None:
    with pytest.raises(LocalProtocolError) as name_refused:
        serialize_event("1", event=f"a{line_end}data: b")
    assert name_refused.value.field == "event"
    with pytest.raises(LocalProtocolError) as id_refused:
        serialize_event("1", id=f"a{line_end}data: b")
    assert id_refused.value.field == "id"


def test_what_no_reader_would_take_is_refused() -> None:
    with pytest.raises(LocalProtocolError) as id_refused:
        serialize_event("1", id="\0")
    assert id_refused.value.field == "id"
    with pytest.raises(LocalProtocolError) as retry_refused:
        serialize_event("1", retry=-1)
    assert retry_refused.value.field == "retry"
    with pytest.raises(LocalProtocolError) as data_refused:
        serialize_event("\ud800")
    assert data_refused.value.field == "data"


@pytest.mark.parametrize(("piece_bytes", "large_bytes"), [(4096, 25_000_000), (64, 2_500_000)])
def test_a_long_event_in_small_pieces_costs_time_in_proportion(piece_bytes: int, large_bytes: int) -> None:
    def seconds_for(size_bytes: int) -> float:
        reader = SseReader()
        piece = b"x" * piece_bytes
        started = time.process_time()
        reader.feed(b"data: ")
        for _ in range(size_bytes // piece_bytes):
            reader.feed(piece)
        events = reader.feed(b"\n\n")
        spent = time.process_time() - started
        assert len(events) == 1
        return spent

    small = min(seconds_for(large_bytes // 5) for _ in range(3))
    large = min(seconds_for(large_bytes) for _ in range(2))
    assert large < 15 * small + 0.5
