"""The meters of a benchmark client: the clock, and Linux's counters of two processes. Independent of any SDK."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Meter", "file_text"]

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_LINE = '    value = compute("item", index=42)  # a comment line of code\n'


class Meter:
    """Runs from its making to `stop`."""

    def __init__(self, agent_pid: int) -> None:
        self._agent = str(agent_pid)
        self._client_cpu = time.process_time()
        self._agent_cpu = _cpu_seconds(self._agent)
        self._began = time.perf_counter()

    def stop(self) -> dict[str, float]:
        """Seconds of wall and CPU time since the making, and peak memory in KB since each process began."""
        wall = time.perf_counter() - self._began
        return {
            "wall": wall,
            "client_cpu": time.process_time() - self._client_cpu,
            "agent_cpu": _cpu_seconds(self._agent) - self._agent_cpu,
            "client_rss": _peak_kilobytes("self"),
            "agent_rss": _peak_kilobytes(self._agent),
        }


def _cpu_seconds(pid: str) -> float:
    # The second field is the program's name, which may hold anything but ends with the last parenthesis.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def _peak_kilobytes(pid: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def file_text(size: int) -> str:
    """`size` characters that look like source code, with quotes and newlines to escape."""
    return (_LINE * (size // len(_LINE) + 1))[:size]
