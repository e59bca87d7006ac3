"""Knows how to move texts over two byte streams given as descriptors, as stdio and child processes do."""

from __future__ import annotations

import asyncio
import errno
import functools
from collections import deque
from typing import TYPE_CHECKING

from accord.errors import ConnectionLost, FrameError
from accord.transport.burst import FAVOUR_BYTES, SLICE_BYTES, Burst
from accord.transport.descriptors import can_poll, enlarge_pipe
from accord.transport.polled import READ_BYTES, PolledSink, PolledSource
from accord.transport.turnstile import Turnstile
from accord.wire import DEFAULT_MAX_BYTES, AutoReader, frame_headers, frame_line, reader_for
from accord.wire.piece import Piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.transport.threaded import ThreadedSink, ThreadedSource
    from accord.wire import Framing, Reader

__all__ = ["StreamTransport", "open_source"]

# A text is taken at once as long as less than this waits for the peer to read it.
HIGH_WATER_BYTES = 256 * 1024

FLUSH_SECONDS = 1.0

_LF = 0x0A


class StreamTransport:
    """A `Transport` over a descriptor to read and one to write, both of which it owns from now on.

    They are switched to non-blocking mode and back where they are pipes or sockets; everything else (or all,
    with `force_threads`) is served by threads. With the framing `auto` it sends lines until the peer's first bytes
    show that it sends frames. To be made in a running loop, and used in that loop alone.
    """

    def __init__(
        self,
        read_from: int,
        write_to: int,
        *,
        framing: Framing = "lines",
        max_bytes: int = DEFAULT_MAX_BYTES,
        force_threads: bool = False,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = AutoReader(max_bytes, self._on_framing) if framing == "auto" else reader_for(framing, max_bytes)
        self._texts: deque[bytes] = deque()
        self._receiver: asyncio.Future[bool] | None = None
        self._take: Callable[[Piece], bool] | None = None
        self._ended = False
        self._input_error: OSError | None = None
        self._output_error: OSError | None = None
        self._unyielded_bytes = 0
        self._closed = False
        self._gone = asyncio.Event()
        self._flushed: asyncio.Future[None] | None = None
        self._drains: list[asyncio.Future[None]] = []
        self._turnstile = Turnstile(self._fits, self._put, FAVOUR_BYTES)
        self._waiting = self._turnstile.waiting
        self._burst = self._new_burst()
        # Nobody else can add to frames that leave.
        self.burst = Burst() if framing == "headers" else self._burst
        enlarge_pipe(read_from)
        enlarge_pipe(write_to)
        # In this order, and closed in the other: both may be one socket, whose blocking mode is restored by
        # the first.
        self._source = open_source(read_from, self._feed, self._on_input_error, force_threads=force_threads)
        self._sink = _open_sink(
            write_to, self._on_room, self._on_output_error, self._burst, force_threads=force_threads
        )

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`.

        Raises:
            ConnectionLost: The peer no longer reads, or this end was closed.
            LocalProtocolError: The text holds a newline and lines are spoken.
        """
        if self._closed or self._output_error is not None:
            raise await self._loss()
        frame = self._frame(text)
        if self._has_to_wait(len(frame)):
            passed = await self._turnstile.wait(frame)
            self._unyielded_bytes = 0
            self._burst.favour()
        else:
            passed = True
            # What others have put there in place counts as well: the loop is due a turn when it is a slice.
            self._unyielded_bytes = max(self._unyielded_bytes, len(self.burst.lines or ())) + len(frame)
            self._sink.put(frame)
        if not passed or self._output_error is not None:
            raise await self._loss()
        if self._unyielded_bytes >= SLICE_BYTES:
            self._unyielded_bytes = 0
            await asyncio.sleep(0)

    def hung_up(self) -> bool:
        """See `HangUpTransport.hung_up`."""
        return self._ended or self._source.hung_up()

    async def drain(self) -> None:
        """See `DrainingTransport.drain`."""
        while self._sink.buffered_bytes > HIGH_WATER_BYTES and not self._closed:
            drained = self._loop.create_future()
            self._drains.append(drained)
            await drained

    def queue(self, text: bytes | bytearray) -> asyncio.Future[bool] | None:
        """See `QueueingTransport.queue`."""
        if self._closed or self._output_error is not None:
            return None
        frame = self._frame(text)
        if self._has_to_wait(len(frame)):
            # Nor may the sender itself say more before it.
            self._burst.favour_bytes = 0
            return self._turnstile.join(frame)[1]
        self._sink.put(frame)
        return None

    def post(self, text: bytes | bytearray) -> bool:
        """See `PostingTransport.post`: lines of a burst are appended to what leaves at the end of this turn."""
        lines = self.burst.lines
        if lines is None or _LF in text or (self._waiting and not self._may_go_on(len(text))):
            return False
        if len(lines) + len(text) >= SLICE_BYTES:
            self._unyielded_bytes = SLICE_BYTES  # so `send`, which has to take this one, gives the loop a turn
            return False
        lines += text
        lines += b"\n"
        return True

    def post_lines(self, lines: bytes) -> bool:
        """See `PostingTransport.post_lines`."""
        before = self.burst.lines
        if before is None or len(before) >= SLICE_BYTES or len(lines) >= SLICE_BYTES:
            return False
        if self._waiting and not self._may_go_on(len(lines)):
            return False
        before += lines
        before += b"\n"
        return True

    def _new_burst(self) -> Burst:
        # With the loop: to find the running one is a system call, and this is asked for each text.
        return Burst(self._waiting, functools.partial(asyncio.current_task, self._loop))

    def _on_framing(self, reader: Reader) -> None:
        """The peer has shown its framing: its reader takes the place of the one that recognised it."""
        self._reader = reader
        if reader.framing == "headers":
            # `burst` stays as it is, and closed: whoever holds it finds no lines any more.
            self._burst = self._new_burst()
            if isinstance(self._sink, PolledSink):
                self._sink.replace_burst(self._burst)

    def _frame(self, text: bytes | bytearray) -> bytes | bytearray:
        return frame_headers(text) if self._reader.framing == "headers" else frame_line(text)

    def _has_to_wait(self, size_bytes: int) -> bool:
        return (bool(self._waiting) and not self._may_go_on(size_bytes)) or not self._fits(size_bytes)

    def _may_go_on(self, size_bytes: int) -> bool:
        """Whether the sender may say so much, although others wait."""
        if self._burst.favour_bytes < size_bytes or not self._burst.goes_on():
            return False
        self._burst.favour_bytes -= size_bytes
        return True

    async def receive(self) -> bytes | None:
        """See `Transport.receive`.

        Raises:
            ConnectionLost: The stream broke.
            FrameError: A text over `max_bytes`, or bytes that are no frame at all.
        """
        if self._texts:
            return self._texts.popleft()
        if self._receiver is not None:
            raise RuntimeError("somebody else is receiving from this transport")
        while not self._texts:
            if self._closed:
                return None
            if self._ended:
                await self._end()
                return None
            self._source.resume()
            self._receiver = self._loop.create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        return self._texts.popleft()

    async def deliver(self, take: Callable[[Piece], bool]) -> bool:
        """See `DeliveringTransport.deliver`.

        Raises:
            ConnectionLost: The stream broke.
            FrameError: A text over `max_bytes`, or bytes that are no frame at all.
        """
        if self._receiver is not None:
            raise RuntimeError("somebody else is receiving from this transport")
        while True:
            while self._texts:
                if not self._take_held(take):
                    return True
            if self._closed:
                return False
            if self._ended:
                await self._end()
                return False
            self._source.resume()
            self._take = take
            self._receiver = self._loop.create_future()
            try:
                if await self._receiver:
                    return True
            finally:
                self._receiver = self._take = None

    async def close(self) -> None:
        """See `Transport.close`; what was sent is written for one second at most."""
        if self._closed:
            await self._gone.wait()
            return
        self._begin_close()
        try:
            await self._flush(FLUSH_SECONDS)
        finally:
            self._release()

    async def _end(self) -> None:
        """What a receiver gets behind the last text: nothing, or the reason why there is no more."""
        fault = self._reader.fault
        if fault is not None:
            raise FrameError(str(fault), limit_bytes=fault.limit_bytes)
        if self._input_error is not None:
            raise ConnectionLost(f"reading failed: {self._input_error.strerror}") from self._input_error

    async def _loss(self) -> ConnectionLost:
        """Why nothing can be sent any more."""
        if self._closed or self._output_error is None:
            return ConnectionLost(clean=True)
        return ConnectionLost(f"the peer no longer reads: {self._output_error.strerror}")

    def _begin_close(self) -> None:
        self._closed = True
        if isinstance(self._sink, PolledSink):
            self._sink.end_burst()
        self._texts.clear()
        self._turnstile.shut()
        self._end_drains()
        self._wake_receiver()

    async def _flush(self, seconds: float) -> None:
        self._sink.flush()
        if not self._sink.buffered_bytes:
            return
        self._flushed = self._loop.create_future()
        await asyncio.wait((self._flushed,), timeout=seconds)

    def _release(self) -> None:
        """Let go of the descriptors."""
        self._sink.close()
        self._source.close()
        self._on_room()
        self._gone.set()

    def _fits(self, size_bytes: int) -> bool:
        buffered_bytes = self._sink.buffered_bytes
        return not buffered_bytes or buffered_bytes + size_bytes <= HIGH_WATER_BYTES

    def _put(self, frame: bytes | bytearray) -> None:
        self._sink.put(frame)

    def _on_room(self) -> None:
        if self._turnstile:
            self._turnstile.advance()
        if self._drains and self._sink.buffered_bytes <= HIGH_WATER_BYTES:
            self._end_drains()
        if self._flushed is not None and not self._sink.buffered_bytes and not self._flushed.done():
            self._flushed.set_result(None)

    def _end_drains(self) -> None:
        drains, self._drains = self._drains, []
        for drained in drains:
            if not drained.done():
                drained.set_result(None)

    def _on_output_error(self, error: OSError) -> None:
        self._output_error = error
        self._turnstile.shut()
        self._on_room()

    def _feed(self, data: bytes) -> None:
        # Read to be thrown away: a peer that is stuck in a write could not see that we closed.
        if self._closed:
            return
        texts = self._reader.feed(data) if data else self._reader.finish()
        self._source.greedy = self._reader.pending_bytes > READ_BYTES
        if not data or self._reader.fault is not None:
            self._ended = True
        if self._take is not None and not self._texts:
            self._hand_over(texts)
            return
        self._texts.extend(texts)
        if self._ended or self._texts:
            self._source.wanted = False
            self._wake_receiver()

    def _take_held(self, take: Callable[[Piece], bool]) -> bool:
        """Give what was kept for later; what is not wanted yet stays in front of what comes meanwhile."""
        piece = Piece(list(self._texts))
        self._texts.clear()
        try:
            return take(piece)
        finally:
            if not self._closed:
                self._texts.extendleft(reversed(list(piece.left)))

    def _hand_over(self, texts: list[bytes]) -> None:
        """Give texts to whoever takes them as they come; what they do not want yet stays."""
        take, piece = self._take or _refuse, Piece(texts)
        try:
            if not take(piece):
                self._stop_taking(None, list(piece.left))
                return
        except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
            self._stop_taking(error, list(piece.left))
            return
        if self._ended:
            self._source.wanted = False
            self._wake_receiver()

    def _stop_taking(self, error: Exception | None, rest: list[bytes]) -> None:
        self._source.wanted = False
        if self._closed:
            return
        self._texts.extend(rest)
        if self._receiver is None or self._receiver.done():
            return
        if error is not None:
            self._receiver.set_exception(error)
        else:
            self._receiver.set_result(True)

    def _on_input_error(self, error: OSError) -> None:
        # A terminal that was hung up says so where a pipe would simply end.
        if error.errno != errno.EIO:
            self._input_error = error
        self._feed(b"")

    def _wake_receiver(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(False)


def _refuse(_: Piece) -> bool:
    """Takes nothing."""
    return False


def open_source(
    descriptor: int,
    deliver: Callable[[bytes], None],
    fail: Callable[[OSError], None],
    *,
    force_threads: bool = False,
) -> PolledSource | ThreadedSource:
    """Something that reads `descriptor`, in the way that suits it."""
    if can_poll(descriptor) and not force_threads:
        return PolledSource(descriptor, deliver, fail)
    from accord.transport.threaded import ThreadedSource  # noqa: PLC0415 - few need threads

    return ThreadedSource(descriptor, deliver, fail)


def _open_sink(
    descriptor: int, on_room: Callable[[], None], fail: Callable[[OSError], None], burst: Burst, *, force_threads: bool
) -> PolledSink | ThreadedSink:
    if can_poll(descriptor) and not force_threads:
        return PolledSink(descriptor, on_room, fail, burst)
    from accord.transport.threaded import ThreadedSink  # noqa: PLC0415

    return ThreadedSink(descriptor, on_room, fail)
