"""An agent whose work can be watched from another process.

    python owning_agent.py DATABASE [in_use]

The prompt `work` starts a tool call, says `working` and waits for the notification `_go` before it ends. The prompt
`stream 7` works without end: its tool calls and texts are marked `[7.1]`, `[7.2]` and so on, and the last one waits.
"""

from __future__ import annotations

import asyncio
import sys

from accord.agent import Agent, Turn
from tests.stores.places import open_place

STEPS = 60


def main(path: str, in_use: str = "error") -> None:
    agent = Agent("owning", version="1", store=open_place(path), drafts=True, in_use=in_use)  # type: ignore[arg-type]
    agent.modes(["ask", "code"])
    go = asyncio.Event()

    @agent.notification("_go")
    def let_go(_: object) -> None:
        go.set()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        word, _, number = turn.text.partition(" ")
        if word == "work":
            async with turn.tool("Work"):
                await turn.say("working")
                await go.wait()
        elif word == "stream":
            for step in range(1, STEPS + 1):
                async with turn.tool(f"[{number}.{step}]"):
                    await turn.say(f"[{number}.{step}]")
                    await asyncio.sleep(0)
                    if step == STEPS:
                        await asyncio.Event().wait()
        else:
            await turn.say(f"You said: {turn.text}")

    agent.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
