from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.cli.show.line import Span, amount, clipped, clipped_line, duration, size, width, wrapped
from accord.display import prose


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0004, "0 ms"), (0.012, "12 ms"), (0.8, "800 ms"), (1.25, "1.2 s"), (125, "2 min 5 s")]
)
def test_times(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0"), (999, "999"), (1200, "1.2k"), (200_000, "200k"), (1_500_000, "1.5M")]
)
def test_tokens(number: int, said: str) -> None:
    assert amount(number) == said


@pytest.mark.parametrize(("number", "said"), [(12, "12 B"), (12_000, "12 kB"), (1_230_000, "1.2 MB")])
def test_bytes(number: int, said: str) -> None:
    assert size(number) == said


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    assert width("日本") == 4
    assert width("e\u0301") == 1


@pytest.mark.parametrize(("text", "columns", "seen"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 4, "日…")])
def test_what_does_not_fit_is_cut(text: str, columns: int, seen: str) -> None:
    assert clipped(prose(text), columns) == seen
    assert width(clipped(prose(text), columns)) <= columns


@pytest.mark.parametrize(
    ("texts", "columns", "seen"),
    [
        (["ab", "cd"], 4, "abcd"),
        (["ab", "cde"], 4, "abc…"),
        (["abcd", "e"], 4, "abc…"),
        (["abc", "de"], 4, "abc…"),
        (["abc", "", "de"], 4, "abc…"),
        (["", "abcdef"], 4, "abc…"),
        (["日本", "語"], 4, "日…"),
        (["abcdef"], 1, "…"),
    ],
)
def test_a_line_is_cut_across_its_styles(texts: list[str], columns: int, seen: str) -> None:
    line = [Span(prose(text), "dim") for text in texts]
    shown = clipped_line(line, columns)
    assert "".join(span.text for span in shown) == seen
    assert (shown is line) is (seen == "".join(texts))


@pytest.mark.parametrize(
    ("texts", "columns", "rows"),
    [
        (["one two"], 7, ["one two"]),
        (["one two"], 6, ["one", "  two"]),
        (["  one two three"], 10, ["  one two", "    three"]),
        (["one ", "two three > "], 9, ["one two", "  three > "]),
        (["a verylongword b"], 6, ["a", "  verylongword", "  b"]),
        (["日本 日本"], 6, ["日本", "  日本"]),
        (["several\nlines of it"], 4, ["several\nlines of it"]),
    ],
)
def test_lines_of_words_are_broken_at_blanks(texts: list[str], columns: int, rows: list[str]) -> None:
    found = wrapped([Span(prose(text)) for text in texts], columns)
    assert ["".join(span.text for span in row) for row in found] == rows


def test_each_row_keeps_its_styles() -> None:
    line = [Span(prose("one "), "red"), Span(prose("two three"), "dim")]
    assert [list(row) for row in wrapped(line, 8)] == [
        [Span(prose("one "), "red"), Span(prose("two"), "dim")],
        [Span(prose("  ")), Span(prose("three"), "dim")],
    ]


@given(st.lists(st.text("ab日 ", max_size=30), min_size=1, max_size=4), st.integers(1, 40))
def test_no_word_is_broken_or_lost_and_no_row_is_too_long_for_more_than_one(texts: list[str], columns: int) -> None:
    found = wrapped([Span(prose(text)) for text in texts], columns)
    rows = ["".join(span.text for span in row) for row in found]
    assert " ".join(rows).split() == "".join(texts).split()
    assert all(width(row.rstrip()) <= columns or len(row.split()) == 1 for row in rows)
