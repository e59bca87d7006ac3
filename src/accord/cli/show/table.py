"""Rows with columns under each other."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.show.line import Line, Span, clipped, width

__all__ = ["table_lines"]

CELL_COLUMNS = 60


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Line]:
    """The lines; the last column is as wide as it likes."""
    cells = [[clipped(cell, CELL_COLUMNS) for cell in row[:-1]] + [row[-1]] for row in rows]
    widths = [max(width(row[place]) for row in [list(heads), *cells]) for place in range(len(heads))]

    def spans(row: Sequence[str], style: str) -> Line:
        last = len(row) - 1
        padded = [
            cell if place == last else cell + " " * (widths[place] - width(cell)) for place, cell in enumerate(row)
        ]
        return [Span("  ".join(padded).rstrip(), style)]

    return [spans(heads, "dim"), *(spans(row, "") for row in cells)]
