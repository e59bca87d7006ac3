"""`Content-Length` frames, the framing of the Language Server Protocol: reader and writer, recovery after other bytes.

Lengths count bytes. A frame with a wrong length damages itself and its neighbour, not the connection: bytes in header
position that are no header are delivered as a text of their own, for the layer above to refuse, and reading goes on at
the next header, also where that stands on the same line:

    too short   Content-Length: 5    {"id":1}Content-Length: 8 …   →  `{"id"`, `:1}`, the next frame
    too long    Content-Length: 15   {"id":1}Content-Length: 8 …   →  `{"id":1}Content`, `-Length: 8`,
                                                                      the next body
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from accord.wire.reader import BOM, DEFAULT_MAX_BYTES, is_blank, over_limit

if TYPE_CHECKING:
    from accord.errors import FrameError

__all__ = ["MAX_HEADER_BYTES", "HeaderReader", "frame_headers"]

MAX_HEADER_BYTES = 8 * 1024

# Any header: a name of RFC 9110's token characters and a colon. No real name is longer than 64 bytes, so a
# flood of letters is soon known to be none.
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})[ \t]{0,8}:")
_NAME_BYTES = 64 + 8 + 1

# At the end of the line, not at its start: the rest of a body may stand before it. `X-Content-Length` is
# another header.
_LENGTH = re.compile(rb"(?<!-)content-length[ \t]*:[ \t]*([0-9]+)[ \t]*\Z", re.IGNORECASE)


class HeaderReader:
    """A `Reader` of `Content-Length` frames.

    An announced length over `max_bytes` is a fault at once, before any of it is held. So is a block of
    headers over `MAX_HEADER_BYTES`. A block without a length is delivered as a text.
    """

    __slots__ = ("_block", "_block_bytes", "_held", "_length", "_max_bytes", "_missing", "fault", "framing")

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held = bytearray()  # the unfinished header line, or the body so far
        self._block: list[bytes] = []  # the header lines of this frame, kept until its body is complete
        self._block_bytes = 0
        self._length: int | None = None
        self._missing = 0  # bytes of the body to come; 0 in header position
        self.fault: FrameError | None = None
        self.framing: Literal["headers"] = "headers"

    @property
    def pending_bytes(self) -> int:
        """The size of the unfinished frame, its headers included."""
        return len(self._held) + self._block_bytes

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that `data` completes, and lines in header position that are no headers."""
        texts: list[bytes] = []
        at, end = 0, len(data)
        while at < end and self.fault is None:
            at = self._read_body(data, at, texts) if self._missing else self._read_line(data, at, texts)
        return texts

    def finish(self) -> list[bytes]:
        """The part of the last body that came, or the headers if none did."""
        received = bytes(self._held).removesuffix(b"\r")
        if not (self._missing and received):
            received = b"\n".join(filter(None, [*self._block, received]))
        self._held.clear()
        self._reset()
        texts: list[bytes] = []
        self._deliver(received, texts)
        return texts

    def _read_body(self, data: bytes, at: int, texts: list[bytes]) -> int:
        part = data[at : at + self._missing]
        self._missing -= len(part)
        if self._missing:
            self._held += part
        else:
            body = self._complete(part)
            self._reset()
            self._deliver(body, texts)
        return at + len(part)

    def _read_line(self, data: bytes, at: int, texts: list[bytes]) -> int:
        newline = data.find(b"\n", at)
        if newline < 0:
            self._held += data[at:]
            self._check_unfinished_line()
            return len(data)
        self._obey(self._complete(data[at:newline]).removesuffix(b"\r"), texts)
        return newline + 1

    def _complete(self, part: bytes) -> bytes:
        if not self._held:
            return part
        self._held += part
        whole = bytes(self._held)
        self._held.clear()
        return whole

    def _obey(self, line: bytes, texts: list[bytes]) -> None:
        if is_blank(line):
            self._end_block(texts)
            return
        length = _LENGTH.search(line, max(0, len(line) - MAX_HEADER_BYTES))
        if length is not None:
            self._deliver(line[: length.start()], texts)
            self._keep_header(line[length.start() :])
            self._length = _length_of(length[1])
            if self._length > self._max_bytes or self.fault is not None:
                self._fail(over_limit(self._max_bytes))
            return
        header = _HEADER.match(line)
        if header is None or header[1].lower() == b"content-length":
            self._deliver(line, texts)
        else:
            self._keep_header(line)

    def _keep_header(self, line: bytes) -> None:
        self._block.append(line)
        self._block_bytes += len(line)
        self._check_block(self._block_bytes)

    def _end_block(self, texts: list[bytes]) -> None:
        if self._length:
            self._missing = self._length
            return
        no_header_of_ours = b"\n".join(self._block) if self._length is None else b""
        self._reset()
        self._deliver(no_header_of_ours, texts)

    def _deliver(self, text: bytes, texts: list[bytes]) -> None:
        if len(text) > self._max_bytes:
            self._fail(over_limit(self._max_bytes))
        # Without this, a byte order mark before the first header would be delivered as a text of its own.
        elif text != BOM and not is_blank(text):
            texts.append(text)

    def _check_unfinished_line(self) -> None:
        held_bytes = len(self._held)
        if _HEADER.match(self._held[:_NAME_BYTES]):
            self._check_block(self._block_bytes + held_bytes)
        # Only here is the line known to be no header: it may end with the next header, which is not part of its text.
        elif held_bytes > self._max_bytes + MAX_HEADER_BYTES:
            self._fail(over_limit(self._max_bytes))

    def _check_block(self, size_bytes: int) -> None:
        if size_bytes > MAX_HEADER_BYTES:
            self._fail(over_limit(MAX_HEADER_BYTES))

    def _fail(self, fault: FrameError) -> None:
        self._reset()
        self._held.clear()
        self.fault = self.fault or fault

    def _reset(self) -> None:
        self._block.clear()
        self._block_bytes = 0
        self._length = None
        self._missing = 0


def _length_of(digits: bytes) -> int:
    # Twenty digits are over any limit, and int() refuses to read thousands of them.
    return int(digits.lstrip(b"0")[:20] or b"0")


def frame_headers(text: bytes | bytearray) -> bytes:
    """`text` with its length before it."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), bytes(text))
