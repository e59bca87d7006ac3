"""The relay of `accord tap`: starts a program, passes the bytes of its three streams, and records them afterwards.

Each direction has a thread that reads, writes and then records, in this order, so that a killed tap loses at most the
last read of each direction. The blocking write is the back-pressure: no more is read from one side than the other
takes. No event loop: two system calls for each read are all that stands between the two programs.

The records have the order of the reads: a read has its place in the journal before it is forwarded, so that an answer
cannot be recorded before its request.
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
from threading import Event, Lock, Thread
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from accord.errors import ConnectFailed
from accord.transport import lineage
from accord.transport.watchdog import signal_group

if TYPE_CHECKING:
    from accord.trace.writer import TraceWriter

__all__ = ["Journal", "Sink", "Stream", "run_tap"]

READ_BYTES = 64 * 1024

# A descendant of the program may hold its stdout open for ever; so long it may be silent before the tap ends.
DRAIN_SECONDS = 0.25
# The client's last bytes are recorded, though the program that they were for has ended.
LAST_READ_SECONDS = 1.0
_LOOK_SECONDS = 0.01

# A thread that has just read waits no longer than this for one that records a large text.
_SWITCH_SECONDS = 0.0005

_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")

_SIGNALLED = 128


class Sink(Protocol):
    """Takes the bytes of one stream after they were forwarded; never raises."""

    def feed(self, data: bytes, moment: float | None = None) -> None:
        """Take the bytes of one read, and the time of it by `time.monotonic`."""

    def finish(self) -> None:
        """Take note that the stream has ended."""


class Journal:
    """What was read and is not recorded yet, in the order of the reads: at most one read of each stream."""

    def __init__(self) -> None:
        self._entries: deque[tuple[Stream, bytes, float]] = deque()
        self._lock = Lock()
        self._ready = Event()
        self._sinks: dict[Stream, Sink] = {}

    def record_with(self, sinks: dict[Stream, Sink]) -> None:
        """Set what records each stream; until then forwarded bytes wait, one read of each."""
        self._sinks = sinks
        self._ready.set()

    def note(self, stream: Stream, data: bytes) -> None:
        """Give a read its place; no bytes mean the end of the stream."""
        self._entries.append((stream, data, time.monotonic()))

    def record(self) -> None:
        """Record everything that was noted before this call."""
        self._ready.wait()
        with self._lock:
            while self._entries:
                stream, data, moment = self._entries.popleft()
                sink = self._sinks.get(stream)
                if sink is None:
                    continue
                if data:
                    sink.feed(data, moment)
                else:
                    sink.finish()


class Stream:
    """One direction: reads, forwards and then records, until the source ends or the target does not take any more."""

    def __init__(self, source: int, target: int, journal: Journal, *, keeps_target: bool = False) -> None:
        self.is_idle = False
        """Whether nothing that was read is on its way: the stream waits for its source, or has ended."""
        self.bytes = 0
        """How many bytes were read."""
        self._source = source
        self._target = target
        self._journal = journal
        self._keeps_target = keeps_target
        self.thread = Thread(target=self._run, name="accord-tap", daemon=True)

    def _run(self) -> None:
        journal = self._journal
        is_open = True
        while is_open:
            self.is_idle = True
            data = _read(self._source)
            self.is_idle = False
            if not data:
                break
            journal.note(self, data)
            is_open = _write(self._target, data) or self._keeps_target
            self.bytes += len(data)
            journal.record()
        # The end passes on at once, and is recorded behind that.
        if not self._keeps_target:
            os.close(self._target)
        os.close(self._source)
        journal.note(self, b"")
        journal.record()
        self.is_idle = True


def run_tap(argv: Sequence[str], open_writer: Callable[[], TraceWriter | None], report: Callable[[str], None]) -> int:
    """Start a program, relay our stdin, stdout and stderr to it, and record all three; returns the exit status.

    `open_writer` is called when the program runs already; None, or an OSError, means that nothing is recorded.
    `report` gets a sentence when recording fails.

    Raises:
        ConnectFailed: There is no such program, or it may not be run.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    child: list[subprocess.Popen[bytes]] = []
    _pass_signals_on(child)
    stdin, stdout, stderr = _take_streams()
    process, marker = _start(argv)
    child.append(process)
    journal = Journal()
    up = Stream(stdin, _descriptor(process.stdin), journal)
    down = Stream(_descriptor(process.stdout), stdout, journal)
    errors = Stream(_descriptor(process.stderr), stderr, journal, keeps_target=True)
    for stream in (up, down, errors):
        stream.thread.start()
    writer = _open(open_writer, report, argv, process.pid)
    journal.record_with({} if writer is None else _sinks(writer, report, up, down, errors))
    status = _wait(process)
    _drain((down, errors), up)
    # The program ended by itself: what it left running is not ours to end.
    lineage.disown(marker)
    if writer is not None:
        _finish(writer, status, report)
    return _SIGNALLED - status if status < 0 else status


def _open(
    open_writer: Callable[[], TraceWriter | None], report: Callable[[str], None], argv: Sequence[str], pid: int
) -> TraceWriter | None:
    try:
        writer = open_writer()
        if writer is not None:
            writer.start(pid, argv)
    except Exception as error:  # noqa: BLE001 - the conversation goes on, whatever the recorder does
        detail = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        name = getattr(error, "filename", None)
        report(f"nothing is recorded: {f'{name}: ' if name else ''}{detail}; the conversation goes on")
        return None
    return writer


def _sinks(
    writer: TraceWriter, report: Callable[[str], None], up: Stream, down: Stream, errors: Stream
) -> dict[Stream, Sink]:
    # While the program starts: this is imported behind its back.
    from accord.trace.format import AGENT, CLIENT  # noqa: PLC0415
    from accord.trace.recording import LineRecorder, SafeRecorder, TextRecorder  # noqa: PLC0415

    report = _once(report)
    return {
        up: SafeRecorder(TextRecorder(writer, CLIENT, AGENT), writer, report),
        down: SafeRecorder(TextRecorder(writer, AGENT, CLIENT), writer, report),
        errors: SafeRecorder(LineRecorder(writer), writer, report),
    }


def _finish(writer: TraceWriter, status: int, report: Callable[[str], None]) -> None:
    try:
        writer.end(status)
        writer.close()
    except Exception as error:  # noqa: BLE001 - the program's exit status must come through
        report(f"the recorder failed ({type(error).__name__})")


def _once(report: Callable[[str], None]) -> Callable[[str], None]:
    has_reported: list[str] = []

    def report_once(sentence: str) -> None:
        if not has_reported:
            has_reported.append(sentence)
            report(sentence)

    return report_once


def _start(argv: Sequence[str]) -> tuple[subprocess.Popen[bytes], str]:
    marker, environment = lineage.mark(os.environ)
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
    """Send what we are sent to the program's process group, and go on until it ends."""

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
    """Wait for the end of the program, with a hand free for signals."""
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
    """Whether all of it was written; False where nobody reads it any more."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])
        except OSError:
            return False
    return True
