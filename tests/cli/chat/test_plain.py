from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.cli.chat.plain import coloured_lines, count, label, one_line, plain, pretty, settled

EVIL = st.text(alphabet=st.sampled_from("\x1b[]0;m\x07\\ab\x9b\x9d\u202e\ud83d\n\r\t2JHK\x00\x7f"), max_size=60)


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1bPdevice\x1b\\control", "control"),
        ("a\r\nb\rc", "a\nbc"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("half \ud83d emoji", "half \ufffd emoji"),
        ("reversed \u202e txt", "reversed \ufffd txt"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b", ""),
    ],
)
def test_what_could_steer_a_terminal_is_taken_out(given_text: str, shown: str) -> None:
    assert plain(given_text) == shown


@given(EVIL)
def test_nothing_that_is_shown_has_a_control_character(text: str) -> None:
    assert not any((ord(each) < 0x20 and each not in "\n\t") or 0x7F <= ord(each) < 0xA0 for each in plain(text))


@given(EVIL)
def test_nothing_that_a_command_printed_keeps_one_either(text: str) -> None:
    shown = "\n".join(line.plain for line in coloured_lines(text))
    assert not any((ord(each) < 0x20 and each not in "\n\t") or 0x7F <= ord(each) < 0xA0 for each in shown)
    assert not any("link" in str(span.style) for line in coloured_lines(text) for span in line.spans)


@given(st.lists(st.sampled_from(["a", "b\n", "\x1b[31m", "\x1b[0m", "\x9b2J", "\x1b[1;32m"])).map("".join), st.data())
def test_a_text_that_is_shown_piece_by_piece_is_the_same_text(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    end = settled(text[:cut])
    assert plain(text[:end]) + plain(text[end:]) == plain(text)


def test_a_sequence_that_is_cut_is_held_back_until_it_is_whole() -> None:
    assert settled("text \x1b[3") == 5
    assert settled("text \ud83d") == 5
    assert settled("text \x1b[31m") == 10


def test_a_line_of_a_progress_bar_shows_its_last_state() -> None:
    assert [line.plain for line in coloured_lines("10%\r50%\r100%\ndone")] == ["100%", "done"]


def test_colours_are_kept() -> None:
    (line,) = coloured_lines("\x1b[31mred\x1b[0m")
    assert [str(span.style) for span in line.spans] == ["color(1)"]


def test_a_title_stays_on_its_line() -> None:
    assert one_line("two\nlines   here") == "two lines here"
    assert one_line("x" * 300, 10) == "x" * 9 + "…"


def test_markup_of_others_is_text() -> None:
    assert label(("[bold]not[/bold]", "")).plain == "[bold]not[/bold]"


def test_values_are_laid_out_and_bounded() -> None:
    assert pretty({"a": 1}) == '{\n  "a": 1\n}'
    assert len(pretty("x" * 10_000)) == 4_000
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert pretty(deep) == "(too deep to be shown)"


def test_numbers_are_short() -> None:
    assert [count(number) for number in (950, 1_000, 12_345, 1_200_000)] == ["950", "1k", "12.3k", "1.2M"]
