"""The agent that `accord serve` serves: `accord.Agent` and `Turn` without a store, as its peers have none."""

from __future__ import annotations

import json

import accord

agent = accord.Agent("bench-agent", version="1", store=None)
agent.modes(["a", "m"])


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Obeys the JSON of the prompt, as every contestant's agent."""
    command = json.loads(turn.text)
    padding = "x" * (command["size"] - 9)
    for number in range(command["n"]):
        await turn.say(f"{number:08d} {padding}")
