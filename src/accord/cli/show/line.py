"""A line as pieces of text with a style each, before anybody knows whether there are colours; and some measures."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["Line", "Span", "amount", "clipped", "duration", "line_of", "size", "width"]

# Where the outcome of a tool call stands, if what it is about leaves room.
OUTCOME_COLUMN = 46


class Span(NamedTuple):
    """Text in one style: a name out of `screen.STYLES`, or none."""

    text: str
    style: str = ""


Line: TypeAlias = Sequence[Span]


def line_of(*parts: Span | str) -> list[Span]:
    """A line from spans and plain texts."""
    return [part if isinstance(part, Span) else Span(part) for part in parts]


def width(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def clipped(text: str, columns: int) -> str:
    """A text that fits; what does not is three dots."""
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for char in text:
        used += width(char)
        if used > columns:
            break
        kept.append(char)
    return "".join(kept) + "…"


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def amount(number: int) -> str:
    """A number of tokens."""
    if number < 1000:  # noqa: PLR2004 - k is for thousands
        return str(number)
    if number < 1_000_000:  # noqa: PLR2004 - and M for millions
        return f"{number / 1000:.1f}k".replace(".0k", "k")
    return f"{number / 1_000_000:.1f}M".replace(".0M", "M")


def size(number: int) -> str:
    """A number of bytes."""
    if number < 1000:  # noqa: PLR2004 - kB are for thousands
        return f"{number} B"
    if number < 1_000_000:  # noqa: PLR2004 - and MB for millions
        return f"{number / 1000:.0f} kB"
    return f"{number / 1_000_000:.1f} MB"
