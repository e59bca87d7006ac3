from __future__ import annotations

from hypothesis import given, strategies as st

from accord.cli.chat.widgets import chopped, coloured_lines, label
from accord.display import own, prose

EVIL = st.text(
    alphabet=st.sampled_from("\x1b[]0;m\x07\\ab\x9b\x9d\u202e\u061c\U000e0041\ud83d\n\r\t2JHK\x00\x7f"), max_size=60
)


@given(EVIL)
def test_nothing_that_a_command_printed_keeps_one_either(text: str) -> None:
    shown = "\n".join(line.plain for line in coloured_lines(text))
    assert not any((ord(each) < 0x20 and each not in "\n\t") or 0x7F <= ord(each) < 0xA0 for each in shown)
    assert not {"\u202e", "\u061c", "\U000e0041", "\ud83d"} & set(shown)
    assert not any("link" in str(span.style) for line in coloured_lines(text) for span in line.spans)


def test_a_line_of_a_progress_bar_shows_its_last_state() -> None:
    assert [line.plain for line in coloured_lines("10%\r50%\r100%\ndone")] == ["100%", "done"]


def test_colours_are_kept() -> None:
    (line,) = coloured_lines("\x1b[31mred\x1b[0m")
    assert [str(span.style) for span in line.spans] == ["color(1)"]


def test_markup_of_others_is_text() -> None:
    assert label((prose("[bold]not[/bold]"), "")).plain == "[bold]not[/bold]"


def test_a_text_in_pieces_is_the_same_text() -> None:
    assert chopped(own("abcdef"), 4) == ["abcd", "ef"]
    assert "".join(chopped(prose("日本語x"), 3)) == "日本語x"
