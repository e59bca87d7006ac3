"""The recorder of `accord tap`: a forked process that receives the relayed bytes through a pipe, and writes the trace.

The relay spends one write for each read on it. The recorder outlives a relay that is killed until the pipe is empty. It
may fail or be killed itself: the relay reports that and goes on. Where there is no fork (Windows), the relay's own
threads record.

A frame of the pipe is a number (the stream, or a remark on the process), a time, a length and as many bytes.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from accord.time_scale import scaled

if TYPE_CHECKING:
    from accord.trace.recording import SafeRecorder
    from accord.trace.writer import TraceWriter

__all__ = ["AGENT_STREAM", "CLIENT_STREAM", "STDERR_STREAM", "RecorderProcess", "start_recorder"]

CLIENT_STREAM, AGENT_STREAM, STDERR_STREAM = range(3)
_STARTED, _ENDED = 254, 255

_HEAD = struct.Struct("<BdI")
_READ_BYTES = 256 * 1024

# A recorder that waits in `read` is woken by every write of the relay, which costs the relay more than the write
# itself, and takes a core from the two programs. So it pauses between two reads of the pipe, unless much was in it; in
# a steady stream each pause is twice as long as the one before. The end of the relay ends a pause.
_SMALL_READ_BYTES = 64 * 1024
_PAUSE_MILLISECONDS, _LONGEST_PAUSE_MILLISECONDS = 5, 20

_PIPE_BYTES = 1024 * 1024
_F_SETPIPE_SZ = 1031

# A recorder that takes nothing for so long (its disk hangs, or it was stopped) is given up: the conversation waits for
# a slow one, and not for ever.
_STUCK_SECONDS = scaled(5.0)

# The limit of the wait for the recorder's end: a disk that hangs must not delay the exit status of the agent for ever.
_END_SECONDS = 10.0
_LOOK_SECONDS = 0.002

_IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")

Report = Callable[[str], None]


class RecorderProcess:
    """The relay's end of the recorder. No method raises, also when the recorder has failed or ended."""

    def __init__(self, pid: int, pipe: int, report: Report) -> None:
        self._pid = pid
        self._pipe = pipe
        self._report = report
        self._lock = Lock()

    def take(self, stream: int, data: bytes, moment: float) -> None:
        """Hand over one read; no bytes mean the end of the stream."""
        self._send(stream, moment, data)

    def started(self, pid: int, command: Sequence[str]) -> None:
        """Record the start of the program."""
        words = b"\0".join(word.encode("utf-8", "surrogateescape") for word in command)
        self._send(_STARTED, time.monotonic(), b"%d\0%b" % (pid, words))

    def ended(self, status: int) -> None:
        """Record the end of the program, and wait until everything is recorded, for a bounded time."""
        self._send(_ENDED, time.monotonic(), b"%d" % status)
        self.abandon()

    def abandon(self) -> None:
        """Close the pipe and wait for the recorder, for a bounded time."""
        with self._lock:
            pipe, self._pipe = self._pipe, -1
        if pipe >= 0:
            os.close(pipe)
        deadline = time.monotonic() + _END_SECONDS
        with suppress(OSError):
            while time.monotonic() < deadline:
                pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
                if pid and not os.WIFSTOPPED(status):
                    return
                if pid:
                    # It holds our stderr, and may have more to record.
                    os.kill(pid, signal.SIGCONT)
                time.sleep(_LOOK_SECONDS)

    def _send(self, number: int, moment: float, data: bytes) -> None:
        if self._pipe < 0:
            return
        rest: bytes | memoryview = _HEAD.pack(number, moment, len(data)) + data
        try:
            while True:
                try:
                    written = os.write(self._pipe, rest)
                except BlockingIOError:
                    if not self._has_room():
                        self._give_up(f"the recorder has taken nothing for {_STUCK_SECONDS:g} s")
                        return
                    continue
                if written == len(rest):
                    return
                rest = memoryview(rest)[written:]
        except OSError:
            # The end of the recorder ends the recording alone, not the conversation.
            self._give_up("the recorder has ended")

    def _has_room(self) -> bool:
        """Wait until the pipe takes more, for a bounded time; a closed one takes a write, which fails."""
        room = select.poll()
        room.register(self._pipe, select.POLLOUT)
        return bool(room.poll(_STUCK_SECONDS * 1000))

    def _give_up(self, reason: str) -> None:
        # The report too: the relay may end as soon as `abandon` has the lock.
        with self._lock:
            pipe, self._pipe = self._pipe, -1
            if pipe >= 0:
                os.close(pipe)
                self._report(f"{reason}; the conversation goes on without it")


def start_recorder(open_writer: Callable[[], TraceWriter], report: Report) -> RecorderProcess:
    """Start the recorder; to be called while this process has one thread only."""
    if sys.platform == "win32":
        return _InThisProcess(open_writer, report)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(writing)
            _be_recorder(reading, open_writer, report)
        finally:
            # Nothing of the parent's (exit handlers, buffers) is run here.
            os._exit(0)
    os.close(reading)
    os.set_blocking(writing, False)
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - only there

        # Room for many messages at once. Where the system refuses this size, the relay waits more often.
        with suppress(OSError):
            fcntl.fcntl(writing, _F_SETPIPE_SZ, _PIPE_BYTES)
    return RecorderProcess(pid, writing, report)


def _be_recorder(pipe: int, open_writer: Callable[[], TraceWriter], report: Report) -> None:
    # Signals to the relay's process group are for the agent.
    os.setsid()
    for name in _IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    # The client must see the end of these when the relay ends.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    recorder = _Recorder(open_writer, report)
    # Registered without events, so that `poll` returns early only when the relay has closed the pipe or ended.
    end = select.poll()
    end.register(pipe, 0)
    pause = _PAUSE_MILLISECONDS
    held = b""
    while data := os.read(pipe, _READ_BYTES):
        held = recorder.feed(held + data)
        if len(data) < _SMALL_READ_BYTES:
            end.poll(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_MILLISECONDS)
        else:
            pause = _PAUSE_MILLISECONDS
    recorder.close()


class _Recorder:
    """Decodes frames and records their contents."""

    def __init__(self, open_writer: Callable[[], TraceWriter], report: Report) -> None:
        self._report = report
        self._writer: TraceWriter | None = None
        self._streams: list[SafeRecorder] = []
        try:
            self._writer = open_writer()
        except Exception as error:  # noqa: BLE001 - the conversation goes on, whatever the recorder does
            detail = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            name = getattr(error, "filename", None)
            report(f"nothing is recorded: {f'{name}: ' if name else ''}{detail}; the conversation goes on")
            return
        from accord.trace.format import AGENT, CLIENT  # noqa: PLC0415 - the relay does not need them
        from accord.trace.recording import LineRecorder, SafeRecorder, TextRecorder  # noqa: PLC0415

        writer, once = self._writer, _once(report)
        self._streams = [
            SafeRecorder(TextRecorder(writer, CLIENT, AGENT), writer, once),
            SafeRecorder(TextRecorder(writer, AGENT, CLIENT), writer, once),
            SafeRecorder(LineRecorder(writer), writer, once),
        ]

    def feed(self, data: bytes) -> bytes:
        """Record whole frames, with one write for all of them; gives back the rest."""
        at = 0
        while len(data) - at >= _HEAD.size:
            number, moment, length = _HEAD.unpack_from(data, at)
            start = at + _HEAD.size
            if len(data) - start < length:
                break
            self._record(number, data[start : start + length], moment)
            at = start + length
        self.flush()
        return data[at:]

    def take(self, number: int, data: bytes, moment: float) -> None:
        """Record one frame; never raises."""
        self._record(number, data, moment)
        self.flush()

    def flush(self) -> None:
        """Write what was recorded; never raises."""
        if self._streams:
            self._streams[0].flush()

    def _record(self, number: int, data: bytes, moment: float) -> None:
        if self._writer is None:
            return
        if number < len(self._streams):
            stream = self._streams[number]
            if data:
                stream.feed(data, moment)
            else:
                stream.finish()
            return
        try:
            if number == _STARTED:
                pid, *words = data.split(b"\0")
                self._writer.start(int(pid), [word.decode("utf-8", "surrogateescape") for word in words])
            else:
                self._writer.end(int(data))
        except Exception as error:  # noqa: BLE001 - as above
            self._report(f"the recorder failed ({type(error).__name__})")

    def close(self) -> None:
        """End the file."""
        if self._writer is not None:
            self._writer.close()


class _InThisProcess(RecorderProcess):
    """The recorder where there is no fork."""

    def __init__(self, open_writer: Callable[[], TraceWriter], report: Report) -> None:
        super().__init__(0, -1, report)
        self._recorder = _Recorder(open_writer, report)

    def abandon(self) -> None:
        self._recorder.close()

    def _send(self, number: int, moment: float, data: bytes) -> None:
        self._recorder.take(number, data, moment)


def _once(report: Report) -> Report:
    has_reported: list[str] = []

    def report_once(sentence: str) -> None:
        if not has_reported:
            has_reported.append(sentence)
            report(sentence)

    return report_once
