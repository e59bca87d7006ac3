"""A client that prompts an agent and serves what that asks; prints its peak memory when the agent is gone.

`asked_client.py FOLDER ARGV…`: the session's directory and the agent.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(json.dumps({"peak_mib": peak / 1024, "ended": ended}) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
