"""The output of lines: coloured on a terminal, plain everywhere else; and a line of progress that leaves no trace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from accord.cli.show.line import Line, Span, clipped, clipped_line, wrapped
from accord.display import SafeText, filled, joined, json_line, own

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"dim": "dim", "bold": "bold", "red": "red", "green": "green", "yellow": "yellow", "cyan": "cyan"}
COLUMNS = 80
ERASE = "\r\x1b[2K"
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_END = Span(own("\n"))
CLIPPED = own("    long lines are clipped here; they are whole with -o events, or behind | cat")


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def has_colours(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to write colours: only to terminals, and not with NO_COLOR (https://no-color.org)."""
    return is_terminal(stream) and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def columns_of(stream: TextIO) -> int:
    """The width of a stream; 80 columns where it is no terminal."""
    return known_columns_of(stream) or COLUMNS


def known_columns_of(stream: TextIO) -> int | None:
    """The width of a terminal; None where the stream is none, or does not tell its width."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


class Progress:
    """The line of progress on stderr; nothing where that is no terminal."""

    def __init__(self, stream: TextIO, *, shown: bool) -> None:
        self._stream = stream
        self._shown = shown and is_terminal(stream) and os.environ.get("TERM") != "dumb"
        self._turns = 0
        self._is_there = False
        self.is_held = False
        """Whether other code writes on the same screen now."""

    @property
    def is_shown(self) -> bool:
        """Whether there is such a line at all."""
        return self._shown

    def show(self, text: SafeText) -> None:
        if not self._shown or self.is_held:
            return
        self._turns += 1
        mark = SPINNER[self._turns % len(SPINNER)]
        line = clipped(filled("{} {}", mark, text), columns_of(self._stream) - 1)
        self._stream.write(f"{ERASE}{line}")
        self._stream.flush()
        self._is_there = True

    def stop(self) -> None:
        """Remove the line for good."""
        self.erase()
        self._shown = False

    def erase(self) -> None:
        if self._is_there:
            self._stream.write(ERASE)
            self._stream.flush()
            self._is_there = False


class TextScreen:
    """Writes lines and running text to one stream. The progress line is removed before each write."""

    def __init__(self, stream: TextIO, progress: Progress, *, colours: bool) -> None:
        self._stream = stream
        self._progress = progress
        self._console = _console(stream) if colours else None
        self._middle = False
        self._has_clipped = False

    @property
    def columns(self) -> int:
        return columns_of(self._stream)

    @property
    def row_columns(self) -> int | None:
        """The width of rows of words; None where words are not broken into rows."""
        return known_columns_of(self._stream)

    @property
    def is_terminal(self) -> bool:
        return is_terminal(self._stream)

    def line(self, line: Line) -> None:
        """Write a line; running text before it is ended first."""
        self._progress.erase()
        self.end_line()
        self._write([*line, _END])

    def lines(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.line(line)

    def prose(self, *lines: Line) -> None:
        """Write lines of words: on a terminal they are broken at blanks."""
        for line in lines:
            self.lines(self._rows(line))

    def prompt(self, text: SafeText) -> None:
        """Write a text of words behind which the user types."""
        *rows, last = self._rows([Span(text)])
        self.lines(rows)
        self.text(joined(span.text for span in last))

    def _rows(self, line: Line) -> list[Line]:
        columns = self.row_columns
        return [line] if columns is None else wrapped(line, columns)

    def results(self, lines: Iterable[Line]) -> None:
        """Write lines of any length: on a terminal one row each, and one remark how to see them whole."""
        if not self.is_terminal:
            self.lines(lines)
            return
        columns = self.columns
        is_news = False
        for line in lines:
            shown = clipped_line(line, columns)
            is_news = is_news or (shown is not line and not self._has_clipped)
            self.line(shown)
        if is_news:
            self._has_clipped = True
            self.line([Span(CLIPPED, "dim")])

    def text(self, text: SafeText, style: str = "") -> None:
        if text:
            self._progress.erase()
            self._write([Span(text, style)])
            self._middle = not text.endswith("\n")
            # A line of progress would write over it.
            self._progress.is_held = self._middle

    def end_line(self) -> None:
        if self._middle:
            self._middle = self._progress.is_held = False
            self._write([_END])

    def forget_line(self) -> None:
        """Note that the user has ended the line, with the return key."""
        self._middle = self._progress.is_held = False

    def flush(self) -> None:
        self._stream.flush()

    def _write(self, line: Line) -> None:
        if self._console is None:
            self._stream.write("".join(span.text for span in line))
            return
        from rich.text import Text  # noqa: PLC0415 - only where there are colours

        text = Text(end="")
        for span in line:
            text.append(span.text, STYLES.get(span.style))
        self._console.print(text, end="", soft_wrap=True)


def _console(stream: TextIO) -> Console | None:
    try:
        from rich.console import Console  # noqa: PLC0415 - only where there are colours
    except ImportError:  # the extra `cli` is not installed: plain is fine
        return None
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def stdout_screen(progress: Progress) -> TextScreen:
    """The screen of this process."""
    return TextScreen(sys.stdout, progress, colours=has_colours(sys.stdout, os.environ))


def put(text: SafeText) -> None:
    sys.stdout.write(filled("{}\n", text))


def put_json(value: Any, indent: int | None = None) -> None:
    """A JSON value on stdout, in ASCII: a terminal shows it, a program reads the same value back."""
    put(json_line(value, indent))


def silence() -> None:
    """Drop all further output to stdout, also that of the interpreter's exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
