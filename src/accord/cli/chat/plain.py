"""Safe text with styles: for widgets (`label`), and for the lines that are rendered by hand (`styled`).

What a command printed keeps its colours here, and nothing else of what terminals can do.
"""

from __future__ import annotations

from rich.cells import chop_cells
from rich.style import Style
from rich.text import Text
from textual.content import Content

from accord.display import SafeText, colours_kept, filled, part_of, safe_lines

__all__ = ["BREAK", "MUTED", "chopped", "coloured_lines", "count", "label", "styled", "styled_lines"]

MUTED = "$foreground-muted"
"""The style of what is said beside the point."""
BREAK = Content("\n")


def label(*parts: tuple[SafeText, str]) -> Content:
    """Texts in our styles, never read as markup."""
    return Content.assemble(*(Content.styled(text, style) for text, style in parts))


def styled(*parts: tuple[SafeText, str | Style], style: str | Style = "") -> Text:
    """One line for `Lines`."""
    return Text.assemble(*parts, style=style, no_wrap=True)


def styled_lines(text: SafeText, style: str = "") -> list[Text]:
    """Several lines for `Lines`, in one style."""
    return [styled((line, ""), style=style) for line in safe_lines(text) or [text]]


def chopped(text: SafeText, width: int) -> list[SafeText]:
    """The text in pieces that fit."""
    pieces, start = [], 0
    for piece in chop_cells(text, width):
        pieces.append(part_of(text, start, start + len(piece)))
        start += len(piece)
    return pieces


def coloured_lines(text: str) -> list[Text]:
    """What a command printed, line by line, with its colours; of a line that it wrote over only the last state."""
    return list(Text.from_ansi(colours_kept(text), no_wrap=True).split("\n", allow_blank=True))


def count(number: int) -> SafeText:
    """A number of tokens or bytes in three or four characters: 950, 12.3k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            rounded = f"{number / size:.1f}".removesuffix(".0")
            return filled("{}{}", rounded, unit)
    return filled("{}", number)
