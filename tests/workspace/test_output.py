"""The last bytes of a stream, whatever pieces it came in and wherever it was cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.workspace.output import CommandOutput, Tail
from tests.tables import rows


def tail_of(data: bytes, max_bytes: int, piece_bytes: int = 1) -> Tail:
    tail = Tail(max_bytes)
    for place in range(0, len(data), piece_bytes):
        tail.feed(data[place : place + piece_bytes])
    return tail


@rows(
    ("text", "max_bytes", "expected"),
    [
        ("", 0, CommandOutput("", truncated=False)),
        ("", 10, CommandOutput("", truncated=False)),
        ("abc", 3, CommandOutput("abc", truncated=False)),
        ("abcd", 3, CommandOutput("bcd", truncated=True)),
        ("abc", 0, CommandOutput("", truncated=True)),
        ("éa", 3, CommandOutput("éa", truncated=False)),
        ("éa", 2, CommandOutput("a", truncated=True)),
        ("😀a", 4, CommandOutput("a", truncated=True)),
        ("😀a", 2, CommandOutput("a", truncated=True)),
        ("a😀", 4, CommandOutput("😀", truncated=True)),
        ("a😀", 3, CommandOutput("", truncated=True)),
        ("a😀", 1, CommandOutput("", truncated=True)),
        ("漢字漢字", 7, CommandOutput("漢字", truncated=True)),
    ],
)
@rows("piece_bytes", [1, 2, 3, 1000])
def test_the_beginning_is_dropped_at_a_character(
    text: str, max_bytes: int, expected: CommandOutput, piece_bytes: int
) -> None:
    assert tail_of(text.encode(), max_bytes, piece_bytes).output(ended=True) == expected


def test_a_cut_in_one_piece_is_mended_by_the_next() -> None:
    tail = Tail(2)
    tail.feed("😀".encode()[:3])
    assert tail.output(ended=False) == CommandOutput("", truncated=True)
    tail.feed("😀".encode()[3:])
    assert tail.output(ended=False) == CommandOutput("", truncated=True)
    tail.feed(b"x")
    assert tail.output(ended=False) == CommandOutput("x", truncated=True)


def test_half_a_character_at_the_end_waits_for_its_other_half() -> None:
    tail = Tail(100)
    tail.feed("aé".encode()[:2])
    assert tail.output(ended=False) == CommandOutput("a", truncated=False)
    assert tail.output(ended=True).text == "a\N{REPLACEMENT CHARACTER}"
    tail.feed("é".encode()[1:])
    assert tail.output(ended=False).text == "aé"


def test_looking_takes_nothing_away() -> None:
    tail = tail_of(b"\x80" * 1000, 50, 100)
    first = tail.data()
    for _ in range(30):
        tail.output(ended=True)
        assert tail.data() == first
    assert len(first) == 47


def test_what_is_no_text_is_replaced_and_still_within_the_limit() -> None:
    output = tail_of(b"\xff" * 90, 90).output(ended=True)
    assert output.truncated
    assert output.text == "\N{REPLACEMENT CHARACTER}" * 30
    assert tail_of(b"\xff" * 90, 90).data() == b"\xff" * 90


@given(
    data=st.one_of(st.binary(max_size=200), st.text(max_size=80).map(str.encode)),
    max_bytes=st.integers(0, 120),
    piece_bytes=st.integers(1, 50),
    look=st.booleans(),
)
def test_the_tail_is_the_end_of_the_stream_within_the_limit(
    data: bytes, max_bytes: int, piece_bytes: int, *, look: bool
) -> None:
    tail = Tail(max_bytes)
    tail._slack_bytes = 10
    for place in range(0, len(data), piece_bytes):
        tail.feed(data[place : place + piece_bytes])
        if look:
            tail.output(ended=False)
    kept = tail.data()
    output = tail.output(ended=True)
    assert data.endswith(kept)
    assert len(kept) <= max_bytes
    # Slightly less may be kept, for the sake of a whole character, and looking early may cost as much again.
    assert len(kept) >= min(len(data), max_bytes) - 3
    assert len(output.text.encode()) <= max_bytes
    assert output.truncated or kept == data
    if is_text(data):
        assert data.decode().endswith(output.text)
        assert output.truncated == (len(data) > max_bytes)


def is_text(data: bytes) -> bool:
    return data.decode(errors="replace").encode() == data


def test_memory_stays_near_the_limit() -> None:
    tail = Tail(1000)
    for _ in range(10_000):
        tail.feed(b"x" * 100)
        assert len(tail._held) <= 1000 + tail._slack_bytes


def test_a_negative_limit_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="negative"):
        Tail(-1)
