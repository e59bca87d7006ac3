"""NDJSON: one text per line.

It is lenient where other writers differ (CRLF, blank lines, a byte order mark before the first text) and
touches nothing else: bytes that are no UTF-8 pass through as they came.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Literal

from accord.errors import LocalProtocolError
from accord.wire.reader import DEFAULT_MAX_BYTES, is_blank, over_limit, strip_bom

if TYPE_CHECKING:
    from accord.errors import FrameError

__all__ = ["LineReader", "frame_line"]


# As numbers: searching for an integer byte is several times as fast as searching for a bytes object of length one.
_LF, _CR = b"\n\r"


class LineReader:
    """A `Reader` of lines. Neither a line's end nor the byte order mark counts against `max_bytes`."""

    __slots__ = ("_held", "_held_bytes", "_max_bytes", "_opening", "fault", "framing")

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # The unfinished line. A `BytesIO` gives its buffer away as the line, without a copy. Chunks that are kept and
        # joined at the end need as much memory again, and the first use of memory is what costs most: an agent that
        # reads files of 10 MB needs two thirds of the CPU time this way.
        self._held: BytesIO | None = None
        self._held_bytes = 0
        self._opening: bytes | None = b""
        self.fault: FrameError | None = None
        self.framing: Literal["lines"] = "lines"

    @property
    def pending_bytes(self) -> int:
        """The size of the unfinished line."""
        return self._held_bytes + len(self._opening or b"")

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
        if _LF not in data:
            if data:
                self._hold(data)
            return []
        return self._split(data)

    def finish(self) -> list[bytes]:
        """The last line, where it has no end."""
        last = ((self._opening or b"") + self._let_go()).removesuffix(b"\r")
        self._opening = None
        return [] if is_blank(last) else [last]

    def _split(self, data: bytes) -> list[bytes]:
        lines = data.split(b"\n")
        rest = lines.pop()
        if self._held is not None:
            self._held.write(lines[0])
            lines[0] = self._let_go()
        if _CR in data or lines[0].endswith(b"\r"):
            lines = [line.removesuffix(b"\r") for line in lines]
        # Only a large chunk, or one that ends a held line, can hold a line over the limit.
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
        if self._held is None:
            self._held = BytesIO()
        self._held.write(data)
        self._held_bytes += len(data)
        excess = self._held_bytes - self._max_bytes
        # One byte over the limit may be the CR of the line's end.
        if excess > 1 or (excess == 1 and not data.endswith(b"\r")):
            self._fail()

    def _let_go(self) -> bytes:
        held, self._held, self._held_bytes = self._held, None, 0
        return b"" if held is None else held.getvalue()

    def _fail(self) -> None:
        self._let_go()
        self.fault = over_limit(self._max_bytes)


def frame_line(text: bytes | bytearray) -> bytes | bytearray:
    """`text` as a line; a bytearray is not copied but becomes the line itself.

    Raises:
        LocalProtocolError: The text holds a newline and would be read as two.
    """
    if _LF in text:
        raise LocalProtocolError("a text for one line holds a newline", expected="a text without newlines")
    if isinstance(text, bytearray):
        text += b"\n"
        return text
    return text + b"\n"
