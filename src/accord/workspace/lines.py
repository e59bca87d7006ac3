"""Lines of a text: selection by number, and the line ends of a file.

A line ends with a line feed; a carriage return before it belongs to the line. Nothing here touches a disk.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["LineEnd", "LineSelection", "line_end_of", "select_lines", "with_line_end"]

LineEnd = Literal["\n", "\r\n"]


class LineSelection:
    """Selects `limit` lines from line `line` on out of bytes in chunks.

    `line` counts from 1; 0 and None mean from the start. None for `limit` means to the end. `picked` holds the bytes;
    `is_full` says that no more is needed.
    """

    def __init__(self, line: int | None, limit: int | None) -> None:
        if (line or 0) < 0 or (limit or 0) < 0:
            raise ValueError("line and limit cannot be negative")
        self._to_skip = max((line or 0) - 1, 0)
        self._to_pick = limit
        self.picked = bytearray()
        self.is_full = limit == 0

    def feed(self, data: bytes) -> None:
        start = 0
        if self._to_skip:
            start, skipped = _after_lines(data, 0, self._to_skip)
            self._to_skip -= skipped
            if self._to_skip:
                return
        if self._to_pick is None:
            self.picked += data[start:]
        elif not self.is_full:
            end, found = _after_lines(data, start, self._to_pick)
            self._to_pick -= found
            self.is_full = not self._to_pick
            self.picked += data[start:end]


def _after_lines(data: bytes, start: int, count: int) -> tuple[int, int]:
    """The place behind `count` line feeds from `start` on, or the end; and how many there were up to it."""
    present = data.count(b"\n", start)
    if present < count:
        return len(data), present
    place = start
    for _ in range(count):
        place = data.index(b"\n", place) + 1
    return place, count


def select_lines(text: str, line: int | None, limit: int | None) -> str:
    """The same selection from a whole text."""
    if not line and limit is None:
        return text
    selection = LineSelection(line, limit)
    # A text that is no UTF-8 passes unchanged: the caller judges it.
    selection.feed(text.encode("utf-8", "surrogatepass"))
    return selection.picked.decode("utf-8", "surrogatepass")


def line_end_of(data: bytes) -> LineEnd | None:
    """The line end of all lines of a file; None if they differ or there is none."""
    feeds = data.count(b"\n")
    returns = data.count(b"\r\n")
    if not feeds or (returns and returns != feeds):
        return None
    return "\r\n" if returns else "\n"


def with_line_end(text: str, line_end: LineEnd | None) -> str:
    """The text with this line end; unchanged for None."""
    if line_end is None:
        return text
    plain = text.replace("\r\n", "\n")
    return plain if line_end == "\n" else plain.replace("\n", "\r\n")
