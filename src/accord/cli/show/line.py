"""A line as texts with a style each, before it is known whether there are colours; its width, and tables of lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from accord.display import SafeText, clip, filled, joined, own, trimmed

__all__ = ["Line", "Span", "clipped", "hidden_after", "hidden_before", "line_of", "table_lines", "width"]


class Span(NamedTuple):
    """Text in one style: a name out of `screen.STYLES`, or none."""

    text: SafeText
    style: str = ""


Line: TypeAlias = Sequence[Span]


def line_of(*parts: Span | SafeText) -> list[Span]:
    """A line from spans and texts without a style."""
    return [part if isinstance(part, Span) else Span(part) for part in parts]


def width(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def clipped(text: SafeText, columns: int) -> SafeText:
    """A text that fits; what does not is three dots."""
    if width(text) <= columns:
        return text
    end, used = 0, 1
    for char in text:
        used += width(char)
        if used > columns:
            break
        end += 1
    return clip(text, end + 1)


def hidden_before(lines: int) -> SafeText:
    """So many lines are not shown before these."""
    return filled("… {} lines before", lines)


def hidden_after(lines: int) -> SafeText:
    """So many lines are not shown after these."""
    return filled("… {} more lines", lines)


CELL_COLUMNS = 60


def table_lines(heads: Sequence[SafeText], rows: Sequence[Sequence[SafeText]]) -> list[Line]:
    """The lines; the last column is as wide as it likes."""
    cells = [[clipped(cell, CELL_COLUMNS) for cell in row[:-1]] + [row[-1]] for row in rows]
    widths = [max(width(row[place]) for row in [list(heads), *cells]) for place in range(len(heads))]

    def spans(row: Sequence[SafeText], style: str) -> Line:
        last = len(row) - 1
        padded = [
            cell if place == last else filled("{}{:{}}", cell, own(""), widths[place] - width(cell))
            for place, cell in enumerate(row)
        ]
        return [Span(trimmed(joined(padded, own("  "))), style)]

    return [spans(heads, "dim"), *(spans(row, "") for row in cells)]
