"""The parts of a hostile string, with the mark that the tests look for beside it.

`STRINGS` are forms that steer, hide or reorder; `bad` puts all of them into one text. Nothing here imports Accord.
"""

from __future__ import annotations

MARK = "QZ"
STRINGS = (
    "\x1b]777;QZ\x07", "\x1b[35m", "\x1b[2J", "\x1b", "\x9b31m", "\x9d0;t\x9c", "\x90q\x9c", "\x85", "\u202e", "\u202a",
    "\u2066", "\u2069", "\u061c", "\u200e", "\u200f", "\U000e0041", "\U000e007f", "\x7f", "\x08", "\x00", "\x07",
    "\x0b", "\x0c", "\u2028", "\u2029", "\ud83d", "\ufffe", "\u200b", "\u00ad", "\ufeff", "&#x202e;", "&#x61c;",
    "&rlm;",
)  # fmt: skip
ALL = "".join(f"{each}{MARK}" for each in STRINGS)
MARKUP = "[/][@click=app.quit]QZ[/][red]QZ[bold QZ]\\[/red][link=file:///etc]QZ"
"""What screens of ours would take for their own markup, where they did."""


def bad(text: str = "") -> str:
    """A text with every form of poison behind it."""
    return f"{MARK}{text}{ALL}"
