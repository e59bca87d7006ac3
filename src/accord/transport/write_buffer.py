"""The outgoing side of a transport: a buffer that joins texts to few writes, and the queue of waiting senders."""

from __future__ import annotations

from asyncio import CancelledError, Future, current_task, get_running_loop
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

__all__ = ["CREDIT_BYTES", "SLICE_BYTES", "SendQueue", "WriteBuffer"]

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

    def unsent(self) -> bytes:
        """All frames that are not written, the one that was begun from its last line break on."""
        data = b"".join(self.chunks)
        return data[data.rfind(b"\n", 0, self._offset) + 1 :]

    def first(self) -> memoryview:
        """The unwritten part of the first chunk; to be released before any other call."""
        return memoryview(self.chunks[0])[self._offset :]

    def remove(self, written_bytes: int) -> bool:
        """Remove so many written bytes of the first chunk; whether that was all of it."""
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
        self.chunks.clear()
        self._open = self.lines = None
        self._offset = self._closed_bytes = 0


CREDIT_BYTES = 16 * 1024
"""How much a sender that had to wait may send before it has to wait again behind the others."""


class SendQueue:
    """Senders that wait for space. `fits` says whether the buffer has space for so many bytes, `put` puts a frame in.

    The code that makes space puts in the frame of the first sender, on its behalf. So no other sender overtakes it
    between being woken and running, and a cancelled sender has either sent its whole frame or left nothing behind.

    `is_over` says whether the buffer holds more than its high-water mark, which a single large frame may: `drain` waits
    for the end of that.
    """

    __slots__ = (
        "_credit_bytes",
        "_credit_holder",
        "_drains",
        "_fits",
        "_is_over",
        "_loop",
        "_put",
        "_reserve",
        "waiting",
    )

    def __init__(
        self,
        fits: Callable[[int], bool],
        put: Callable[[bytes | bytearray], object],
        is_over: Callable[[], bool],
        *,
        grants_credit: bool = False,
    ) -> None:
        self._loop: AbstractEventLoop | None = None
        self._fits = fits
        self._put = put
        self._is_over = is_over
        self._reserve = CREDIT_BYTES if grants_credit else 0
        self._credit_holder: object = None
        self._credit_bytes = 0
        self._drains: list[Future[bool]] = []
        self.waiting: deque[tuple[bytes | bytearray, Future[bool]]] = deque()
        """The frames for which there was no space, each with the future of its sender."""

    async def wait(self, frame: bytes | bytearray) -> bool:
        """Wait until `frame` was put in; False means that it never will be."""
        loop = self._loop = get_running_loop()
        ticket: tuple[bytes | bytearray, Future[bool]] = (frame, loop.create_future())
        self.waiting.append(ticket)
        try:
            was_put = await ticket[1]
        except CancelledError:
            if ticket in self.waiting:
                self.waiting.remove(ticket)
                # Room that was too small for this frame may do for the next.
                self.advance()
            raise
        # Many senders, each of which sends several texts, would otherwise wait once for each text.
        self._credit_holder, self._credit_bytes = current_task(loop), self._reserve
        return was_put

    def spend_credit(self, size_bytes: int) -> bool:
        """Whether the running task was the last to be served, and may still send so much although others wait."""
        # With the stored loop: finding the running one is a system call, and this runs for each text.
        if self._credit_bytes < size_bytes or self._credit_holder is not current_task(self._loop):
            return False
        self._credit_bytes -= size_bytes
        return True

    async def drain(self) -> bool:
        """Wait while the buffer holds more than its high-water mark; False if the queue was closed meanwhile."""
        while self._is_over():
            drained: Future[bool] = get_running_loop().create_future()
            self._drains.append(drained)
            if not await drained:
                return False
        return True

    def advance(self) -> None:
        """Let in the frames that fit now, with the credit of their senders."""
        waiting, reserved_bytes = self.waiting, 0
        while waiting and self._fits(len(waiting[0][0]) + reserved_bytes):
            reserved_bytes += self._reserve
            frame, was_put = waiting.popleft()
            # Its task is cancelled but did not run yet: it must find that nothing was sent.
            if was_put.done():
                continue
            self._put(frame)
            was_put.set_result(True)
        if self._drains and not self._is_over():
            self._end_drains(is_drained=True)

    def close(self) -> None:
        """Fail all waiting senders."""
        while self.waiting:
            was_put = self.waiting.popleft()[1]
            if not was_put.done():
                was_put.set_result(False)
        self._end_drains(is_drained=False)

    def _end_drains(self, *, is_drained: bool) -> None:
        drains, self._drains = self._drains, []
        for drained in drains:
            if not drained.done():
                drained.set_result(is_drained)
