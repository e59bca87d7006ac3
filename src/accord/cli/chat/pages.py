"""Parts a growing text into pages that a screen can lay out one by one: at blank lines, inside code if it must."""

from __future__ import annotations

from accord.display import EMPTY, SafeText, filled, joined, part_of, prose

__all__ = ["Pages"]

# From here on the next blank line ends a page; at the second number it ends wherever it is.
SOFT_CHARS = 3_000
HARD_CHARS = 6_000
_FENCES = ("```", "~~~")


class Pages:
    """Feed it what comes; it says what belongs to the page that is open, and where another begins."""

    def __init__(self) -> None:
        self._chars = 0
        self._line = EMPTY
        self._fence: SafeText | None = None

    def feed(self, text: SafeText) -> list[tuple[bool, SafeText]]:
        """Pieces in order, each with whether it begins a new page. Code that goes on is fenced in both."""
        parts: list[tuple[bool, list[SafeText]]] = [(False, [])]
        for piece in _pieces(text):
            if self._chars + len(piece) > HARD_CHARS:
                if self._fence is not None:
                    parts[-1][1].append(filled("\n{}\n", part_of(self._fence, 0, 3)))
                parts.append((True, [] if self._fence is None else [filled("{}\n", self._fence)]))
                self._chars = 0
            parts[-1][1].append(piece)
            self._chars += len(piece)
            if self._ends_page(piece):
                parts.append((True, []))
                self._chars = 0
        # A page begins when there is something to put on it; until then this is known by its length alone.
        if parts[-1] == (True, []):
            parts.pop()
            self._chars = HARD_CHARS
        return [(new, joined(pieces)) for new, pieces in parts if pieces]

    def _ends_page(self, piece: SafeText) -> bool:
        self._line = joined([self._line, piece])
        if not piece.endswith("\n"):
            self._line = part_of(self._line, -200) if len(self._line) > SOFT_CHARS else self._line
            return False
        line, self._line = prose(self._line.strip()), EMPTY
        if line.startswith(_FENCES):
            if self._fence is None:
                self._fence = line
            elif line.startswith(self._fence[:3]):
                self._fence = None
        return not line and self._fence is None and self._chars >= SOFT_CHARS


def _pieces(text: SafeText) -> list[SafeText]:
    """Lines with their ends; what is longer than any page is cut, at a blank where there is one."""
    pieces: list[SafeText] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        while end - start > SOFT_CHARS:
            blank = text.rfind(" ", start, start + SOFT_CHARS) + 1
            cut = blank if blank > start else start + SOFT_CHARS
            pieces.append(part_of(text, start, cut))
            start = cut
        pieces.append(part_of(text, start, end))
        start = end
    return pieces
