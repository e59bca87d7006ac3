"""An agent whose extension request answers with four megabytes that a thread makes."""

from __future__ import annotations

import asyncio
from typing import Any

import accord

agent = accord.Agent("giving", store=None)


@agent.request("_give")
async def give(_: Any) -> str:
    return await asyncio.to_thread(lambda: "x" * 4_000_000)


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say("nothing")


if __name__ == "__main__":
    agent.run()
