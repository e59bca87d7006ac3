"""Text that others wrote, made fit for a terminal: nothing in it moves the cursor, hides, or reverses what is read.

Agents, their tools and their commands write what they like, escape sequences among it. All of it comes through here
before it is shown.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rich.text import Text
from textual.content import Content

__all__ = ["MUTED", "coloured_lines", "count", "label", "one_line", "plain", "pretty", "settled"]

MUTED = "$foreground-muted"
"""The style of what is said beside the point."""

# Sequences of two kinds, each in the form with ESC and in the one of a single C1 character: control sequences, and
# strings that run to a terminator. A string that is never ended takes no more than its bound.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x1b\x07\x9c]{0,4096}(?:\x1b\\|\x07|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
# A sequence whose end may still come: no longer than a control sequence can reasonably be.
_CUT = re.compile(r"[\x1b\x9b][^@-~]{0,32}$|\x1b\[[^@-~]{0,32}$|[\ud800-\udbff]$")

_DROPPED = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)])
_REORDERING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_MARKED = dict.fromkeys([*range(0xD800, 0xE000), *_REORDERING], "\ufffd")
_TABLE: dict[int, str | None] = {**_DROPPED, **_MARKED, 0x09: "\t", 0x0A: "\n", 0x2028: "\n", 0x2029: "\n"}
_COLOUR_TABLE: dict[int, str | None] = {**_TABLE, 0x1B: "\x1b", 0x0D: "\r"}


def plain(text: str) -> str:
    """The text without sequences and control characters; what would reorder it is made visible."""
    if text.isascii() and text.isprintable():
        return text
    return _SEQUENCE.sub("", text.replace("\r\n", "\n")).translate(_TABLE)


def settled(text: str) -> int:
    """How much of a growing text can be shown already: not the half of a character or of an escape sequence."""
    cut = _CUT.search(text, max(0, len(text) - 40))
    return len(text) if cut is None else cut.start()


def one_line(text: str, limit: int = 200) -> str:
    """The text as one line, with an ellipsis where it is longer than the limit."""
    line = " ".join(plain(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def coloured_lines(text: str) -> list[Text]:
    """What a command printed, line by line, with its colours and nothing else of what terminals can do."""
    kept = _SEQUENCE.sub(lambda found: found[0] if _COLOUR.fullmatch(found[0]) else "", text.replace("\r\n", "\n"))
    lines = Text.from_ansi(kept.translate(_COLOUR_TABLE), no_wrap=True).split("\n", allow_blank=True)
    return list(lines)


def pretty(value: Any, limit: int = 4000) -> str:
    """Any JSON value, laid out for reading."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, indent=2, ensure_ascii=False, default=repr)
        except (ValueError, RecursionError):
            text = "(too deep to be shown)"
    return plain(text if len(text) <= limit else text[: limit - 1] + "…")


def count(number: int) -> str:
    """A number of tokens or bytes in three or four characters: 950, 12.3k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return str(number)


def label(*parts: tuple[str, str]) -> Content:
    """A line of foreign words in our styles: never read as markup."""
    return Content.assemble(*(Content.styled(plain(text), style) for text, style in parts))
