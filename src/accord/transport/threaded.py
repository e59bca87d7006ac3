"""Reading and writing by threads, for descriptors that no event loop can watch (files, terminals, Windows pipes).

The threads are daemons: one that is blocked in a system call never keeps the interpreter from ending.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
from asyncio import get_running_loop
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Literal

from accord.transport.polled import READ_BYTES
from accord.transport.write_buffer import SLICE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ThreadedSink", "ThreadedSource"]

# POSIX: a pipe that is ready to be written takes this much without blocking, so its writer can still be
# stopped.
_SAFE_WRITE_BYTES = SLICE_BYTES if sys.platform == "win32" else select.PIPE_BUF


class _Alarm:
    """Lets a thread wait for its descriptor and for the order to stop, whichever comes first."""

    def __init__(self) -> None:
        self._listening, self._ringing = (-1, -1) if sys.platform == "win32" else os.pipe()

    def wait(self, descriptor: int, *, to_write: bool) -> bool:
        """True when the descriptor is ready (or that is not known), False when the thread has to stop."""
        if sys.platform == "win32":
            return True
        waiting = select.poll()
        waiting.register(descriptor, select.POLLOUT if to_write else select.POLLIN)
        waiting.register(self._listening, select.POLLIN)
        return all(ready != self._listening for ready, _ in waiting.poll())

    def ring(self) -> None:
        if self._ringing >= 0:
            os.close(self._ringing)
            self._ringing = -1

    def drop(self) -> None:
        if self._listening >= 0:
            os.close(self._listening)
            self._listening = -1


class ThreadedSource:
    """Reads one chunk for each call of `resume`; the thread owns the descriptor and closes it when it ends.

    As `accord.transport.polled.PolledSource`, except that `end_soon` ends at once.
    """

    def __init__(self, descriptor: int, deliver: Callable[[bytes], None], fail: Callable[[OSError], None]) -> None:
        self._loop = get_running_loop()
        self._descriptor = descriptor
        self._deliver = deliver
        self._fail = fail
        self.wanted = False
        self.greedy = False
        """Without effect here: a thread always reads everything that is there."""
        self._reading = False
        self._ended = False
        self._orders: SimpleQueue[Literal["read", "stop"]] = SimpleQueue()
        self._alarm = _Alarm()
        self._closed = False
        Thread(target=self._run, name="accord-reader", daemon=True).start()

    def resume(self) -> None:
        self.wanted = True
        if not self._reading and not self._ended:
            self._reading = True
            self._orders.put("read")

    def end_soon(self) -> None:
        """End the stream with the bytes that were read so far."""
        self._arrive(b"")

    def hung_up(self) -> bool:
        """Always False: the thread owns the descriptor, and a hang-up shows only when it reads."""
        return self._ended

    def close(self) -> None:
        """Have the thread close the descriptor as soon as its system call returns."""
        if self._closed:
            return
        self._closed = self._ended = True
        self._orders.put("stop")
        self._alarm.ring()

    def _arrive(self, data: bytes) -> None:
        self._reading = False
        if self._ended:
            return
        self._ended = not data
        self._deliver(data)
        if self.wanted:
            self.resume()

    def _break(self, error: OSError) -> None:
        if not self._ended:
            self._ended = True
            self._fail(error)

    def _run(self) -> None:
        # The loop may be closed before: then there is no receiver.
        with contextlib.suppress(RuntimeError):
            self._serve()
        os.close(self._descriptor)
        self._alarm.drop()

    def _serve(self) -> None:
        while self._orders.get() == "read" and self._alarm.wait(self._descriptor, to_write=False):
            try:
                data = os.read(self._descriptor, READ_BYTES)
            except OSError as error:
                self._loop.call_soon_threadsafe(self._break, error)
                continue
            self._loop.call_soon_threadsafe(self._arrive, data)


class ThreadedSink:
    """Has a thread write what was put; the thread owns the descriptor and closes it when it ends.

    As `accord.transport.polled.PolledSink`; frames that were put while the thread was busy leave together.
    """

    def __init__(self, descriptor: int, on_space: Callable[[], None], fail: Callable[[OSError, bytes], None]) -> None:
        self._loop = get_running_loop()
        self._descriptor = descriptor
        self._on_space = on_space
        self._fail = fail
        self.buffered_bytes = 0
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._slice_bytes = SLICE_BYTES if is_file else _SAFE_WRITE_BYTES
        self._frames: SimpleQueue[bytes | bytearray | None] = SimpleQueue()
        self._batch: bytes | bytearray = b""
        self._alarm = _Alarm()
        self._closed = False
        Thread(target=self._run, name="accord-writer", daemon=True).start()

    def put(self, frame: bytes | bytearray) -> None:
        """Take one frame; it will leave whole and behind all others."""
        self.buffered_bytes += len(frame)
        self._frames.put(frame)

    def flush(self) -> None:
        """Nothing to do: the thread writes as fast as it can."""

    def close(self) -> None:
        """Have the thread close the descriptor as soon as its system call returns; unwritten bytes are lost."""
        if self._closed:
            return
        self._closed = True
        self.buffered_bytes = 0
        self._frames.put(None)
        self._alarm.ring()

    def _on_written(self, size_bytes: int) -> None:
        if not self._closed:
            self.buffered_bytes -= size_bytes
            self._on_space()

    def _break(self, error: OSError) -> None:
        if not self._closed:
            # Of the batch that broke all: what of it was written is not known.
            unsent = [self._batch]
            while not self._frames.empty():
                unsent.append(self._frames.get() or b"")
            self.close()
            self._fail(error, b"".join(unsent))

    def _run(self) -> None:
        with contextlib.suppress(RuntimeError):
            try:
                self._serve()
            except OSError as error:
                self._loop.call_soon_threadsafe(self._break, error)
        os.close(self._descriptor)
        self._alarm.drop()

    def _serve(self) -> None:
        while batch := self._next_batch():
            self._batch = batch
            with memoryview(batch) as view:
                for start in range(0, len(batch), SLICE_BYTES):
                    size_bytes = len(view[start : start + SLICE_BYTES])
                    if not self._write(view[start : start + size_bytes]):
                        return
                    self._loop.call_soon_threadsafe(self._on_written, size_bytes)

    def _next_batch(self) -> bytes | bytearray:
        frames: list[bytes | bytearray] = []
        frame = self._frames.get()
        size_bytes = 0
        while frame is not None:
            frames.append(frame)
            size_bytes += len(frame)
            if size_bytes >= SLICE_BYTES or self._frames.empty():
                break
            frame = self._frames.get()
        else:
            # Closed: the unwritten rest is dropped, and the signal to stop is consumed.
            return b""
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def _write(self, data: memoryview) -> bool:
        """Write all of `data`; False if it was stopped on the way."""
        written = 0
        while written < len(data):
            if not self._alarm.wait(self._descriptor, to_write=True):
                return False
            written += os.write(self._descriptor, data[written : written + self._slice_bytes])
        return True
