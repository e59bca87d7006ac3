from __future__ import annotations

import io
import sys

import pytest

from accord.cli.show.line import Span
from accord.cli.show.screen import ERASE, SPINNER, Progress, TextScreen, has_colours
from accord.display import own


class TerminalStream(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(stream: io.StringIO, *, colours: bool) -> TextScreen:
    return TextScreen(stream, Progress(io.StringIO(), shown=False), colours=colours)


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [({"TERM": "xterm"}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals_and_for_those_who_want_them(environment: dict[str, str], wanted: bool) -> None:  # noqa: FBT001
    assert has_colours(TerminalStream(), environment) is wanted
    assert has_colours(io.StringIO(), environment) is False


def test_running_text_is_ended_before_a_line() -> None:
    stream = io.StringIO()
    shown = screen(stream, colours=False)
    shown.text(own("hel"))
    shown.text(own("lo"))
    shown.line([Span(own("next"), "bold")])
    shown.text(own("whole\n"))
    shown.line([Span(own("last"))])
    assert stream.getvalue() == "hello\nnext\nwhole\nlast\n"


def test_styles_are_painted_where_there_are_colours() -> None:
    stream = TerminalStream()
    screen(stream, colours=True).line([Span(own("red"), "red"), Span(own(" [bold]plain[/bold] :smile:"))])
    assert "\x1b[31mred" in stream.getvalue()
    assert " [bold]plain[/bold] :smile:" in stream.getvalue()


def test_without_the_extra_everything_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    stream = TerminalStream()
    screen(stream, colours=True).line([Span(own("red"), "red")])
    assert stream.getvalue() == "red\n"


def test_progress_is_erased_before_anything_is_written_and_not_shown_in_the_middle_of_a_line() -> None:
    stream = TerminalStream()
    progress = Progress(stream, shown=True)
    shown = TextScreen(stream, progress, colours=False)
    progress.show(own("working"))
    shown.text(own("hel"))
    progress.show(own("working"))
    shown.text(own("lo\n"))
    assert stream.getvalue().split(ERASE) == ["", f"{SPINNER[1]} working", "hello\n"]
    progress.show(own("still working"))
    progress.stop()
    progress.show(own("never"))
    assert stream.getvalue().endswith(f"still working{ERASE}")


def test_no_progress_is_shown_where_nobody_looks() -> None:
    stream = io.StringIO()
    Progress(stream, shown=True).show(own("working"))
    assert stream.getvalue() == ""
