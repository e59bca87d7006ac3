"""The registry of this process's descendants: none of them outlives it, also when it is killed.

Each child gets a marker in its environment that its descendants inherit. Those that are alive when the interpreter ends
are killed then; for the case that it has no time to do so (`kill -9`), a watchdog process has the same list.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from accord.transport import watchdog
from accord.transport.interpreter import has_interpreter, own_command

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["adopt", "disown", "leave_group", "mark", "sweep"]

VARIABLE = "ACCORD_LINEAGE"

# How long killed processes may take to vanish. If they take longer, the system holds them.
SWEEP_SECONDS = 0.5

_EXIT_SECONDS = 1.0


def mark(environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A new marker, and the environment for a child that shall have it.

    Markers add up: a child of a child has both, and is found by either.
    """
    marker = os.urandom(16).hex()
    inherited = environment.get(VARIABLE)
    return marker, {**environment, VARIABLE: f"{inherited}:{marker}" if inherited else marker}


def adopt(marker: str, group: int) -> None:
    """From now on the process group and every process with the marker must not outlive us."""
    _household.note(marker, group)


def leave_group(marker: str) -> None:
    """The group is gone and its number may soon be another's; the marker still counts."""
    if _household.knows(marker):
        _household.note(marker, 0)


def disown(marker: str) -> None:
    _household.forget(marker)


def sweep(marker: str) -> None:
    """Kill the processes with the marker and wait until they are gone, for a bounded time."""
    watchdog.sweep([marker], SWEEP_SECONDS)


class _Household:
    """The groups and markers of this process's children, and the watchdog process with the same list."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._groups: dict[str, int] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._registered = False

    def knows(self, marker: str) -> bool:
        return marker in self._groups

    def note(self, marker: str, group: int) -> None:
        with self._lock:
            if not self._registered:
                self._registered = True
                atexit.register(self.end_all)
                if sys.platform != "win32":
                    os.register_at_fork(after_in_child=self._forget_all)
            self._groups[marker] = group
            self._write_line(f"+{marker} {group}\n")

    def forget(self, marker: str) -> None:
        with self._lock:
            if self._groups.pop(marker, None) is not None and self._pipe >= 0:
                self._write_line(f"-{marker}\n")

    def end_all(self) -> None:
        with self._lock:
            left, self._groups = self._groups, {}
        for group in left.values():
            if group and sys.platform != "win32":
                watchdog.signal_group(group, signal.SIGKILL)
        for marker in left:
            sweep(marker)
        self._dismiss_watchdog(left)

    def _dismiss_watchdog(self, left: dict[str, int]) -> None:
        with self._lock:
            if self._pipe < 0 or self._watchdog is None:
                return
            for marker in left:
                self._write(f"-{marker}\n")
            os.close(self._pipe)
            self._pipe = -1
            # It has nothing left to do, so it ends; if it hangs, waiting longer helps nothing.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._watchdog.wait(_EXIT_SECONDS)

    def _write_line(self, line: str) -> None:
        if self._pipe >= 0 and self._write(line):
            return
        # The first watchdog, or the last one was killed: it gets the whole list.
        self._start_watchdog()
        for marker, group in self._groups.items():
            self._write(f"+{marker} {group}\n")

    def _write(self, line: str) -> bool:
        if self._pipe < 0:
            return True
        try:
            os.write(self._pipe, line.encode())
        except BlockingIOError:
            # It was stopped (SIGSTOP) and its pipe is full: that must not block this process.
            return True
        except OSError:
            os.close(self._pipe)
            self._pipe = -1
            return False
        return True

    def _start_watchdog(self) -> None:
        if self._watchdog is not None:
            self._watchdog.poll()
        program = Path(watchdog.__file__)
        if sys.platform == "win32" or not has_interpreter() or not program.is_file():
            return
        reading, writing = os.pipe()
        # What is blocked here is blocked there, from its first instruction on.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, watchdog.REFUSED)
        try:
            # A session of its own and no environment: neither a terminal's signals nor another sweep may hit
            # it.
            self._watchdog = subprocess.Popen(
                own_command(program),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except OSError:
            os.close(writing)
        else:
            os.set_blocking(writing, False)
            self._pipe = writing
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            os.close(reading)

    def _forget_all(self) -> None:
        """In a forked process: these are the children of another."""
        self._lock = Lock()
        self._groups = {}
        if self._pipe >= 0:
            # As long as any copy is open, the watchdog believes that we live.
            os.close(self._pipe)
            self._pipe = -1
        if self._watchdog is not None:
            self._watchdog.returncode = 0
            self._watchdog = None


_household = _Household()
