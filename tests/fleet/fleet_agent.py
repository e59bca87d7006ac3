"""The agent of the fleet's tests: what a prompt makes it do stands in its text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import accord

agent = accord.Agent("fleet", version="1.0")


async def ask(turn: accord.agent.Turn, _: str) -> None:
    permission = await turn.request_permission("Delete it?")
    await turn.say(f"[{permission.option_id}]")


async def hold(turn: accord.agent.Turn, _: str) -> None:
    await turn.say("holding")
    try:
        await asyncio.Event().wait()
    finally:
        Path(turn.session.cwd, f"stopped-{turn.session.id}").touch()


async def until(turn: accord.agent.Turn, name: str) -> None:
    """Work until there is a file of that name."""
    await turn.say("begun,")
    while not Path(turn.session.cwd, name).exists():
        await asyncio.sleep(0.02)
    await turn.say(" done")


async def at(turn: accord.agent.Turn, seconds: str) -> None:
    """Say at which node this is, and work for some time."""
    store: Any = agent.store
    await turn.say(f"{store.node}:")
    for _ in range(5):
        await asyncio.sleep(float(seconds) / 5)
        await turn.say(".")


async def tool(turn: accord.agent.Turn, _: str) -> None:
    await turn.tool("work", kind="execute").start()
    await turn.say("at work")
    await asyncio.Event().wait()


async def work(turn: accord.agent.Turn, tag: str) -> None:
    for number in range(4):
        await turn.say(f"<{tag}.{number}>")
        await asyncio.sleep(0.03)


WORDS: dict[str, Callable[[accord.agent.Turn, str], Awaitable[None]]] = {
    each.__name__: each for each in (ask, hold, until, at, tool, work)
}


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """One of `WORDS` with the rest of the text; anything else is repeated."""
    word, _, rest = turn.text.partition(" ")
    if word in WORDS:
        await WORDS[word](turn, rest)
    else:
        await turn.say(f"You said: {turn.text}")
