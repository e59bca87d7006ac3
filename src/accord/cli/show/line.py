"""A line as pieces of text with a style each, before anybody knows whether there are colours; and some measures."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from accord.display import SafeText, clip, filled, own

__all__ = ["Line", "Span", "amount", "clipped", "duration", "line_of", "size", "width"]

# Where the outcome of a tool call stands, if what it is about leaves room.
OUTCOME_COLUMN = 46


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


def duration(seconds: float) -> SafeText:
    """A time as people say it."""
    if seconds < 1:
        return filled("{} ms", max(0, round(seconds * 1000)))
    if seconds < 60:  # noqa: PLR2004 - a minute
        return filled("{:.1f} s", seconds)
    minutes, rest = divmod(round(seconds), 60)
    return filled("{} min {} s", minutes, rest)


def amount(number: int) -> SafeText:
    """A number of tokens."""
    if number < 1000:  # noqa: PLR2004 - k is for thousands
        return filled("{}", number)
    if number < 1_000_000:  # noqa: PLR2004 - and M for millions
        return _rounded(number / 1000, own("k"))
    return _rounded(number / 1_000_000, own("M"))


def _rounded(number: float, unit: SafeText) -> SafeText:
    return filled("{:.0f}{}" if f"{number:.1f}".endswith(".0") else "{:.1f}{}", number, unit)


def size(number: int) -> SafeText:
    """A number of bytes."""
    if number < 1000:  # noqa: PLR2004 - kB are for thousands
        return filled("{} B", number)
    if number < 1_000_000:  # noqa: PLR2004 - and MB for millions
        return filled("{:.0f} kB", number / 1000)
    return filled("{:.1f} MB", number / 1_000_000)
