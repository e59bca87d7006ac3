"""Agents that a chat is tested with: each does what its prompt says."""

from __future__ import annotations

import asyncio
from typing import Any

import accord

__all__ = ["NOISE", "Actor", "make_actor"]

NOISE = r"printf '\033[31mred\033[0m \033]0;evil\007 \033[2Jplain\n'; exit 3"
BEFORE = "import sys\n\n\ndef hello():\n    pritn('hi')\n    return 1\n"
AFTER = "import sys\n\n\ndef hello():\n    print('hi')\n    return 1\n"


class Actor:
    """An agent, and what its handlers saw."""

    def __init__(self, store: Any = None) -> None:
        self.agent = accord.Agent("actor", version="3.1", store=store)
        self.prompts: list[list[Any]] = []
        self.answers: list[Any] = []
        self.gate = asyncio.Event()
        self.cancelled = 0


def make_actor(store: Any = None) -> Actor:
    actor = Actor(store)
    agent = actor.agent
    agent.modes([accord.Choice("ask", "Ask first"), accord.Choice("code", "Just code")])
    agent.models(["small", "large"])

    @agent.command("greet", "Greets somebody", hint="who")
    async def greet(turn: accord.agent.Turn, name: str) -> None:
        await turn.say(f"Good day, {name}")

    @agent.command("review", "Looks at a change")
    async def review(turn: accord.agent.Turn, what: str) -> None:
        await turn.say(f"Reviewed {what}")

    @agent.prompt(accepts={"resource", "image"})
    async def act(turn: accord.agent.Turn) -> None:
        actor.prompts.append(turn.prompt)
        word = turn.text.split()[0]
        await globals().get(f"_{word}", _echo)(turn, actor)

    return actor


async def _echo(turn: accord.agent.Turn, actor: Actor) -> None:
    del actor
    await turn.say(f"You said: {turn.text}")


async def _stream(turn: accord.agent.Turn, actor: Actor) -> None:
    await turn.think("First I count.\nThen I answer.")
    for piece in ("Here is **bo", "ld** and\n\n- one\n- t", "wo\n"):
        await turn.say(piece)
    await actor.gate.wait()
    await turn.say("\nThe end.")


async def _edit(turn: accord.agent.Turn, actor: Actor) -> None:
    async with turn.tool("Edit a.py", kind="edit", status="pending") as tool:
        await tool.diff("a.py", BEFORE, AFTER)
        permission = await turn.request_permission(tool)
        actor.answers.append(permission.option_id)
    await turn.say("Changed." if permission else "Left as it is.")


async def _wait(turn: accord.agent.Turn, actor: Actor) -> None:
    await turn.say("Waiting.")
    try:
        await actor.gate.wait()
    except asyncio.CancelledError:
        actor.cancelled += 1
        raise
    await turn.say("Waited.")


async def _run(turn: accord.agent.Turn, actor: Actor) -> None:
    del actor
    async with turn.tool("Run it", kind="execute") as tool:
        await turn.terminals.run(["sh", "noise.sh"], on_start=tool.show)
    await turn.say("Ran.")


async def _plan(turn: accord.agent.Turn, actor: Actor) -> None:
    del actor
    await turn.plan([accord.PlanEntry("Read", "completed"), accord.PlanEntry("Change", "in_progress", "high"), "Test"])
    await turn.update_usage(12_345, 200_000, cost=0.25)
    await turn.set_title("A plan of three")
    await turn.say("Planned.")


async def _form(turn: accord.agent.Turn, actor: Actor) -> None:
    fields = {
        "city": {"type": "string", "title": "City"},
        "days": {"type": "integer", "minimum": 1},
        "food": {"type": "boolean"},
    }
    form = await turn.elicit("Where to?", fields, required=["city", "days"])
    actor.answers.append(form.content if form else None)
    await turn.say("Thank you.")


async def _address(turn: accord.agent.Turn, actor: Actor) -> None:
    actor.answers.append((await turn.elicit_url("Log in there.", "https://host.example/login")).action)
    await turn.say("Thank you.")


async def _refuse(turn: accord.agent.Turn, actor: Actor) -> None:
    del actor
    await turn.say("No.")
    turn.finish("refusal")


async def _fail(turn: accord.agent.Turn, actor: Actor) -> None:
    del turn, actor
    raise accord.InvalidParams("The model is out of order")


async def _notice(turn: accord.agent.Turn, actor: Actor) -> None:
    del actor
    await turn.notice("A [bold]new[/] version", "Restart to use it", severity="warning")
    await turn.say("Noticed.")


async def _two(turn: accord.agent.Turn, actor: Actor) -> None:
    async def one(name: str) -> None:
        permission = await turn.request_permission(f"May I do {name}?")
        actor.answers.append((name, bool(permission)))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one("first"))
        tasks.create_task(one("second"))
    await turn.say("Both asked.")
