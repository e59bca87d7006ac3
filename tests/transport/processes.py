"""Real processes for the tests of this folder: writing a program, and checking whether a process is alive."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import accord.transport
from tests.limits import limit

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = str(Path(accord.transport.__file__).parents[2])


def write_program(path: Path, source: str) -> tuple[str, ...]:
    """Write a small Python program and return the argv that starts it, without the site's packages."""
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return (sys.executable, "-I", "-S", str(path))


def runs(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def exists(pid: int) -> bool:
    """Whether the process exists, if only as a zombie."""
    return Path(f"/proc/{pid}").exists()


async def until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether the condition came true in time; for what the system reports to nobody."""
    deadline = time.monotonic() + limit(seconds)
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True
