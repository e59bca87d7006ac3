"""Reading and writing of pipes and sockets that the event loop can watch; `threaded` serves everything else."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from asyncio import get_running_loop
from time import monotonic
from typing import TYPE_CHECKING

from accord.transport.write_buffer import SLICE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.transport.write_buffer import WriteBuffer

__all__ = ["READ_BYTES", "PolledSink", "PolledSource", "can_poll", "enlarge_pipe", "has_hung_up", "unread_bytes"]

# Four times the default, which saves wake-ups of both sides when many messages are sent at once. A megabyte measured no
# better, and all pipes of a user share 64 MiB: many large ones would make those of other programs small.
PIPE_BYTES = 256 * 1024


def can_poll(descriptor: int) -> bool:
    """Whether a loop can say when this is ready, and it may be made non-blocking.

    True for pipes and sockets only. A regular file is refused by epoll. A terminal is shared with the process that
    started us: the non-blocking flag would be set for both.
    """
    if sys.platform == "win32":
        return False
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def enlarge_pipe(descriptor: int) -> None:
    """Enlarge the buffer of a pipe, where the system supports and permits it."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every system

        # No pipe, or the user's share of pipe memory is spent: the size it has will do.
        with contextlib.suppress(OSError):
            if fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < PIPE_BYTES:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def has_hung_up(descriptor: int) -> bool:
    """Whether the other end of a pipe or socket is closed everywhere; False where the system does not say it."""
    import select  # noqa: PLC0415 - asked by few

    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # for no event: a hang-up is reported in any case
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def unread_bytes(descriptor: int) -> int:
    """How many bytes a pipe or socket holds now; 0 where the system does not report it."""
    if sys.platform == "win32":
        return 0
    import fcntl  # noqa: PLC0415 - not on every system
    import termios  # noqa: PLC0415

    try:
        answer = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0")
    except OSError:
        return 0
    return int.from_bytes(answer, sys.byteorder)


# More is not faster: the buffer of a larger read comes from the system each time.
READ_BYTES = 64 * 1024

# A writer that is woken for every chunk of a large text loses more time than the chunk takes.
_GREEDY_BYTES = 1024 * 1024

# Frames that come closer to each other than this are joined. To see the turns of the loop themselves would cost one of
# them for every frame that comes alone.
_JOIN_SECONDS = 50e-6

# A peer that reads as fast as we write would keep the loop in one flush for the whole of a large text.
_FLUSH_BYTES = 1024 * 1024


class PolledSource:
    """Reads while `wanted` is set; owns the descriptor.

    `deliver` gets each chunk as it came, b"" at the end, once. Setting `wanted` to False stops reading before
    the next chunk; `resume` asks for more.
    """

    def __init__(self, descriptor: int, deliver: Callable[[bytes], None], fail: Callable[[OSError], None]) -> None:
        self._loop = get_running_loop()
        self._descriptor = descriptor
        self._deliver = deliver
        self._fail = fail
        self._was_blocking = os.get_blocking(descriptor)
        os.set_blocking(descriptor, False)
        self.wanted = False
        self.greedy = False
        """Whether the pipe is emptied in one go: in the middle of a large text a part of it is of no use."""
        self._watched = False
        self._ended = False
        self._closed = False
        self._remaining_bytes: int | None = None

    def resume(self) -> None:
        self.wanted = True
        if not self._watched and not self._ended:
            self._loop.add_reader(self._descriptor, self._on_readable)
            self._watched = True

    def end_soon(self) -> None:
        """Read the present content of the pipe as the last, although other processes may write more."""
        if self._ended:
            return
        self._remaining_bytes = unread_bytes(self._descriptor)
        if not self._remaining_bytes:
            self._end()

    def hung_up(self) -> bool:
        """Whether the other end is closed, also while nothing is read."""
        return self._ended or has_hung_up(self._descriptor)

    def close(self) -> None:
        """Give the descriptor back as it was, and close it."""
        if self._closed:
            return
        self._closed = self._ended = True
        self._unwatch()
        with contextlib.suppress(OSError):
            os.set_blocking(self._descriptor, self._was_blocking)
        os.close(self._descriptor)

    def _on_readable(self) -> None:
        # Only now: as long as the receiver keeps up, the descriptor is not removed from the loop and added again for
        # each chunk.
        if self.wanted:
            self._read()
        else:
            self._unwatch()

    def _read(self) -> None:
        budget_bytes = _GREEDY_BYTES
        while self._read_chunk() and self.greedy and self.wanted and budget_bytes > 0:
            budget_bytes -= READ_BYTES

    def _read_chunk(self) -> bool:
        """Whether a whole chunk came, so that more may be there."""
        limit_bytes = self._remaining_bytes
        try:
            data = os.read(self._descriptor, READ_BYTES if limit_bytes is None else min(READ_BYTES, limit_bytes))
        except BlockingIOError:
            return False
        except OSError as error:
            self._ended = True
            self._unwatch()
            self._fail(error)
            return False
        if not data:
            self._end()
            return False
        self._deliver(data)
        if limit_bytes is not None:
            self._remaining_bytes = limit_bytes - len(data)
            if self._remaining_bytes <= 0:
                self._end()
        return len(data) == READ_BYTES and not self._ended

    def _end(self) -> None:
        # What was delivered last may have closed us.
        if not self._ended:
            self._ended = True
            self._unwatch()
            self._deliver(b"")

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            # A closed loop has forgotten the descriptor itself.
            if not self._loop.is_closed():
                self._loop.remove_reader(self._descriptor)


class PolledSink:
    """Writes at once what it can; owns the descriptor.

    A frame leaves at once, except where frames follow each other closely: the further frames of that turn of the loop
    are joined in `buffer` and leave together at its end. `on_space` is called when the system took some of what was
    buffered.
    """

    def __init__(
        self, descriptor: int, on_space: Callable[[], None], fail: Callable[[OSError, bytes], None], buffer: WriteBuffer
    ) -> None:
        self._loop = get_running_loop()
        self._descriptor = descriptor
        self._on_space = on_space
        self._fail = fail
        self._was_blocking = os.get_blocking(descriptor)
        os.set_blocking(descriptor, False)
        self._buffer = buffer
        self._in_turn = False
        self._wrote_at = 0.0
        self._watched = False
        self._closed = False

    @property
    def buffered_bytes(self) -> int:
        """How much the system did not take yet."""
        return self._buffer.size_bytes

    def put(self, frame: bytes | bytearray) -> None:
        """Take one frame; it will leave whole and behind all others."""
        if not self._in_turn and not self._buffer.chunks:
            now = monotonic()
            if now - self._wrote_at >= _JOIN_SECONDS:
                self._wrote_at = now
                self._put_at_once(frame)
                return
            self._in_turn = True
            self._loop.call_soon(self._end_turn)
        # Past a slice only what leaves in this instant: a chunk that has to wait would be closed to further lines.
        self._buffer.append(frame, SLICE_BYTES if self._watched else 2 * SLICE_BYTES)
        if not self._watched and self._buffer.size_bytes >= SLICE_BYTES:
            self.flush()

    def _put_at_once(self, frame: bytes | bytearray) -> None:
        written = self._write(frame)
        if written < len(frame):
            self._buffer.append_rest(frame, written)
            self._watch()

    def flush(self) -> None:
        """Write what can be written without waiting; the loop does the rest when the peer reads."""
        buffer, budget_bytes = self._buffer, _FLUSH_BYTES
        while buffer.chunks and budget_bytes > 0:
            with buffer.first() as chunk:
                written = self._write(chunk)
            if self._closed:
                return
            budget_bytes -= written
            if not buffer.remove(written):
                break
        if buffer.chunks:
            self._watch()
        else:
            self._unwatch()

    def close(self) -> None:
        """Give the descriptor back as it was, and close it. What it did not take is lost."""
        if self._closed:
            return
        self._closed = True
        self._unwatch()
        self._buffer.clear()
        with contextlib.suppress(OSError):
            os.set_blocking(self._descriptor, self._was_blocking)
        os.close(self._descriptor)

    def _write(self, data: bytes | bytearray | memoryview) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            unsent = self._buffer.unsent()
            self.close()
            self._fail(error, unsent)
            return len(data)

    def _end_turn(self) -> None:
        self._in_turn = False
        if not self._watched:
            self.flush()
            # Also where a full slice has left within the turn already: nothing else wakes the senders that wait.
            self._on_space()
        self._wrote_at = monotonic()

    def _on_writable(self) -> None:
        self.flush()
        self._on_space()

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            self._loop.add_writer(self._descriptor, self._on_writable)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            if not self._loop.is_closed():
                self._loop.remove_writer(self._descriptor)
