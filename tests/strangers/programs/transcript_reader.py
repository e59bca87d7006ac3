"""A picture of a whole session, from its transcript."""

import asyncio
from pathlib import Path

import accord
from careful_agent import agent


def picture(transcript: accord.Transcript) -> list[str]:
    lines: list[str] = []
    entry: accord.Entry
    for entry in transcript.timeline:
        match entry:
            case accord.Message(speaker=speaker):
                lines.append(f"{speaker}: {entry.text}")
            case accord.ToolCall(title=title, status=status):
                lines.append(f"tool: {title} {status}")
            case accord.Plan(entries=entries):
                lines.append(f"plan: {len(entries)}")
            case accord.CompactionEntry() | accord.UnknownEntry():
                lines.append("something else")
    return lines


async def main() -> None:
    async with accord.connect(agent, permission=lambda question: False) as remote:
        session = await remote.new_session(Path.cwd())
        await session.prompt("buy milk")
        assert picture(session.transcript) == [
            "user: buy milk",
            "plan: 2",
            "tool: Write notes.md cancelled",
            "agent: you: Then not.",
        ]


if __name__ == "__main__":
    asyncio.run(main())
