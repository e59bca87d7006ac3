"""The agent of the fleet's tests: what a prompt makes it do stands in its text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import accord

agent = accord.Agent("fleet", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """`ask`, `hold`, `until NAME`, `tool`, `work TAG`; anything else is repeated."""
    word, _, rest = turn.text.partition(" ")
    if word == "ask":
        permission = await turn.request_permission("Delete it?")
        await turn.say(f"[{permission.option_id}]")
    elif word == "hold":
        await turn.say("holding")
        try:
            await asyncio.Event().wait()
        finally:
            Path(turn.session.cwd, f"stopped-{turn.session.id}").touch()
    elif word == "until":
        await turn.say("begun,")
        while not Path(turn.session.cwd, rest).exists():
            await asyncio.sleep(0.02)
        await turn.say(" done")
    elif word == "tool":
        await turn.tool("work", kind="execute").start()
        await turn.say("at work")
        await asyncio.Event().wait()
    elif word == "work":
        for number in range(4):
            await turn.say(f"<{rest}.{number}>")
            await asyncio.sleep(0.03)
    else:
        await turn.say(f"You said: {turn.text}")
