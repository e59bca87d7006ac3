"""Termination of processes with all their descendants; run as a program, it does this when its host has died.

Descendants are found by a marker in their environment, which a process inherits also through `setsid` and a double
fork. Only Linux shows the environment of processes; elsewhere only the process group can be found.

The program reads lines from stdin and ignores malformed ones:

    +<marker> <group>    the group and all with the marker must not outlive the host; group 0: no group
    -<marker>            they are gone

At the end of stdin, which comes however the host died, it ends the remaining processes, first by SIGTERM, and then
itself. It imports nothing else of Accord: so it starts fast and holds nothing open.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

__all__ = ["CLEAN_SCANS", "find_marked", "kill_marked", "living_groups", "signal_group", "sweep"]

POLITE_SECONDS = 1.0
SWEEP_SECONDS = 3.0
_PAUSE_SECONDS = 0.01

# A host may die in the moment in which it starts a process, which gets the marker only when it becomes another
# program; on a busy machine that takes a while.
_BIRTH_SECONDS = 0.5

# A process has no environment for the instant in which it becomes another program: one look could miss it.
CLEAN_SCANS = 2

# A sender of these to all processes of a group means the host; the watchdog has to outlive the host.
REFUSED = () if sys.platform == "win32" else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; False if there is no such group."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS reports this for a group of zombies. For other processes of another user nothing can be done.
        return False
    return True


def living_groups() -> set[int] | None:
    """The groups in which a process lives that does not only wait to be reaped; None where that cannot be seen."""
    if sys.platform != "linux":
        return None
    groups: set[int] = set()
    # A process may be born behind our back and its parent end before we come to it: one look could miss both.
    for _ in range(CLEAN_SCANS):
        for name in os.listdir("/proc"):  # noqa: PTH208
            group = _living_group(name) if name.isdecimal() else None
            if group is not None:
                groups.add(group)
    # Not even we are there: this is no /proc that shows processes.
    return groups if os.getpgrp() in groups else None


def _living_group(process: str) -> int | None:
    with suppress(OSError), open(f"/proc/{process}/stat", "rb", buffering=0) as file:  # noqa: PTH123
        # `NUMBER (NAME) STATE PARENT GROUP ...`; the name may hold anything.
        state, _, group, *_ = file.read().rpartition(b")")[2].split()
        return None if state in {b"Z", b"X"} else int(group)
    return None


def find_marked(marker: str) -> list[int]:
    """The living processes that have `marker` in their environment, without this one."""
    if sys.platform != "linux":
        return []
    variable = marker.encode()
    own = os.getpid()
    # Not pathlib: it would double the time in which the watchdog starts.
    names = [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208
    return [int(name) for name in names if int(name) != own and variable in _environment(name)]


def kill_marked(marker: str) -> bool:
    """Kill the processes with `marker`; True if there was one."""
    found = find_marked(marker)
    for process in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    return bool(found)


def sweep(markers: list[str], seconds: float, quiet_seconds: float = 0.0) -> None:
    """Kill the processes with one of the markers until none was found for a while, for a bounded time."""
    last_found = time.monotonic()
    deadline = last_found + seconds
    clean = 0
    while time.monotonic() < deadline and (clean < CLEAN_SCANS or time.monotonic() - last_found < quiet_seconds):
        found = [kill_marked(marker) for marker in markers]
        if any(found):
            clean, last_found = 0, time.monotonic()
        else:
            clean += 1
        if clean == 0 or quiet_seconds:
            time.sleep(_PAUSE_SECONDS)


def _environment(process: str) -> bytes:
    # A process of another user, or one that just ended: not ours.
    with suppress(OSError), open(f"/proc/{process}/environ", "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()
    return b""


def _read_lines(left: dict[str, int]) -> None:
    """Keep `left` up to date until the host is gone."""
    held = b""
    while data := os.read(0, 65536):
        *lines, held = (held + data).split(b"\n")
        for line in lines:
            marker, _, group = line[1:].decode("ascii", "replace").partition(" ")
            if line.startswith(b"+") and group.isdecimal():
                left[marker] = int(group)
            elif line.startswith(b"-"):
                left.pop(marker, None)


def _end_all(left: dict[str, int]) -> None:
    groups = [group for group in left.values() if group and signal_group(group, signal.SIGTERM)]
    deadline = time.monotonic() + POLITE_SECONDS
    while any(signal_group(group, 0) for group in groups) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    for group in groups:
        signal_group(group, signal.SIGKILL)
    if left:
        sweep(list(left), SWEEP_SECONDS, _BIRTH_SECONDS)


def _main() -> None:
    for number in REFUSED:
        signal.signal(number, signal.SIG_IGN)
    left: dict[str, int] = {}
    _read_lines(left)
    _end_all(left)


if __name__ == "__main__":
    _main()
