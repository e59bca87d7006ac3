"""Lines as they are asked for, in any pieces they come in."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.workspace.lines import LineSelection, line_end_of, select_lines, with_line_end
from tests.tables import rows

TEXT = "one\ntwo\r\n\nfour"

TABLE = [
    (None, None, TEXT),
    (0, None, TEXT),
    (1, None, TEXT),
    (2, None, "two\r\n\nfour"),
    (3, None, "\nfour"),
    (4, None, "four"),
    (5, None, ""),
    (1_000_000, None, ""),
    (None, 0, ""),
    (2, 0, ""),
    (None, 1, "one\n"),
    (0, 1, "one\n"),
    (1, 2, "one\ntwo\r\n"),
    (2, 1, "two\r\n"),
    (2, 2, "two\r\n\n"),
    (3, 1, "\n"),
    (4, 1, "four"),
    (4, 9, "four"),
    (None, 4, TEXT),
    (None, 2**32 - 1, TEXT),
    (5, 1, ""),
    (2**32 - 1, 2**32 - 1, ""),
]


@rows(("line", "limit", "expected"), TABLE)
def test_lines_are_counted_from_one_and_keep_their_ends(line: int | None, limit: int | None, expected: str) -> None:
    assert select_lines(TEXT, line, limit) == expected


@rows(("line", "limit", "expected"), TABLE)
def test_it_does_not_matter_in_which_pieces_they_come(line: int | None, limit: int | None, expected: str) -> None:
    selection = LineSelection(line, limit)
    for byte in TEXT.encode():
        selection.feed(bytes([byte]))
    assert selection.picked.decode() == expected


@given(
    text=st.text(alphabet="a\r\né", max_size=60),
    line=st.none() | st.integers(0, 12),
    limit=st.none() | st.integers(0, 12),
    size=st.integers(1, 20),
)
def test_a_selection_is_what_splitting_at_line_feeds_gives(
    text: str, line: int | None, limit: int | None, size: int
) -> None:
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]] + parts[-1:]
    start = max((line or 0) - 1, 0)
    expected = "".join(lines[start:] if limit is None else lines[start : start + limit])
    assert select_lines(text, line, limit) == expected
    selection = LineSelection(line, limit)
    data = text.encode()
    for place in range(0, len(data), size):
        selection.feed(data[place : place + size])
    assert selection.picked.decode() == expected


def test_a_full_selection_says_so_and_takes_no_more() -> None:
    selection = LineSelection(1, 2)
    selection.feed(b"a\nb")
    assert not selection.is_full
    selection.feed(b"\nc\n")
    assert selection.is_full
    selection.feed(b"d\n")
    assert selection.picked == b"a\nb\n"
    assert LineSelection(None, 0).is_full


@rows(("line", "limit"), [(-1, None), (None, -1), (-5, -5)])
def test_negative_numbers_are_a_mistake_of_the_caller(line: int | None, limit: int | None) -> None:
    with pytest.raises(ValueError, match="negative"):
        LineSelection(line, limit)


def test_half_a_character_passes_through_a_selection() -> None:
    assert select_lines("a\n\ud83d\nb", 2, 1) == "\ud83d\n"


@rows(
    ("data", "expected"),
    [(b"", None), (b"x", None), (b"a\r", None), (b"a\nb\n", "\n"), (b"a\r\nb\r\n", "\r\n"), (b"a\r\nb\n", None)],
)
def test_a_file_has_line_ends_if_all_are_alike(data: bytes, expected: str | None) -> None:
    assert line_end_of(data) == expected


def test_a_text_gets_the_line_ends_of_the_file() -> None:
    assert with_line_end("a\nb\r\nc", "\r\n") == "a\r\nb\r\nc"
    assert with_line_end("a\nb\r\nc", "\n") == "a\nb\nc"
    assert with_line_end("a\nb\r\nc", None) == "a\nb\r\nc"
