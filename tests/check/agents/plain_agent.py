"""The smallest agent that there is: a name and a prompt handler of five lines; all else comes with the framework."""

from __future__ import annotations

import asyncio

from accord.agent import Agent, Turn

agent = Agent("plain", version="1.0", mcp=True)


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")
    if turn.text == "__hang__":
        await asyncio.Event().wait()


if __name__ == "__main__":
    agent.run()
