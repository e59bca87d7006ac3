"""Ends a PostgreSQL server of the tests when the run that uses it was killed, and deletes its folder.

    python -m tests.postgres_watchdog DATA_FOLDER FOLDER

A server is a daemon, so no signal reaches it when its tests die. Each run, and each worker of one, has one of these: it
reads its stdin, the other end of which the run holds, and acts at the end of it. Where the run has ended the server
itself, or another worker still uses it, there is nothing to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["watched"]

_ROOT = Path(__file__).parents[1]
_USERS = ".handle_pids.json"
_STOP_SECONDS = 20.0


@contextlib.contextmanager
def watched(data: Path, folder: Path) -> Iterator[None]:
    """While this lasts, the server in `data` ends with this process, however that ends."""
    watchdog = subprocess.Popen(
        [sys.executable, "-m", "tests.postgres_watchdog", str(data), str(folder)],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        # What ends a whole process group must not end this one.
        start_new_session=True,
    )
    try:
        yield
    finally:
        assert watchdog.stdin is not None
        watchdog.stdin.close()
        watchdog.wait()


def main(data: str, folder: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    if _has_users(Path(data)):
        return
    postmaster = _postmaster(Path(data))
    if postmaster is not None:
        # An immediate shutdown: nobody needs what is in it.
        _signal(postmaster, signal.SIGQUIT)
        deadline = time.monotonic() + _STOP_SECONDS
        while _is_alive(postmaster) and time.monotonic() < deadline:
            time.sleep(0.05)
        _signal(postmaster, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _has_users(data: Path) -> bool:
    """Whether another worker of the run has the server; the list is the one that the wheel keeps."""
    with contextlib.suppress(OSError, ValueError):
        return any(_is_alive(pid) for pid in json.loads((data / _USERS).read_text(encoding="utf-8")))
    return False


def _postmaster(data: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        pid = int((data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        # The number may be another program's by now.
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        return pid if b"postgres" in command and os.fsencode(data) in command else None
    return None


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


if __name__ == "__main__":
    main(*sys.argv[1:])
