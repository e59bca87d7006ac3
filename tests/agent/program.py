"""An agent as a whole program, as its author would start it; `test_run.py` is on the other end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

from accord.agent import Agent, Turn

agent = Agent("runner", version="1", cancel_grace_seconds=0.5)


@agent.prompt
async def reply(turn: Turn) -> None:
    """Echo, print where nobody should, or hang with a command beside it, as the prompt wants it."""
    match turn.text:
        case "print":
            print("a stray print")  # noqa: T201
            os.write(1, b"a stray write\n")
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('a stray child')")
            await child.wait()
            await turn.say("printed")
        case "hang" | "stubborn" | "unending":
            script = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
            terminal = await turn.terminals.start([sys.executable, "-c", script])
            while not (output := (await terminal.output()).text.strip()):
                await asyncio.sleep(0.01)
            await turn.say(f"{os.getpid()} {output}")
            await hang({"hang": 0, "stubborn": 1}.get(turn.text, 10_000))
        case _:
            await turn.say(f"You said: {turn.text}")


async def hang(ignored_cancels: int) -> None:
    """Wait for ever; also through so many cancels."""
    for _ in range(ignored_cancels):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)
    await asyncio.sleep(600)


if __name__ == "__main__":
    print("before it runs")  # noqa: T201
    agent.run()
    print("after it ran", file=sys.stderr)  # noqa: T201
