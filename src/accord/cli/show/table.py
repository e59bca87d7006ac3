"""Rows with columns under each other."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.show.line import Line, Span, clipped, width
from accord.display import SafeText, filled, joined, own, trimmed

__all__ = ["table_lines"]

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
