"""A transport over two byte streams given as descriptors, as stdio and child processes use it."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING

from accord.errors import ConnectionLost, FrameError
from accord.time_scale import scaled
from accord.transport.polled import READ_BYTES, PolledSink, PolledSource, can_poll, enlarge_pipe
from accord.transport.write_buffer import SLICE_BYTES, SendQueue, WriteBuffer
from accord.wire import DEFAULT_MAX_BYTES, AutoReader, frame_headers, frame_line, reader_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.transport.interface import Take, TakeUnsent
    from accord.transport.threaded import ThreadedSink, ThreadedSource
    from accord.wire import Framing, Reader

__all__ = ["StreamTransport", "open_source"]

# A text is taken at once as long as less than this waits for the peer to read it.
HIGH_WATER_BYTES = 256 * 1024

FLUSH_SECONDS = scaled(1.0)

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
        self._texts: list[bytes] = []
        self._receiver: asyncio.Future[bool] | None = None
        self._take: Take | None = None
        self._ended = False
        self._input_error: OSError | None = None
        self._output_error: OSError | None = None
        self._take_unsent: TakeUnsent = lambda *_: None
        self._unyielded_bytes = 0
        self._closed = False
        self._gone = asyncio.Event()
        self._flushed: asyncio.Future[None] | None = None
        self._queue = SendQueue(self._fits, self._put, self._is_over, grants_credit=True)
        self._waiting = self._queue.waiting
        self._buffer = WriteBuffer(takes_lines=framing != "headers")
        enlarge_pipe(read_from)
        enlarge_pipe(write_to)
        # In this order, and closed in the other: both may be one socket, whose blocking mode is restored by
        # the first.
        self._source = open_source(read_from, self._feed, self._on_input_error, force_threads=force_threads)
        self._sink = _open_sink(
            write_to, self._on_space, self._on_output_error, self._buffer, force_threads=force_threads
        )

    @property
    def hung_up(self) -> bool:
        """See `Transport.hung_up`."""
        return self._ended or self._source.hung_up()

    # --- sending

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`.

        Raises:
            ConnectionLost: The peer no longer reads, or this end was closed.
            LocalProtocolError: The text holds a newline and frames are lines.
        """
        if self._closed or self._output_error is not None:
            raise await self._loss()
        frame = self._frame(text)
        if self._has_to_wait(len(frame)):
            if not await self._queue.wait(frame):
                raise await self._loss()
            self._unyielded_bytes = 0
        else:
            self._unyielded_bytes = self._turn_bytes() + len(frame)
            self._sink.put(frame)
        # Only a frame that is larger than the mark itself can bring the buffer over it by much.
        if len(frame) > HIGH_WATER_BYTES and not await self._queue.drain():
            raise await self._loss()
        if self._output_error is not None:
            raise await self._loss()
        if self._unyielded_bytes >= SLICE_BYTES:
            self._unyielded_bytes = 0
            await asyncio.sleep(0)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """See `Transport.try_send`."""
        # A chunk is open while texts follow each other closely, and then a text is two appends. An agent that streams
        # updates needs 1.45 times the CPU where each of them is handed to the sink.
        lines = self._buffer.lines
        if lines is None:
            return self._try_put(texts)
        if len(texts) != 1:
            return self._try_append(lines, texts)
        text = texts[0]
        if _LF in text or (self._waiting and not self._queue.spend_credit(len(text))):
            return False
        if len(lines) + len(text) >= SLICE_BYTES:
            return self._refuse_for_a_turn()
        lines += text
        lines += b"\n"
        return True

    def _try_append(self, lines: bytearray, texts: Sequence[bytes | bytearray]) -> bool:
        """Append any number of texts to the open chunk."""
        size_bytes = sum(map(len, texts)) + len(texts)
        # The two sizes separately, not their sum: refused texts were encoded in vain, and several are at most a quarter
        # of a slice.
        if len(lines) >= SLICE_BYTES or size_bytes >= SLICE_BYTES:
            return self._refuse_for_a_turn()
        if _LF in b"".join(texts) or (self._waiting and not self._queue.spend_credit(size_bytes)):
            return False
        lines += b"\n".join((*texts, b""))
        return True

    def _try_put(self, texts: Sequence[bytes | bytearray]) -> bool:
        """Hand any number of texts to the sink, as one frame."""
        size_bytes = sum(map(len, texts)) + len(texts)
        if self._unyielded_bytes >= SLICE_BYTES or size_bytes >= SLICE_BYTES:
            return self._refuse_for_a_turn()
        if self._closed or self._output_error is not None or self._has_to_wait(size_bytes):
            return False
        if self._reader.framing == "headers":
            frame = b"".join(map(frame_headers, texts))
        elif _LF in b"".join(texts):
            return False
        else:
            frame = b"\n".join((*texts, b""))
        self._unyielded_bytes += size_bytes
        self._sink.put(frame)
        # Written in this instant, or refused: then `send` raises the error.
        return self._output_error is None

    def _refuse_for_a_turn(self) -> bool:
        """The loop is due a turn: `send`, which has to take the next text, gives it one."""
        self._unyielded_bytes = SLICE_BYTES
        return False

    def _turn_bytes(self) -> int:
        """How much was sent since the loop had a turn, more or less."""
        return max(self._unyielded_bytes, len(self._buffer.lines or ()))

    def _on_framing(self, reader: Reader) -> None:
        """The peer's framing is known: the reader of that framing replaces the recogniser."""
        self._reader = reader
        if reader.framing == "headers":
            self._buffer.refuse_lines()

    def _frame(self, text: bytes | bytearray) -> bytes | bytearray:
        return frame_headers(text) if self._reader.framing == "headers" else frame_line(text)

    def _has_to_wait(self, size_bytes: int) -> bool:
        return (bool(self._waiting) and not self._queue.spend_credit(size_bytes)) or not self._fits(size_bytes)

    # --- receiving

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`.

        Raises:
            ConnectionLost: The stream broke.
            FrameError: A text over `max_bytes`, or bytes that are no frame at all.
        """
        self._check_receiver()
        while not self._texts:
            if self._closed:
                return []
            if self._ended:
                await self._end()
                return []
            await self._wait()
        texts, self._texts = self._texts, []
        return texts

    async def _receive_into(self, take: Take) -> bool:
        """See `accord.transport.interface.receive_into`."""
        self._check_receiver()
        while True:
            if self._texts:
                texts, self._texts = self._texts, []
                if not take(texts):
                    return True
            elif self._closed:
                return False
            elif self._ended:
                await self._end()
                return False
            else:
                self._take = take
                try:
                    if await self._wait():
                        return True
                finally:
                    self._take = None

    def _check_receiver(self) -> None:
        if self._receiver is not None:
            raise RuntimeError("another task is receiving from this transport")

    async def _wait(self) -> bool:
        """Wait for texts, the end or a close; True if `_take` wants no more."""
        self._source.resume()
        self._receiver = self._loop.create_future()
        try:
            return await self._receiver
        finally:
            self._receiver = None

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
        """The result of `receive` after the last text: an empty list, or the error that ended the stream."""
        fault = self._reader.fault
        if fault is not None:
            raise FrameError(str(fault), limit_bytes=fault.limit_bytes)
        if self._input_error is not None:
            raise ConnectionLost(f"reading failed: {self._input_error.strerror}") from self._input_error

    async def _loss(self) -> ConnectionLost:
        """The exception for senders after the link is gone."""
        if self._closed or self._output_error is None:
            return ConnectionLost(clean=True)
        return ConnectionLost(f"the peer no longer reads: {self._output_error.strerror}")

    def _begin_close(self) -> None:
        self._closed = True
        self._buffer.close_chunk()
        self._texts = []
        self._queue.close()
        self._wake_receiver()

    async def _flush(self, seconds: float) -> None:
        self._sink.flush()
        if not self._sink.buffered_bytes:
            return
        self._flushed = self._loop.create_future()
        await asyncio.wait((self._flushed,), timeout=seconds)

    def _release(self) -> None:
        self._sink.close()
        self._source.close()
        self._on_space()
        self._gone.set()

    def _fits(self, size_bytes: int) -> bool:
        buffered_bytes = self._sink.buffered_bytes
        return not buffered_bytes or buffered_bytes + size_bytes <= HIGH_WATER_BYTES

    def _put(self, frame: bytes | bytearray) -> None:
        self._sink.put(frame)

    def _is_over(self) -> bool:
        return self._sink.buffered_bytes > HIGH_WATER_BYTES

    def _on_space(self) -> None:
        self._queue.advance()
        if self._flushed is not None and not self._sink.buffered_bytes and not self._flushed.done():
            self._flushed.set_result(None)

    def _on_output_error(self, error: OSError, unsent: bytes) -> None:
        self._output_error = error
        self._queue.close()
        self._on_space()
        if not self._closed:
            self._take_unsent(unsent, self._loss)

    def _feed(self, data: bytes) -> None:
        # Read and discarded: a peer that is blocked in a write could not see that we closed.
        if self._closed:
            return
        texts = self._reader.feed(data) if data else self._reader.finish()
        self._source.greedy = self._reader.pending_bytes > READ_BYTES
        if not data or self._reader.fault is not None:
            self._ended = True
        self._texts += texts
        if self._take is not None and self._texts:
            self._give(self._take)
        if self._ended or self._texts:
            self._source.wanted = False
            self._wake_receiver()

    def _give(self, take: Take) -> None:
        """Give the texts of this read to the receiver, which is resumed only if it wants no more."""
        texts, self._texts = self._texts, []
        try:
            if take(texts):
                return
            outcome: Exception | None = None
        except Exception as error:  # noqa: BLE001 - it is raised at the receiver
            outcome = error
        self._source.wanted = False
        self._take = None
        if self._receiver is None or self._receiver.done():
            return
        if outcome is None:
            self._receiver.set_result(True)
        else:
            self._receiver.set_exception(outcome)

    def _wake_receiver(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(False)

    def _on_input_error(self, error: OSError) -> None:
        # A terminal that was hung up says so where a pipe would simply end.
        if error.errno != errno.EIO:
            self._input_error = error
        self._feed(b"")


def open_source(
    descriptor: int,
    deliver: Callable[[bytes], None],
    fail: Callable[[OSError], None],
    *,
    force_threads: bool = False,
) -> PolledSource | ThreadedSource:
    """A source for `descriptor`: polled where the loop can watch it, threaded elsewhere."""
    if can_poll(descriptor) and not force_threads:
        return PolledSource(descriptor, deliver, fail)
    from accord.transport.threaded import ThreadedSource  # noqa: PLC0415 - few need threads

    return ThreadedSource(descriptor, deliver, fail)


def _open_sink(
    descriptor: int,
    on_space: Callable[[], None],
    fail: Callable[[OSError, bytes], None],
    buffer: WriteBuffer,
    *,
    force_threads: bool,
) -> PolledSink | ThreadedSink:
    if can_poll(descriptor) and not force_threads:
        return PolledSink(descriptor, on_space, fail, buffer)
    from accord.transport.threaded import ThreadedSink  # noqa: PLC0415

    return ThreadedSink(descriptor, on_space, fail)
