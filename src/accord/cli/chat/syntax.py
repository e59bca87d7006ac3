"""The colours of source code in the rows of a diff, by the name of each file. Only places and styles: no text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text

from accord.cli.show.diff import DiffRow
from accord.display import SafeText, joined, own

# A diff beyond this is read by few, and each of its lines costs a tenth of a millisecond.
MAX_CHARACTERS = 200_000

Colours: TypeAlias = list[tuple[int, int, Style]]
"""The parts of a line that have a style of their own."""


def row_colours(rows: Sequence[DiffRow], shown: Sequence[SafeText], *, dark: bool) -> list[Colours]:
    """For each row its colours; both sides of a file are read as a whole, so that a text of several lines is one."""
    colours: list[Colours] = [[] for _ in rows]
    if sum(map(len, shown)) > MAX_CHARACTERS:
        return colours
    files = [at for at, row in enumerate(rows) if row.kind == "file"]
    for start, end in pairwise([*files, len(rows)]):
        # As `file_title` has it: the new place, and the operation behind it.
        path = rows[start].text.rpartition(" → ")[2].partition(" (")[0]
        lexer = Syntax.guess_lexer(path)
        if lexer == "default":
            continue
        for gone, side in (("added", {"same", "removed"}), ("removed", {"same", "added"})):
            places = [at for at in range(start, end) if rows[at].kind in side]
            lines = _highlighted(joined([shown[at] for at in places], own("\n")), lexer, dark=dark)
            for at, line in zip(places, lines, strict=False):
                if rows[at].kind != gone:
                    colours[at] = line
    return colours


def _highlighted(code: SafeText, lexer: str, *, dark: bool) -> list[Colours]:
    text = Syntax("", lexer, theme="ansi_dark" if dark else "ansi_light").highlight(code)
    lines = text.split("\n", allow_blank=True)
    return [
        [(each.start, each.end, each.style) for each in line.spans if isinstance(each.style, Style)] for line in lines
    ]


def colour(line: Text, colours: Colours, *, at: int = 0, start: int = 0, length: int | None = None) -> Text:
    """Colour a line that has a part of a row: `length` characters from `start` on, which stand at `at`."""
    end = len(line) - at + start if length is None else start + length
    for first, last, style in colours:
        if first < end and last > start:
            line.stylize(style, at + max(first, start) - start, at + min(last, end) - start)
    return line
