"""NDJSON: one text per line.

It is lenient where other writers differ (CRLF, blank lines, a byte order mark before the first text) and
touches nothing else: bytes that are no UTF-8 pass through as they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accord.errors import LocalProtocolError
from accord.wire.reader import DEFAULT_MAX_BYTES, is_blank, over_limit, strip_bom

if TYPE_CHECKING:
    from accord.errors import FrameError

__all__ = ["LineReader", "frame_line"]


# As numbers: searching for an integer byte is several times as fast as searching for a bytes object of length one.
_LF, _CR = b"\n\r"

# From this size on a chunk is kept as it is.
_CHUNK_BYTES = 4096


class LineReader:
    """A `Reader` of lines. Neither a line's end nor the byte order mark counts against `max_bytes`."""

    __slots__ = ("_held", "_held_bytes", "_max_bytes", "_opening", "fault", "framing")

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # Joined once, when the line ends. Small chunks are joined in a bytearray: a list of tiny ones would be many
        # times as large as the line.
        self._held: list[bytes | bytearray] = []
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
            self._hold(data)
            return []
        return self._split(data)

    def finish(self) -> list[bytes]:
        """The last line, where it has no end."""
        last = b"".join([self._opening or b"", *self._held]).removesuffix(b"\r")
        self._opening = None
        self._let_go()
        return [] if is_blank(last) else [last]

    def _split(self, data: bytes) -> list[bytes]:
        lines = data.split(b"\n")
        rest = lines.pop()
        if self._held:
            lines[0] = b"".join([*self._held, lines[0]])
            self._let_go()
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
        held = self._held
        if len(data) >= _CHUNK_BYTES:
            held.append(data)
        elif held and isinstance(held[-1], bytearray):
            held[-1] += data
        else:
            held.append(bytearray(data))
        self._held_bytes += len(data)
        excess = self._held_bytes - self._max_bytes
        # One byte over the limit may be the CR of the line's end.
        if excess > 1 or (excess == 1 and not held[-1].endswith(b"\r")):
            self._fail()

    def _let_go(self) -> None:
        self._held.clear()
        self._held_bytes = 0

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
