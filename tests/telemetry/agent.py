"""An agent with a provider of its own, which writes its spans to a file: `agent.py FILE`. The prompt decides."""

from __future__ import annotations

import asyncio
import os
import sys

from opentelemetry import trace

from accord import Agent
from accord.agent import BlockingTurn, Turn
from examples.telemetry import switch_on

agent = Agent("traced", version="1", store=None)


@agent.command("blocking", "The same without async")
def blocking(turn: BlockingTurn, _: str) -> None:
    with trace.get_tracer("framework").start_as_current_span("framework run"):
        with turn.tool("Look at it", kind="read", name="look"):
            trace.get_tracer("framework").start_span("framework tool").end()
        turn.say("done")


@agent.prompt
async def answer(turn: Turn) -> None:
    if turn.text == "fail":
        raise RuntimeError("a secret of the handler")
    if turn.text == "wait":
        await turn.say("waiting")
        await asyncio.Event().wait()
    if turn.text == "die":
        os.kill(os.getpid(), 9)
    with trace.get_tracer("framework").start_as_current_span("framework run"):
        async with turn.tool("Change a secret file", kind="edit", name="change") as tool:
            await turn.request_permission(tool)
            await turn.files.read("notes.txt")
    turn.add_token_usage(7, 3)
    await turn.say("done")


if __name__ == "__main__":
    switch_on("agent", sys.argv[1])
    agent.run()
