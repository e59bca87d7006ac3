"""An agent that says all it can as fast as it can, in seeded mixes; every piece has a number that no other has.

    python -m tests.agent.busy_agent PLACE

A prompt is `[7.0] 400 12`: the number of its turn, how many steps it has, the seed of their mix. What is said in that
turn is marked `[7.1]`, `[7.2]` and so on, in the order in which it happened.
"""

from __future__ import annotations

import asyncio
import random
import sys

from accord.agent import Agent, Tool, Turn
from accord.session.content import Link
from accord.session.event import PlanEntry
from tests.stores.places import open_place

TAILS = ("", " and", "\n", " é🚀", " a little more than that", " " + 300 * "long ", 4000 * "x")
# Something that ends, something that is stopped, and something that leaves a child in a session of its own.
SHORT = 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo "{mark} $i"; done'
ENDLESS = 'while :; do echo "{mark}"; sleep 0.002; done'
DAEMON = 'setsid sh -c "while :; do sleep 5; done" & echo "{mark}"; wait'


class Speech:
    """One turn, as it is said."""

    def __init__(self, turn: Turn) -> None:
        mark, steps, seed = turn.text.split()
        self._turn = turn
        self._number = int(mark[1:].partition(".")[0])
        self._count = 0
        self._steps = int(steps)
        # A generator whose numbers can be repeated is the point here.
        self._random = random.Random(int(seed))

    def mark(self) -> str:
        self._count += 1
        return f"[{self._number}.{self._count}]"

    async def give(self) -> None:
        say = [self.say] * 60
        mix = [*say, *[self.think] * 15, *[self.plan] * 3, *[self.usage] * 3, *[self.link] * 3, *[self.title] * 1]
        async with asyncio.TaskGroup() as beside:
            for _ in range(self._steps):
                if self._random.random() < 0.01:
                    beside.create_task(self._random.choice([self.run, self.work, self.work])())
                elif self._random.random() < 0.003:
                    await self.ask()
                else:
                    await self._random.choice(mix)()
        await self._turn.say(f"{self.mark()} done")

    async def say(self) -> None:
        await self._turn.say(self.mark() + self._random.choice(TAILS))

    async def think(self) -> None:
        await self._turn.think(self.mark() + self._random.choice(TAILS))

    async def link(self) -> None:
        mark = self.mark()
        await self._turn.say(Link(mark, f"file:///{mark}"))

    async def plan(self) -> None:
        mark = self.mark()
        steps = [PlanEntry(f"{mark} {step}", "completed" if step == 0 else "pending") for step in range(3)]
        await self._turn.plan(steps)

    async def usage(self) -> None:
        self._count += 1
        await self._turn.update_usage(self._number * 1_000_000 + self._count, 10**9, cost=self._count / 100)

    async def title(self) -> None:
        await self._turn.set_title(f"{self.mark()} title")

    async def ask(self) -> None:
        async with self._turn.tool(f"{self.mark()} asks", kind="edit", status="pending") as tool:
            if await self._turn.request_permission(tool):
                await tool.show(self.mark())

    async def work(self) -> None:
        """A tool call that grows, and may begin anew."""
        async with self._turn.tool(f"{self.mark()} works", kind="read", input={"at": self._number}) as tool:
            for _ in range(self._random.randrange(8)):
                await tool.show(self.mark() + self._random.choice(TAILS))
                await asyncio.sleep(0)
            if self._random.random() < 0.3:
                await tool.replace(f"{self.mark()} instead")
            await tool.diff("changed.txt", "before\n", f"{self.mark()}\n")
            await tool.complete(output={"mark": self.mark()})

    async def run(self) -> None:
        """A tool call with a command's output."""
        script = self._random.choice([SHORT, ENDLESS, DAEMON])
        async with self._turn.tool(f"{self.mark()} runs", kind="execute") as tool:
            await self._shell(tool, script.format(mark=self.mark()))

    async def _shell(self, tool: Tool, script: str) -> None:
        await self._turn.terminals.run(["sh", "-c", script], timeout_seconds=0.2, on_start=tool.show)


def main() -> None:
    agent = Agent("busy", version="1", store=open_place(sys.argv[1]))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await Speech(turn).give()

    agent.run()


if __name__ == "__main__":
    main()
