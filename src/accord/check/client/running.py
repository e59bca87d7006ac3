"""Whether a process runs that was started for us by somebody else."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["is_running", "outlives"]

_PAUSE_SECONDS = 0.01


def is_running(pid: int) -> bool:
    """Whether it does anything still."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    with suppress(OSError):
        # One that has ended and was not yet asked for its status does nothing any more.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True


async def outlives(pid: int, seconds: float) -> bool:
    """Whether it still runs after so long; nobody tells us of the end of another's child."""
    until = time.monotonic() + seconds
    while is_running(pid):
        if time.monotonic() > until:
            return True
        await asyncio.sleep(_PAUSE_SECONDS)
    return False
