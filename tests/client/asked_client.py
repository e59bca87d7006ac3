"""A client that prompts an agent and serves what that asks; prints its peak memory when the agent is gone.

`asked_client.py FOLDER ARGV…`: the session's directory and the agent.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import accord
from accord.errors import AccordError


async def never(_: Any) -> None:
    await asyncio.Event().wait()


async def main(folder: str, *argv: str) -> None:
    ended = "nothing"
    async with accord.connect(*argv, permission=never, respawn=False) as agent:
        session = await agent.new_session(folder)
        try:
            await session.prompt("ask")
        except AccordError as error:
            ended = type(error).__name__
    sys.stdout.write(json.dumps({"peak_mib": peak_mib(), "ended": ended}) + "\n")


def peak_mib() -> float:
    """Of this program alone: `ru_maxrss` begins with that of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
