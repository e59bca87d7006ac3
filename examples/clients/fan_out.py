"""One prompt to several agents at once, and the answers side by side.

`python fan_out.py "Name a prime number" "gemini --acp" "opencode acp"`. A failure of one does not affect the others.
"""

import asyncio
import shlex
import sys
import time

import accord


async def ask(command: str, text: str) -> str:
    """The answer of one agent, or its failure."""
    begun = time.perf_counter()
    deadlines = accord.Deadlines(start_seconds=30, idle_seconds=60)
    try:
        async with accord.connect(*shlex.split(command), deadlines=deadlines) as agent:
            session = await agent.new_session()
            turn = await session.prompt(text)
    except accord.AccordError as error:
        return f"{type(error).__name__}: {error}"
    return f"{turn.text.strip()}  [{turn.stop_reason}, {time.perf_counter() - begun:.1f} s, {agent.edition}]"


async def main(text: str, commands: list[str]) -> None:
    """Ask all agents at the same time."""
    answers = await asyncio.gather(*(ask(command, text) for command in commands))
    for command, answer in zip(commands, answers, strict=True):
        print(f"{command}\n    {answer}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
