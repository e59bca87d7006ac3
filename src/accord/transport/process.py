"""One child process: its start, its exit status, and its termination together with every process that it started.

A process that has ended is reaped as soon as its process group is empty, so that none stays a zombie. Until then its
number cannot become another's, and a signal to its group hits only what it started. Only Linux shows which processes
are in a group; elsewhere a thread waits for each process, which reaps it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from threading import Thread
from typing import IO, TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from accord.display import whole
from accord.errors import ConnectFailed
from accord.time_scale import scaled
from accord.transport import lineage
from accord.transport.interpreter import environment_of
from accord.transport.watchdog import CLEAN_SCANS, kill_marked, living_groups, signal_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ChildProcess", "Pipes", "reap_when_alone", "start"]

# How long a killed process may take to end. The system holds one that takes longer (a dead network drive).
KILL_SECONDS = scaled(0.5)
_PAUSE_SECONDS = 0.005

# Held here until they are reaped: when a forgotten transport is collected, the finalizer of this object could
# run before the one that ends the process, and complain.
_running: set[subprocess.Popen[bytes]] = set()


class Pipes(NamedTuple):
    """Our ends of a child's stdin, stdout and stderr."""

    stdin: int
    stdout: int
    stderr: int


def start(
    argv: Sequence[str], cwd: str | os.PathLike[str] | None, changes: Mapping[str, str | None]
) -> tuple[ChildProcess, Pipes]:
    """Start a program, in a session and process group of its own, with `changes` to our environment (None unsets).

    Raises:
        ConnectFailed: There is no such program or directory, or it may not be run.
    """
    for name in changes:
        # The system would take `=x` as it is.
        if not name or "=" in name or "\0" in name:
            raise ConnectFailed(f"{name!r} is no name of an environment variable", argv=tuple(argv))
    argv = [_encodable(argument) for argument in argv]
    changes = {_encodable(name): value and _encodable(value) for name, value in changes.items()}
    marker, environment = lineage.mark(environment_of(argv, os.environ, changes))
    # Before the process exists: this one may be killed right after it.
    lineage.adopt(marker, 0)
    try:
        popen = subprocess.Popen(
            _with_program(argv, environment),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        lineage.disown(marker)
        raise ConnectFailed(_reason(argv, error), argv=tuple(argv)) from error
    _running.add(popen)
    return ChildProcess(popen, marker), Pipes(_take(popen.stdin), _take(popen.stdout), _take(popen.stderr))


def _take(stream: IO[bytes] | None) -> int:
    """The descriptor of a stream, as ours to close."""
    if stream is None:
        raise RuntimeError("a pipe that was asked for is missing")
    descriptor = os.dup(stream.fileno())
    stream.close()
    return descriptor


def _encodable(text: str) -> str:
    """An argument as it is; U+FFFD for half a character, unless it is a byte of our own argv that is no UTF-8."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return whole(text)
    return text


def _with_program(argv: Sequence[str], environment: Mapping[str, str]) -> Sequence[str]:
    if not argv or not argv[0]:
        raise ValueError("no program was named")
    if sys.platform == "win32":
        import shutil  # noqa: PLC0415 - only there

        # Windows itself finds no `npx.cmd` for `npx`.
        return [shutil.which(argv[0], path=environment.get("PATH")) or argv[0], *argv[1:]]
    return argv


def _reason(argv: Sequence[str], error: Exception) -> str:
    if not isinstance(error, OSError):
        return f"cannot start a program: {error}"
    # The error names the directory where that is what is missing.
    where = error.filename if error.filename not in {None, argv[0]} else argv[0]
    advice = ""
    if isinstance(error, FileNotFoundError) and len(argv) == 1 and where == argv[0]:
        words = argv[0].split()
        advice = "; this is the name of a program, and the names of agents are for accord run and accord chat"
        if len(words) > 1:
            advice = f"; give its words apart: {', '.join(map(repr, words))}"
    return f"cannot start {argv[0]}: {where}: {error.strerror}{advice}"


class ChildProcess:
    """A child and the processes that it started; none of them outlives `destroy`.

    Its end is seen before it is reaped. Until then its number stays taken, so that a signal to its group
    cannot hit another program. It is reaped as soon as its group is empty.
    """

    def __init__(self, popen: subprocess.Popen[bytes], marker: str) -> None:
        self._popen = popen
        self._marker = marker
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._on_end: Callable[[], None] = _nothing
        self._handle = -1
        self._reaped = False
        self._swept = False
        self._destroyed = False
        self._parent = os.getpid()
        self.pid = popen.pid
        self.exit_status: int | None = None

    def watch(self, on_end: Callable[[], None]) -> None:
        """Call `on_end` in the loop when the process has ended; `exit_status` is known then."""
        self._on_end = on_end
        # Not now: its marker is known, and the child's start comes first.
        self._loop.call_soon(self._adopt)
        try:
            self._handle = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            Thread(target=self._wait_in_thread, name="accord-wait", daemon=True).start()
        else:
            self._loop.add_reader(self._handle, self._on_handle)

    @property
    def ended(self) -> bool:
        """Whether its end was seen."""
        return self._ended.is_set()

    async def wait(self, seconds: float) -> bool:
        """Whether the process has ended, after waiting for that so long at most."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def terminate(self) -> None:
        """Ask the whole group to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    def reap(self) -> None:
        """End what is left of the group of an ended process, and let go of its number."""
        if self._ended.is_set() and not self._reaped:
            self.kill()
            self._reap()

    async def sweep(self) -> None:
        """Kill every descendant that can be found, also those that left the group, until there are none."""
        deadline = self._loop.time() + lineage.SWEEP_SECONDS
        clean = 0
        while clean < CLEAN_SCANS and self._loop.time() < deadline:
            found = kill_marked(self._marker)
            clean = 0 if found else clean + 1
            await asyncio.sleep(_PAUSE_SECONDS if found else 0)
        self._swept = True

    def destroy(self) -> None:
        """Make sure that nothing is left, without a loop: blocks for a moment where there was something."""
        # A forked process has a copy of this object, but the child is not its own.
        if self._destroyed or os.getpid() != self._parent:
            return
        self._destroyed = True
        self._unwatch()
        if not self._reaped:
            self.kill()
            deadline = time.monotonic() + KILL_SECONDS
            while self._popen.poll() is None and time.monotonic() < deadline:
                time.sleep(_PAUSE_SECONDS)
            self._reap()
        if not self._swept:
            lineage.sweep(self._marker)
        lineage.disown(self._marker)
        # A waiter for the regular end need not wait any longer.
        if not self._loop.is_closed():
            self._ended.set()

    def _adopt(self) -> None:
        if not self._destroyed:
            lineage.adopt(self._marker, 0 if self._reaped else self.pid)

    def _signal(self, number: signal.Signals) -> None:
        if self._reaped:
            return
        if sys.platform == "win32":
            self._popen.terminate()
        else:
            signal_group(self.pid, number)

    def _on_handle(self) -> None:
        result = os.waitid(os.P_PIDFD, self._handle, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if result is not None:
            self._end(result.si_status if result.si_code == os.CLD_EXITED else -result.si_status)

    def _wait_in_thread(self) -> None:
        status = self._popen.wait()
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end, status)

    def _end(self, status: int) -> None:
        if not self._ended.is_set():
            self._unwatch()
            self.exit_status = status
            self._ended.set()
            reap_when_alone(self)
            # Not held for longer: this object may be looked at by a thread when its owner is forgotten.
            on_end, self._on_end = self._on_end, _nothing
            on_end()

    @property
    def is_reaped(self) -> bool:
        """Whether its number may be another's by now."""
        return self._reaped or self._destroyed

    def reap_alone(self) -> None:
        """Let go of the number of an ended process whose group is empty."""
        if not self.is_reaped:
            self._reap()

    def _reap(self) -> None:
        status = self._popen.poll()
        if status is not None:
            self._reaped = True
            _running.discard(self._popen)
            self.exit_status = status if self.exit_status is None else self.exit_status
            lineage.leave_group(self._marker)

    def _unwatch(self) -> None:
        if self._handle >= 0:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1


def _nothing() -> None:
    """The callback before one is set."""


# Processes that end together cost one look, and those that are released at once cost none.
FIRST_LOOK_SECONDS = 0.05
# A descendant in the background may live for long.
MAX_LOOK_SECONDS = 5.0


def reap_when_alone(process: ChildProcess) -> None:
    """Have the process reaped when its group is empty. To be called in its loop."""
    loop = asyncio.get_running_loop()
    if loop not in _reapers:
        _reapers[loop] = _Reaper()
    _reapers[loop].add(process)


class _Reaper:
    """The ended processes of one loop that are not reaped yet."""

    def __init__(self) -> None:
        self._held: WeakSet[ChildProcess] = WeakSet()
        # A handle of the timer would hold the loop, and so would never be forgotten with it.
        self._plans = 0
        self._is_looking = False
        self._pause = FIRST_LOOK_SECONDS

    def add(self, process: ChildProcess) -> None:
        self._held.add(process)
        self._pause = FIRST_LOOK_SECONDS
        if not self._is_looking:
            self._plan()

    def _plan(self) -> None:
        self._plans += 1
        asyncio.get_running_loop().call_later(self._pause, self._look, self._plans)

    def _look(self, plan: int) -> None:
        if plan != self._plans or self._is_looking:
            return
        held = [process for process in self._held if not process.is_reaped]
        self._held = WeakSet(held)
        if held:
            self._is_looking = True
            loop = asyncio.get_running_loop()
            # In a thread: to look at a thousand processes takes some 50 ms.
            Thread(target=self._find, args=(loop, held), name="accord-reap", daemon=True).start()

    def _find(self, loop: asyncio.AbstractEventLoop, held: Sequence[ChildProcess]) -> None:
        groups = living_groups()
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._reap, held, groups)

    def _reap(self, held: Sequence[ChildProcess], groups: set[int] | None) -> None:
        self._is_looking = False
        if groups is None:
            return
        for process in held:
            if process.pid not in groups:
                process.reap_alone()
                self._held.discard(process)
        if self._held:
            self._plan()
            self._pause = min(self._pause * 2, MAX_LOOK_SECONDS)


_reapers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Reaper] = WeakKeyDictionary()
