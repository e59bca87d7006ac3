"""The write buffer of a stream: frames that the system did not take yet, small ones joined into large chunks."""

from __future__ import annotations

from collections import deque

__all__ = ["SLICE_BYTES", "WriteBuffer"]

SLICE_BYTES = 64 * 1024
"""A chunk of joined frames is written when it has this size. A sender gives the loop a turn after as many bytes, so
that one which never has to wait still notices its cancellation."""


class WriteBuffer:
    """Chunks of whole frames, in order; the last one may be open for further frames.

    `lines` is the open chunk while frames are lines, and None otherwise. The transport appends lines to it directly:
    an attribute and not a method, because it is looked at for each update of a stream.
    """

    __slots__ = ("_closed_bytes", "_offset", "_open", "_takes_lines", "chunks", "lines")

    def __init__(self, *, takes_lines: bool = True) -> None:
        self.chunks: deque[bytes | bytearray] = deque()
        self._offset = 0
        """How much of the first chunk is written."""
        self._closed_bytes = 0
        """All chunks but the open one, less what is written."""
        self._open: bytearray | None = None
        self._takes_lines = takes_lines
        self.lines: bytearray | None = None

    @property
    def size_bytes(self) -> int:
        """How much is not written."""
        return self._closed_bytes if self._open is None else self._closed_bytes + len(self._open)

    def append(self, frame: bytes | bytearray, open_bytes: int) -> None:
        """Add one frame; the open chunk does not grow beyond `open_bytes`."""
        if self._open is not None and len(self._open) + len(frame) <= open_bytes:
            self._open += frame
            return
        self.close_chunk()
        if len(frame) >= SLICE_BYTES:
            # Large enough to go alone: joining it with others would only copy it.
            self.chunks.append(frame)
            self._closed_bytes += len(frame)
            return
        self._open = bytearray(frame)
        self.chunks.append(self._open)
        if self._takes_lines:
            self.lines = self._open

    def append_rest(self, frame: bytes | bytearray, written_bytes: int) -> None:
        """Add what is left of a frame that was written in part; the buffer must be empty."""
        self.chunks.append(frame)
        self._offset = written_bytes
        self._closed_bytes = len(frame) - written_bytes

    def first(self) -> memoryview:
        """What is not written of the first chunk; to be released before anything else is done here."""
        return memoryview(self.chunks[0])[self._offset :]

    def remove(self, written_bytes: int) -> bool:
        """So much of the first chunk was written; whether that was all of it."""
        chunk = self.chunks[0]
        if chunk is self._open and self._offset + written_bytes == len(chunk):
            self.close_chunk()
        self._closed_bytes -= written_bytes
        self._offset += written_bytes
        if self._offset < len(chunk):
            return False
        self.chunks.popleft()
        self._offset = 0
        return True

    def close_chunk(self) -> None:
        """Let nothing be added to the last chunk."""
        self._closed_bytes = self.size_bytes
        self._open = self.lines = None

    def refuse_lines(self) -> None:
        """From now on frames are no lines."""
        self.close_chunk()
        self._takes_lines = False

    def clear(self) -> None:
        """Forget everything."""
        self.chunks.clear()
        self._open = self.lines = None
        self._offset = self._closed_bytes = 0
