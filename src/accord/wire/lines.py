"""Knows NDJSON: one text per line.

It is lenient where other writers differ (CRLF, blank lines, a byte order mark before the first text) and
touches nothing else: bytes that are no UTF-8 pass through as they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accord.errors import LocalProtocolError
from accord.wire.bom import strip_bom
from accord.wire.reader import DEFAULT_MAX_BYTES, is_blank, over_limit

if TYPE_CHECKING:
    from accord.errors import FrameError

__all__ = ["LineReader", "frame_line"]


class LineReader:
    """A `Reader` of lines. Neither a line's end nor the byte order mark counts against `max_bytes`."""

    __slots__ = ("_held", "_max_bytes", "_opening", "fault", "framing")

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # A bytearray grows in place: linear in the line's length however small the pieces are, and hardly
        # larger than the line itself, which a list of tiny pieces would not be.
        self._held = bytearray()
        self._opening: bytes | None = b""
        self.fault: FrameError | None = None
        self.framing: Literal["lines"] = "lines"

    @property
    def pending_bytes(self) -> int:
        """The size of the unfinished line."""
        return len(self._held) + len(self._opening or b"")

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends; blank ones are skipped."""
        if self.fault is not None:
            return []
        if self._opening is not None:
            opening = strip_bom(self._opening + data)
            if opening is None:
                self._opening += data
                return []
            self._opening = None
            data = opening
        if b"\n" not in data:
            self._hold(data)
            return []
        return self._split(data)

    def finish(self) -> list[bytes]:
        """The last line, where it has no end."""
        last = ((self._opening or b"") + self._held).removesuffix(b"\r")
        self._opening = None
        self._held.clear()
        return [] if is_blank(last) else [last]

    def _split(self, data: bytes) -> list[bytes]:
        lines = data.split(b"\n")
        rest = lines.pop()
        if self._held:
            self._held += lines[0]
            lines[0] = bytes(self._held)
            self._held.clear()
        if b"\r" in data or lines[0].endswith(b"\r"):
            lines = [line.removesuffix(b"\r") for line in lines]
        # Only a large piece, or one that ends a held line, can hold a line over the limit.
        if len(data) > self._max_bytes or len(lines[0]) > self._max_bytes:
            lines = self._within_limit(lines)
        if rest and self.fault is None:
            self._hold(rest)
        return [line for line in lines if line and not line.isspace()]

    def _within_limit(self, lines: list[bytes]) -> list[bytes]:
        for index, line in enumerate(lines):
            if len(line) > self._max_bytes:
                self._fail()
                return lines[:index]
        return lines

    def _hold(self, data: bytes) -> None:
        held = self._held
        held += data
        excess = len(held) - self._max_bytes
        # One byte too much may still turn out to be the CR of the line's end.
        if excess > 1 or (excess == 1 and not held.endswith(b"\r")):
            self._fail()

    def _fail(self) -> None:
        self._held.clear()
        self.fault = over_limit(self._max_bytes)


def frame_line(text: bytes) -> bytes:
    """`text` as a line.

    Raises:
        LocalProtocolError: The text holds a newline and would be read as two.
    """
    if b"\n" in text:
        raise LocalProtocolError("a text for one line holds a newline", expected="a text without newlines")
    return text + b"\n"
