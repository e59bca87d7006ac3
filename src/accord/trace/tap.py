"""The relay of `accord tap`: starts a program, passes the bytes of its three streams, and hands them to a recorder.

Each direction has a thread that reads, writes and then hands over, in this order. The blocking write is the
back-pressure: no more is read from one side than the other takes. No event loop: two system calls for each read are all
that stands between the two programs.

The recorder is a process of its own (`recorder_process`), reached by a pipe: what was handed over survives this
process, so a killed tap loses at most the last read of each direction. A read has its place in the order before it is
forwarded, so that an answer cannot be recorded before its request.

A program that streams small messages would wake the relay, and the relay its peer, for each of them; on a busy machine
these wake-ups cost more than the messages. So while one side streams and the other is silent, the relay pauses after
each read until about 24 KiB should have come, for 0.9 milliseconds at most, and then forwards all of it. A conversation
of requests and answers never waits.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock, Thread
from types import FrameType
from typing import TYPE_CHECKING

from accord.errors import ConnectFailed
from accord.trace.recorder_process import AGENT_STREAM, CLIENT_STREAM, STDERR_STREAM, start_recorder
from accord.transport import lineage
from accord.transport.interpreter import environment_of
from accord.transport.watchdog import signal_group

if TYPE_CHECKING:
    from accord.trace.writer import TraceWriter

__all__ = ["ReadOrder", "Stream", "run_tap"]

READ_BYTES = 64 * 1024

# A side streams when so many reads of it follow each other within `_STREAM_GAP_SECONDS`, and none of the other side.
STREAM_READS = 16
# Longer than a pause by far: a relay that is woken late on a busy machine still sees a stream.
_STREAM_GAP_SECONDS = 0.006
# A pause ends before the pipe is full, 64 KiB, so that the sender never waits for room, and no message is late by more
# than a millisecond; a pause below 0.3 ms saves no wake-up.
_COLLECTED_BYTES = 24 * 1024
_LONGEST_PAUSE_SECONDS, _SHORTEST_PAUSE_SECONDS = 0.0009, 0.0003

# A descendant of the program may hold its stdout open for ever: after so much silence the tap ends.
DRAIN_SECONDS = 0.25
# The limit of the wait until the client's last bytes are recorded, after the program has ended.
LAST_READ_SECONDS = 1.0
_LOOK_SECONDS = 0.01

_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")

_SIGNALLED = 128


class ReadOrder:
    """The reads that are not handed over yet, in their order: at most one of each stream."""

    def __init__(self, take: Callable[[int, bytes, float], None]) -> None:
        self._take = take
        self._entries: deque[tuple[int, bytes, float]] = deque()
        self._lock = Lock()
        self._latest_stream = -1
        self._reads_in_row = 0
        self._latest = 0.0
        self._bytes_per_second = 0.0

    def note(self, stream: int, data: bytes) -> None:
        """Give a read its place; no bytes mean the end of the stream."""
        now = time.monotonic()
        self._entries.append((stream, data, now))
        # Stderr is no part of the conversation: it neither begins nor ends a stream of messages.
        if stream != STDERR_STREAM:
            gap = now - self._latest
            is_next = stream == self._latest_stream and gap < _STREAM_GAP_SECONDS
            self._reads_in_row = self._reads_in_row + 1 if is_next else 0
            self._bytes_per_second = len(data) / gap if gap else 0.0
            self._latest_stream, self._latest = stream, now

    def pause_seconds(self, stream: int) -> float:
        """How long to wait for more of a stream; 0 unless the latest reads were all of it, and close together."""
        rate = self._bytes_per_second
        if self._reads_in_row < STREAM_READS or stream != self._latest_stream or not rate:
            return 0.0
        pause = min(_COLLECTED_BYTES / rate, _LONGEST_PAUSE_SECONDS)
        return pause if pause >= _SHORTEST_PAUSE_SECONDS else 0.0

    def hand_over(self) -> None:
        """Hand over everything that was noted before this call."""
        with self._lock:
            while self._entries:
                self._take(*self._entries.popleft())

    def close(self) -> None:
        """Take nothing more: a stream whose end is no longer waited for may still read."""
        with self._lock:
            self._take = _ignore


def _ignore(_stream: int, _data: bytes, _moment: float) -> None:
    """Take a read that comes after the end."""


class Stream:
    """One direction: reads, forwards and then hands over, until the source ends or the target takes no more."""

    def __init__(self, number: int, source: int, target: int, order: ReadOrder, *, keeps_target: bool = False) -> None:
        self.is_idle = False
        """Whether nothing that was read is on its way: the stream waits for its source, or has ended."""
        self.bytes = 0
        """How many bytes were read."""
        self._number = number
        self._source = source
        self._target = target
        self._order = order
        self._keeps_target = keeps_target
        self.thread = Thread(target=self._run, name="accord-tap", daemon=True)

    def _run(self) -> None:
        order = self._order
        is_open = True
        while is_open:
            self.is_idle = True
            data = _read(self._source)
            self.is_idle = False
            if not data:
                break
            order.note(self._number, data)
            is_open = _write(self._target, data) or self._keeps_target
            self.bytes += len(data)
            order.hand_over()
            # A read of this size needs no pause: the sender is ahead of the relay.
            if len(data) < _COLLECTED_BYTES and (pause := order.pause_seconds(self._number)):
                self.is_idle = True
                time.sleep(pause)
        # The end is forwarded at once, and recorded after that.
        if not self._keeps_target:
            os.close(self._target)
        os.close(self._source)
        order.note(self._number, b"")
        order.hand_over()
        self.is_idle = True


def run_tap(argv: Sequence[str], open_writer: Callable[[], TraceWriter], report: Callable[[str], None]) -> int:
    """Start a program, relay our stdin, stdout and stderr to it, and record all three; returns the exit status.

    `open_writer` is called in the recorder; an OSError means that nothing is recorded. `report` gets a sentence when
    recording fails.

    Raises:
        ConnectFailed: There is no such program, or it may not be run.
    """
    # First of all: this process has neither threads nor pipes yet that a fork would copy.
    recorder = start_recorder(open_writer, report)
    child: list[subprocess.Popen[bytes]] = []
    _pass_signals_on(child)
    stdin, stdout, stderr = _take_streams()
    try:
        process, marker = _start(argv)
    except ConnectFailed:
        recorder.abandon()
        raise
    child.append(process)
    order = ReadOrder(recorder.take)
    recorder.started(process.pid, argv)
    up = Stream(CLIENT_STREAM, stdin, _descriptor(process.stdin), order)
    down = Stream(AGENT_STREAM, _descriptor(process.stdout), stdout, order)
    errors = Stream(STDERR_STREAM, _descriptor(process.stderr), stderr, order, keeps_target=True)
    for stream in (up, down, errors):
        stream.thread.start()
    status = _wait(process)
    _drain((down, errors), up)
    # The program ended by itself: processes that it left running are not ended.
    lineage.disown(marker)
    order.close()
    recorder.ended(status)
    return _SIGNALLED - status if status < 0 else status


def _start(argv: Sequence[str]) -> tuple[subprocess.Popen[bytes], str]:
    marker, environment = lineage.mark(environment_of(argv, os.environ, {}))
    # Before the process exists: this one may be killed right after it.
    lineage.adopt(marker, 0)
    try:
        process = subprocess.Popen(
            list(argv),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        lineage.disown(marker)
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConnectFailed(f"cannot start {argv[0]}: {reason}", argv=tuple(argv)) from error
    lineage.adopt(marker, process.pid)
    return process, marker


def _descriptor(stream: object) -> int:
    """The descriptor of a pipe, as ours to close."""
    fileno = getattr(stream, "fileno", None)
    if fileno is None:
        raise RuntimeError("a pipe that was asked for is missing")
    descriptor = os.dup(fileno())
    getattr(stream, "close")()  # noqa: B009 - an IO of any kind
    return descriptor


def _take_streams() -> tuple[int, int, int]:
    """Private copies of our streams; nothing else of this program can write to stdout, or read from stdin."""
    copies = os.dup(0), os.dup(1), os.dup(2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return copies


def _pass_signals_on(child: list[subprocess.Popen[bytes]]) -> None:
    """Forward our signals to the program's process group, and go on until the program ends."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not child:
            os._exit(_SIGNALLED + number)
        if sys.platform == "win32":
            child[0].terminate()
        else:
            signal_group(child[0].pid, number)

    for name in _FORWARDED:
        number = getattr(signal, name, None)
        # `nohup` and its like: the program ignores it too.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of the program, and handle signals meanwhile."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # A signal in the moment before a blocking call would wait as long as the program runs; a byte in a pipe does not.
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def wait() -> None:
        process.wait()
        with contextlib.suppress(OSError):
            os.write(writing, b"\0")

    waiter = Thread(target=wait, name="accord-wait", daemon=True)
    waiter.start()
    while process.returncode is None:
        os.read(reading, 64)
    waiter.join()
    signal.set_wakeup_fd(-1)
    return process.returncode


def _drain(sources: Sequence[Stream], up: Stream) -> None:
    """Wait until everything that the ended program wrote has passed."""
    for stream in sources:
        passed, deadline = -1, 0.0
        while stream.thread.is_alive():
            now = time.monotonic()
            # A client that reads slowly is waited for; one that is gone ends the stream.
            if stream.bytes != passed or not stream.is_idle:
                passed, deadline = stream.bytes, now + DRAIN_SECONDS
            elif now > deadline:
                break
            stream.thread.join(_LOOK_SECONDS)
    deadline = time.monotonic() + LAST_READ_SECONDS
    while not up.is_idle and up.thread.is_alive() and time.monotonic() < deadline:
        up.thread.join(_LOOK_SECONDS)


def _read(source: int) -> bytes:
    while True:
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:
            # Another holder of the same pipe has switched its mode.
            select.select([source], [], [])
        except OSError:
            return b""


def _write(target: int, data: bytes) -> bool:
    """Whether all of it was written; False where the other end is closed."""
    rest: bytes | memoryview = data
    while True:
        try:
            written = os.write(target, rest)
        except BlockingIOError:
            select.select([], [target], [])
            continue
        except OSError:
            return False
        if written == len(rest):
            return True
        rest = memoryview(rest)[written:]
