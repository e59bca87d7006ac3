"""The agent that the tests serve: what a prompt makes it do stands in its text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import accord

agent = accord.Agent("served", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """`stream N`, `ask`, `read PATH`, `wait`; anything else is repeated."""
    word, _, rest = turn.text.partition(" ")
    if word == "stream":
        for number in range(int(rest)):
            await turn.say(f"<{number}>")
    elif word == "ask":
        permission = await turn.request_permission("Delete it?")
        await turn.say(f"[{permission.option_id}]")
    elif word == "read":
        await turn.say(await turn.session.files.read(rest))
    elif word == "wait":
        await turn.say("waiting")
        try:
            await asyncio.Event().wait()
        finally:
            Path(turn.session.cwd, "cancelled").touch()
    else:
        await turn.say(f"You said: {turn.text}")


if __name__ == "__main__":
    agent.run()
