"""Styled lines for any screen: their width, tables of them, and quantities in few characters.

Quantities are durations, times, sizes, tokens, usage and cost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from accord.display import EMPTY, SafeText, clip, exact, filled, joined, own, part_of, trimmed
from accord.protocol.model import UNSET
from accord.session.event import UsageChanged
from accord.stores.interface import date_of


class Span(NamedTuple):
    """Text in one style: a name out of `screen.STYLES`, or none."""

    text: SafeText
    style: str = ""


Line: TypeAlias = Sequence[Span]

_WORD = re.compile(r"[^ ]+")


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
    """A text cut to the width, with three dots for the rest."""
    if width(text) <= columns:
        return text
    end, used = 0, 1
    for char in text:
        used += width(char)
        if used > columns:
            break
        end += 1
    return clip(text, end + 1)


def clipped_line(line: Line, columns: int) -> Line:
    """A line cut to the width; the same object where it fits already."""
    if sum(width(span.text) for span in line) <= columns:
        return line
    kept: list[Span] = []
    for place, span in enumerate(line, 1):
        # Where more text follows, the dots need room.
        text = span.text if place == len(line) else filled("{}…", span.text)
        if width(text) > columns:
            return [*kept, Span(clipped(text, columns), span.style)]
        kept.append(span)
        columns -= width(span.text)
    return kept


def wrapped(line: Line, columns: int) -> list[Line]:
    """The rows of a line of words, broken at blanks; the rows behind the first are indented by two columns more.

    A word that is longer than a row stays whole: the terminal breaks it. A text of several lines is left as it is.
    """
    text = "".join(span.text for span in line)
    if width(text) <= columns or "\n" in text:
        return [line]
    indent = min(len(text) - len(text.lstrip(" ")) + 2, columns // 2)
    rows = [_part(line, start, end) for start, end in _row_ends(text, columns, indent)]
    return [rows[0], *([Span(filled("{:{}}", EMPTY, indent)), *row] for row in rows[1:])]


def _row_ends(text: str, columns: int, indent: int) -> Iterator[tuple[int, int]]:
    start = end = 0
    for word in _WORD.finditer(text):
        if end and width(text[start : word.end()]) > columns:
            yield start, end
            columns -= indent if start == 0 else 0
            start = word.start()
        end = word.end()
    # A prompt ends with a blank, behind which the user types.
    yield start, len(text)


def _part(line: Line, start: int, end: int) -> list[Span]:
    parts: list[Span] = []
    for span in line:
        text = part_of(span.text, max(start, 0), max(end, 0))
        if text:
            parts.append(Span(text, span.style))
        start, end = start - len(span.text), end - len(span.text)
    return parts


def hidden_before(lines: int) -> SafeText:
    """So many lines are not shown before these."""
    return filled("… {} lines before", lines)


def hidden_after(lines: int) -> SafeText:
    """So many lines are not shown after these."""
    return filled("… {} more lines", lines)


CELL_COLUMNS = 60


def table_lines(heads: Sequence[SafeText], rows: Sequence[Sequence[SafeText]]) -> list[Line]:
    """The lines of a table; the last column has no width limit."""
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


MINUTE, HOUR, DAY, WEEK = 60, 3600, 86400, 7 * 86400
_UNITS = ((MINUTE, 1, own("s")), (HOUR, MINUTE, own("min")), (DAY, HOUR, own("h")), (WEEK, DAY, own("d")))


def moment_of(text: str | None) -> float | None:
    """A time in RFC 3339 as seconds; None for any other text."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def ago(moment: float | None, now: float) -> SafeText:
    """The age of a time, in words."""
    if not moment:
        return EMPTY
    seconds = max(0, now - moment)
    for limit, unit, name in _UNITS:
        if seconds < limit:
            return filled("{} {} ago", int(seconds // unit), name)
    return exact(date_of(moment).date().isoformat())


def duration(seconds: float) -> SafeText:
    if seconds < 1:
        return filled("{} ms", max(0, round(seconds * 1000)))
    if seconds < 60:  # noqa: PLR2004 - a minute
        return filled("{:.1f} s", seconds)
    minutes, rest = divmod(round(seconds), 60)
    return filled("{} min {} s", minutes, rest)


def amount(number: int) -> SafeText:
    if number < 1000:  # noqa: PLR2004 - k is for thousands
        return filled("{}", number)
    if number < 1_000_000:  # noqa: PLR2004 - and M for millions
        return _rounded(number / 1000, own("k"))
    return _rounded(number / 1_000_000, own("M"))


def _rounded(number: float, unit: SafeText) -> SafeText:
    return filled("{:.0f}{}" if f"{number:.1f}".endswith(".0") else "{:.1f}{}", number, unit)


def size(number: int) -> SafeText:
    if number < 1000:  # noqa: PLR2004 - kB are for thousands
        return filled("{} B", number)
    if number < 1_000_000:  # noqa: PLR2004 - and MB for millions
        return filled("{:.0f} kB", number / 1000)
    return filled("{:.1f} MB", number / 1_000_000)


CENTS = 0.1


def usage_parts(usage: UsageChanged | None) -> list[SafeText]:
    """Tokens in the context with the share of it that is used, and money, as far as they are known."""
    if usage is None:
        return []
    if usage.size:
        parts = [filled("{}/{} tokens {}%", amount(usage.used), amount(usage.size), usage.used * 100 // usage.size)]
    else:
        parts = [filled("{} tokens", amount(usage.used))]
    cost = usage.cost
    if cost is not UNSET and cost is not None:
        money = f"{cost.amount:.2f}" if cost.amount >= CENTS or not cost.amount else f"{cost.amount:.4f}"
        is_dollars = cost.currency == "USD"
        parts.append(filled("${}", money) if is_dollars else filled("{} {}", money, exact(cost.currency, 8)))
    return parts
