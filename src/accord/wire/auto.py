"""Recognises from a peer's first bytes whether it sends lines or `Content-Length` frames.

A first line that opens with `{` or `[` means lines, one that opens with `Content-Length:` or `Content-Type:` means
frames. A line with any other header may be the first of a frame, so it waits for the line behind it, as long as the
block of headers may be. Every other line (a banner, a stray print) is a text of its own and says nothing about those
that follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from accord.wire.headers import MAX_HEADER_BYTES, HeaderReader
from accord.wire.lines import LineReader
from accord.wire.reader import BOM, DEFAULT_MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.errors import FrameError
    from accord.wire.reader import Reader

__all__ = ["AutoReader"]

# A line that shows no framing within this size is a banner. The limit bounds the bytes that are examined repeatedly.
_OPENING_BYTES = 64

_CONTENT_HEADER = re.compile(rb"content-(?:length|type)[ \t]*:", re.IGNORECASE)
# The characters of a name are those of RFC 9110's token, as in `wire.headers`.
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*(:|\Z)")


class AutoReader:
    """A `Reader` that becomes one of lines or of frames, for good, as soon as the first bytes show which.

    `on_recognised` gets the reader of that framing before it is fed the first text, and may use it in place of this
    one from then on: that saves a call for every chunk.
    """

    __slots__ = ("_block_bytes", "_in_banner", "_max_bytes", "_on_recognised", "_opening", "_reader", "framing")

    def __init__(
        self, max_bytes: int = DEFAULT_MAX_BYTES, on_recognised: Callable[[Reader], None] | None = None
    ) -> None:
        self._max_bytes = max_bytes
        self._on_recognised = on_recognised
        self._reader: Reader = LineReader(max_bytes)  # also reads banners before the framing is known
        self._opening = b""  # lines that may be the first of a block of headers, and a line that may become either
        self._block_bytes = 0  # the whole lines of the opening
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
        data = self._opening + data
        texts: list[bytes] = []
        start, at, end = 0, self._block_bytes, len(data)
        while at < end and self.fault is None:
            meaning = "banner" if self._in_banner else _meaning_of(data[at : at + _OPENING_BYTES])
            if meaning is None:
                break
            if meaning == "lines":
                return texts + self._become(meaning, self._reader, data[start:])
            if meaning == "headers":
                return texts + self._become(meaning, HeaderReader(self._max_bytes), data[start:].removeprefix(BOM))
            line_end = data.find(b"\n", at) + 1
            stop = line_end or end
            if meaning == "header" and stop - start <= MAX_HEADER_BYTES:
                if not line_end:
                    break
            else:
                self._in_banner = not line_end
                texts += self._reader.feed(data[start:stop])
                start = stop
            at = stop
        self._opening, self._block_bytes = (data[start:], at - start) if self.fault is None else (b"", 0)
        return texts

    def finish(self) -> list[bytes]:
        """The rest of the last line or frame."""
        opening, self._opening, self._block_bytes = self._opening, b"", 0
        return self._reader.feed(opening) + self._reader.finish()

    def _become(self, framing: Literal["lines", "headers"], reader: Reader, data: bytes) -> list[bytes]:
        self.framing, self._reader = framing, reader
        self._opening, self._block_bytes = b"", 0
        if self._on_recognised is not None:
            self._on_recognised(reader)
        return reader.feed(data)


def _meaning_of(opening: bytes) -> Literal["lines", "headers", "header", "banner"] | None:
    """The framing that the opening of a line means; None where more bytes are needed.

    `header` is a header of another name, which may stand before `Content-Length`.
    """
    start = opening.removeprefix(BOM).lstrip(b" \t\r")
    if start.startswith((b"{", b"[")):
        return "lines"
    if _CONTENT_HEADER.match(start):
        return "headers"
    header = _HEADER.match(start)
    if header is not None and header[1]:
        return "header"
    if len(opening) == _OPENING_BYTES or b"\n" in opening:
        return "banner"
    return None if header is not None or BOM.startswith(start) else "banner"
