"""An agent that shows its work: a plan, thoughts, tool calls with results, and an answer in pieces.

It finds the words of the prompt in the text files of its directory. Name it in an editor's settings,

    "agent_servers": {"Finder": {"type": "custom", "command": "python", "args": ["/path/to/streaming.py"]}}

open a folder and ask for a word. `python examples/conversation.py` shows it without an editor.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import accord
from accord.workspace import WorkspaceError

STEPS = ("List the files", "Search them", "Report the result")

agent = accord.Agent("finder", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Search every text file of the directory."""
    await turn.set_title(f"Looking for {turn.text}")
    await turn.think(f"The user looks for {turn.text!r}. I will read every text file here.")
    await show_plan(turn, done=0)
    names: list[str] = []
    async with turn.tool("List the files", kind="search", input={"pattern": "*.txt"}) as tool:
        names = text_files(turn.session.cwd)
        await tool.complete("\n".join(names), output=names)
    await show_plan(turn, done=1)
    found = [place for name in names for place in await search(turn, name)]
    await show_plan(turn, done=2)
    async for piece in answer(turn.text, found):
        await turn.say(piece)
    await show_plan(turn, done=3)
    await turn.update_usage(used=1_200, size=200_000, cost=0.01)


def text_files(folder: str) -> list[str]:
    """The names of the text files, in order."""
    return sorted(path.name for path in Path(folder).glob("*.txt"))


async def show_plan(turn: accord.agent.Turn, *, done: int) -> None:
    """Send the whole plan again, with `done` completed steps."""
    await turn.plan(
        accord.PlanEntry(step, "completed" if at < done else "in_progress" if at == done else "pending")
        for at, step in enumerate(STEPS)
    )


async def search(turn: accord.agent.Turn, name: str) -> list[accord.Location]:
    """The lines of one file with the prompt's text. A file that cannot be read is a failed tool call."""
    found: list[accord.Location] = []
    async with turn.tool(f"Search {name}", kind="read", locations=[name]) as tool:
        try:
            lines = (await turn.files.read(name)).splitlines()
        except WorkspaceError as error:
            raise accord.ToolFailed(str(error)) from error
        found = [accord.Location(name, number) for number, line in enumerate(lines, 1) if turn.text in line]
        await tool.locate(*found)
        for place in found:
            await tool.stream(f"{place.line}: {lines[(place.line or 1) - 1]}\n")
    return found


async def answer(word: str, found: list[accord.Location]) -> AsyncIterator[str]:
    """The answer, piece by piece, in place of a language model."""
    yield f"I found {word!r} "
    yield f"{len(found)} times" if found else "nowhere"
    for place in found:
        yield f"\n- {place.path}, line {place.line}"


if __name__ == "__main__":
    agent.run()
