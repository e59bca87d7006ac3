"""Knows how to tell from a peer's first bytes whether it speaks lines or `Content-Length` frames.

The first line that opens with `{` or `[` means lines, one that opens with a `Content-…` header means frames.
Any other line (a banner, a stray print) is a text of its own and says nothing about those that follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from accord.wire.bom import BOM
from accord.wire.headers import HeaderReader
from accord.wire.lines import LineReader
from accord.wire.reader import DEFAULT_MAX_BYTES

if TYPE_CHECKING:
    from accord.errors import FrameError
    from accord.wire.reader import Reader

__all__ = ["AutoReader"]

# A line that does not show itself within these is a banner: what is looked at again and again stays small.
_OPENING_BYTES = 64

_HEADER = re.compile(rb"content-(?:length|type)[ \t]*:", re.IGNORECASE)


class AutoReader:
    """A `Reader` that becomes one of lines or of frames, for good, as soon as the first bytes show which."""

    __slots__ = ("_in_banner", "_max_bytes", "_opening", "_reader", "framing")

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._reader: Reader = LineReader(max_bytes)  # also reads the banners before anything is decided
        self._opening = b""  # of a line that may still become either
        self._in_banner = False
        self.framing: Literal["lines", "headers"] | None = None

    @property
    def fault(self) -> FrameError | None:
        """Why reading cannot go on."""
        return self._reader.fault

    @property
    def pending_bytes(self) -> int:
        """The size of the unfinished line or frame."""
        return len(self._opening) + self._reader.pending_bytes

    def feed(self, data: bytes) -> list[bytes]:
        """The texts that `data` completes; banners are among them."""
        if self.framing is not None:
            return self._reader.feed(data)
        data, self._opening = self._opening + data, b""
        texts: list[bytes] = []
        at, end = 0, len(data)
        while at < end and self.fault is None:
            if not self._in_banner:
                meaning = _meaning_of(data[at : at + _OPENING_BYTES])
                if meaning is None:
                    self._opening = data[at:]
                    break
                if meaning != "banner":
                    self._decide(meaning)
                    return texts + self._reader.feed(data[at:])
            line_end = data.find(b"\n", at) + 1
            self._in_banner = not line_end
            texts += self._reader.feed(data[at : line_end or end])
            at = line_end or end
        return texts

    def finish(self) -> list[bytes]:
        """What is left of the last line or frame."""
        opening, self._opening = self._opening, b""
        return self._reader.feed(opening) + self._reader.finish()

    def _decide(self, framing: Literal["lines", "headers"]) -> None:
        self.framing = framing
        if framing == "headers":
            self._reader = HeaderReader(self._max_bytes)


def _meaning_of(opening: bytes) -> Literal["lines", "headers", "banner"] | None:
    """What a line that opens so says about the framing; None where more bytes are needed to tell."""
    words = opening.removeprefix(BOM).lstrip(b" \t\r")
    if words.startswith((b"{", b"[")):
        return "lines"
    if _HEADER.match(words):
        return "headers"
    if len(opening) == _OPENING_BYTES or b"\n" in opening:
        return "banner"
    so_far = words.lower().rstrip(b" \t")
    undecided = (b"content-length", b"content-type", BOM)
    return None if any(known.startswith(so_far) for known in undecided) else "banner"
