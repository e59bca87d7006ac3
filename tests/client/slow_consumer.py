"""A client that takes events slowly, and tells how much memory it held beyond the text of its transcript.

    slow_consumer.py EDITION COUNT SIZE <agent argv>

It stops taking altogether for a while, first of all and again in the middle; prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import accord
from accord.session.event import Event, MessageChunk

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
STALL_SECONDS = 0.5


class Gauge:
    """The memory of this process beyond what it had at first and beyond the text that was heard."""

    def __init__(self) -> None:
        self.heard_bytes = 0
        self.worst_bytes = 0
        self._first_bytes = self._resident_bytes()

    def _resident_bytes(self) -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES

    def hear(self, event: Event) -> None:
        if isinstance(event, MessageChunk) and isinstance(event.block, accord.Text):
            self.heard_bytes += len(event.block.text)

    def look(self) -> None:
        self.worst_bytes = max(self.worst_bytes, self._resident_bytes() - self._first_bytes - self.heard_bytes)


async def stall(gauge: Gauge) -> None:
    """Take nothing for a while, as a debugger or a full terminal does."""
    end = time.monotonic() + STALL_SECONDS
    while time.monotonic() < end:
        await asyncio.sleep(0.05)
        gauge.look()


async def main(edition: Any, count: int, size: int, argv: list[str]) -> dict[str, Any]:
    async with accord.connect(*argv, edition=edition) as agent:
        session = await agent.new_session("/")
        gauge = Gauge()
        session.listen(gauge.hear)
        taken, ordered = 0, True
        async with session.prompt(f"{count} {size}") as turn:
            await stall(gauge)
            async for event in turn:
                if (
                    isinstance(event, MessageChunk)
                    and isinstance(event.block, accord.Text)
                    and event.speaker == "agent"
                ):
                    ordered &= int(event.block.text[:8]) == taken
                    taken += 1
                    if taken == count // 2:
                        await stall(gauge)
                    elif taken % 1000 == 0:
                        await asyncio.sleep(0)
                        gauge.look()
        gauge.look()
        return {
            "taken": taken,
            "ordered": ordered,
            "worst_mb": gauge.worst_bytes / 2**20,
            "text": len(turn.text),
            "transcript": len(session.transcript.text),
            "stop_reason": turn.stop_reason,
        }


if __name__ == "__main__":
    told = asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
    sys.stdout.write(json.dumps(told) + "\n")
