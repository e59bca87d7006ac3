from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.cli.show.safe import safe_line, safe_text, without_escapes


@given(st.text())
def test_nothing_that_moves_a_cursor_gets_through(text: str) -> None:
    for shown in (safe_text(text), safe_line(text), without_escapes(text)):
        assert not any(ord(char) < 32 and char not in "\n\t" for char in shown)
        assert not any(0x7F <= ord(char) < 0xA0 for char in shown)
        shown.encode()


@given(st.text())
def test_a_line_stays_a_line(text: str) -> None:
    assert "\n" not in safe_line(text)
    assert len(safe_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("cut \x1b]0;never ended", "cut "),
    ],
)
def test_what_a_command_printed_is_shown_as_it_looked(printed: str, seen: str) -> None:
    assert without_escapes(printed) == seen


def test_letters_cannot_be_turned_round() -> None:
    assert safe_line("delete \u202etxt.exe") == "delete txt.exe"


def test_half_a_character_is_replaced() -> None:
    assert safe_text("\ud83d") == "\ufffd"
