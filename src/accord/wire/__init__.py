"""Framing: cuts a stream of bytes into texts, as NDJSON lines, `Content-Length` frames or server-sent events.

A text is one JSON document as bytes, within a size limit. This package never parses one, never waits and never raises
on bytes that a peer sent: bytes that cannot be read become the reader's `fault`. Server-sent events are in
`accord.wire.sse` and are not imported here: only HTTP needs them.
"""

from __future__ import annotations

from accord.wire.auto import AutoReader
from accord.wire.headers import HeaderReader, frame_headers
from accord.wire.lines import LineReader, frame_line
from accord.wire.reader import DEFAULT_MAX_BYTES, Framing, Reader

__all__ = [
    "DEFAULT_MAX_BYTES",
    "AutoReader",
    "Framing",
    "HeaderReader",
    "LineReader",
    "Reader",
    "frame",
    "frame_headers",
    "frame_line",
    "reader_for",
]


def reader_for(framing: Framing, max_bytes: int = DEFAULT_MAX_BYTES) -> Reader:
    """A fresh reader for one stream; it serves that stream only, from its first byte."""
    if framing == "lines":
        return LineReader(max_bytes)
    return HeaderReader(max_bytes) if framing == "headers" else AutoReader(max_bytes)


def frame(text: bytes | bytearray, framing: Framing) -> bytes | bytearray:
    """The bytes that carry `text`; `auto` means lines until the peer has used another framing.

    Raises:
        LocalProtocolError: The framing is lines and the text holds a newline.
    """
    return frame_headers(text) if framing == "headers" else frame_line(text)
