"""The characters that may reach a terminal: tables, and that an exact text can be read back."""

from __future__ import annotations

import json
import re
import sys
import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from accord.display import (
    SafeText,
    clip,
    colours_kept,
    exact,
    filled,
    joined,
    json_text,
    own,
    printed,
    prose,
    prose_line,
    safe_lines,
    settled,
    source_line,
    whole,
)
from tests.limits import limit
from tests.tables import rows

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
TAGS = "".join(map(chr, range(0xE0000, 0xE0080)))
CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
FORBIDDEN = frozenset(BIDI + TAGS + CONTROLS + "\u2028\u2029\ufffe\uffff\U0010ffff\ufdd0") - {"\n", "\t"}
POISON = st.text(
    alphabet=st.one_of(
        st.sampled_from(sorted(FORBIDDEN) + list("\u200d\u200c\ufe0f\u00ad\u3164\\xun[]0;m\n\t ")),
        st.characters(codec=None, exclude_categories=()),
    ),
    max_size=60,
)


@rows(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jcleared", "cleared"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1bPdevice\x1b\\control", "control"),
        ("\x1b]0;an unended string hides nothing", "0;an unended string hides nothing"),
        ("\x1b", ""),
        ("a\r\nb\rc", "a\nbc"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("a\u2028b\u2029c\x85d", "a\nb\nc\nd"),
        ("half \ud83d emoji", "half \ufffd emoji"),
        ("reversed \u202e txt", "reversed \ufffd txt"),
        ("mark \u061c letter", "mark \ufffd letter"),
        ("hidden\U000e0041\U000e0042", "hidden\ufffd\ufffd"),
        ("zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"),
        ("family 👨\u200d👩\u200d👧, می\u200cپسندم, ❤\ufe0f", "family 👨\u200d👩\u200d👧, می\u200cپسندم, ❤\ufe0f"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_prose_keeps_what_people_write_and_nothing_that_steers_a_terminal(text: str, shown: str) -> None:
    assert prose(text) == shown


@rows(
    ("text", "shown"),
    [
        ("git status", "git status"),
        ("grep 'a\\.b'", "grep 'a\\.b'"),
        ("für 日本語 🎉", "für 日本語 🎉"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("a\\nb", "a\\\\nb"),
        ("a\\\n", "a\\\\\\n"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u200db\u200cc\ufe0f", "a\\u200db\\u200cc\\ufe0f"),
        ("a\u061cb\u202ec", "a\\u061cb\\u202ec"),
        ("\U000e0041", "\\U000e0041"),
        ("a\u00adb\u200bc\u2060d\ufeff", "a\\xadb\\u200bc\\u2060d\\ufeff"),
        ("a\u3164b\u2800c\u00a0d\u3000", "a\\u3164b\\u2800c\\xa0d\\u3000"),
        ("a\u2028b\x85", "a\\u2028b\\x85"),
        (" rm  x ", "\\x20rm  x\\x20"),
        ("  ", "\\x20\\x20"),
        ("half \ud83d", "half \ufffd"),
        ("", ""),
    ],
)
def test_an_exact_text_shows_what_is_invisible(text: str, shown: str) -> None:
    assert exact(text) == shown


def read_back(shown: str) -> str:
    escape = re.compile(r"\\(?:\\|n|r|t|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")

    def char(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        return chr(int(code, 16)) if code else {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}[found[0][1]]

    return escape.sub(char, shown)


@given(POISON)
def test_two_different_texts_never_look_the_same(text: str) -> None:
    assert read_back(exact(text)) == whole(text)


@given(POISON)
def test_nothing_that_steers_a_terminal_gets_through(text: str) -> None:
    for shown in (
        prose(text),
        exact(text),
        source_line(text),
        printed(text),
        prose_line(text),
        json_text({text: text}),
    ):
        assert not FORBIDDEN & set(shown)
        shown.encode()
    assert len(exact(text).splitlines()) <= 1
    assert "\n" not in source_line(text)
    assert len(prose_line(text).splitlines()) <= 1


@given(POISON)
def test_what_is_safe_stays_as_it_is(text: str) -> None:
    for shown in (prose(text), exact(text), source_line(text), printed(text)):
        assert prose(shown) == shown


@given(POISON)
def test_json_is_read_back_as_the_same_value(text: str) -> None:
    text = whole(text)  # two halves beside each other are one character to JSON
    assert json.loads(json_text([text, {text: 1}], 2)) == [text, {text: 1}]


def test_every_format_character_is_an_escape_where_it_must_be_seen() -> None:
    hidden = {"Cf", "Cc", "Zl", "Zp", "Cn", "Co"}
    # Behind the second plane there is none but the tags, and a million that have no meaning yet.
    places = [*range(0x20000), *range(0xE0000, 0xE0200), *range(0x20000, sys.maxunicode + 1, 101), sys.maxunicode]
    chars = [char for char in map(chr, places) if unicodedata.category(char) in hidden]
    shown = exact("".join(chars))
    assert shown.isascii()
    assert read_back(shown) == "".join(chars)


@rows(
    ("text", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("cut \x1b]0;never ended", "cut "),
        ("cut \x1b]0;never ended\nbut seen", "cut \nbut seen"),
    ],
)
def test_what_a_command_printed_is_shown_as_it_looked(text: str, seen: str) -> None:
    assert printed(text) == seen


def test_a_line_of_a_file_keeps_its_blanks_and_shows_what_hides() -> None:
    assert source_line("\tx = '\\n'  # \u202e") == "\tx = '\\n'  # \\u202e"
    assert source_line("dos\r") == "dos\\r"


def test_a_template_puts_texts_of_others_in_exactly() -> None:
    assert filled("{:<6} {} of {}", "\x1b", 1, prose("a\u200db")) == "\\x1b   1 of a\u200db"
    assert isinstance(filled("{}", "x"), SafeText)


def test_safe_texts_are_put_together_and_cut() -> None:
    assert joined([own("a"), own("b")], own(", ")) == "a, b"
    assert safe_lines(prose("a\n\nb\n")) == ["a", "", "b"]
    assert clip(own("x" * 30), 10) == "x" * 9 + "…"
    assert exact("x" * 300, 10) == prose_line("x" * 300, 10) == "x" * 9 + "…"
    assert prose_line("two\nlines   here") == "two lines here"


def test_half_a_character_is_replaced_and_a_whole_one_stays() -> None:
    assert whole("a\ud83d") == "a\ufffd"
    assert whole("🎉") == "🎉"
    assert whole("\ud83c" + "\udf89") == prose("\ud83c" + "\udf89") == exact("\ud83c" + "\udf89") == "🎉"


@given(st.lists(st.sampled_from(["a", "b\n", "\x1b[31m", "\x1b[0m", "\x9b2J", "\x1b[1;32m"])).map("".join), st.data())
def test_a_text_that_is_shown_piece_by_piece_is_the_same_text(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    end = settled(text[:cut])
    assert prose(text[:end]) + prose(text[end:]) == prose(text)


def test_a_sequence_that_is_cut_is_held_back_until_it_is_whole() -> None:
    assert settled("text \x1b[3") == 5
    assert settled("text \ud83d") == 5
    assert settled("text \x1b[31m") == 10


def test_deep_values_are_bounded() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert json_text(deep) == "(too deep to be shown)"
    assert len(json_text("x" * 10_000, limit=100)) == 100


@pytest.mark.parametrize(
    ("show", "text"),
    [
        (printed, "x" * 1_000_000),
        (printed, "x\r" * 500_000),
        (printed, "\x9d" * 1_000_000 + "\x1ba"),
        (prose, "\x9d" * 1_000_000),
        (prose, "\x90a" * 500_000 + "\x1b"),
        (prose, "\x9b" + "0" * 1_000_000),
        (colours_kept, "\x9d" * 1_000_000 + "\x1ba"),
        (exact, "a" + " " * 1_000_000 + "b"),
        (source_line, "\x1b]" * 500_000),
    ],
    ids=range(9),
)
def test_a_text_of_a_million_letters_is_shown_at_once(show: Callable[[str], str], text: str) -> None:
    # With time that grows by the square of the length each of them took minutes.
    began = time.process_time()
    show(text)
    assert time.process_time() - began < limit(10)


def test_a_line_that_was_written_over_is_its_last_state() -> None:
    assert printed("1%\r50%\r100%\nnext\r\r\n\rlast\r") == "100%\nnext\nlast"
    assert exact("  a b ") == "\\x20\\x20a b\\x20"
    assert exact("  ") == "\\x20\\x20"


def test_a_gap_that_hides_the_rest_of_a_line_is_shown() -> None:
    for show in (exact, source_line):
        assert show(f"a{' ' * 80}b") == f"a{' ' * 80}b"
        assert show(f"a{' ' * 81}b") == "a" + "\\x20" * 81 + "b"
    assert source_line("a" + "\t" * 10 + "b") == "a" + "\t" * 10 + "b"
    assert source_line("a" + "\t" * 11 + "b") == "a" + "\\t" * 11 + "b"
    # Indentation and the blanks at the end of a line hide nothing.
    assert source_line(" " * 200 + "a" + " " * 200) == " " * 200 + "a" + " " * 200
