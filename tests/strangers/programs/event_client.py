"""A client that shows every event by its class."""

import asyncio
import sys
from pathlib import Path

import accord
from accord.client import Event, Session, Turn

AGENT = Path(__file__).with_name("careful_agent.py")


def line(event: Event, session: Session) -> str | None:
    match event:
        case accord.MessageChunk(speaker="agent", block=accord.Text(text=text)):
            return text
        case accord.ToolChanged(id=call_id):
            return f"{session.transcript.tool_calls[call_id].title}"
        case accord.ToolContentAdded(content=accord.Diff(changes=changes)):
            return ", ".join(change.path for change in changes)
        case accord.PlanChanged(entries=entries):
            return " / ".join(entry.content for entry in entries)
        case accord.StateChanged(state=state, stop_reason=reason):
            return f"{state} {reason}"
        case accord.UnknownUpdate(tag=tag):
            return tag
        case _:
            return None


async def main() -> None:
    shown: list[str] = []
    async with accord.connect(sys.executable, AGENT, permission=lambda question: True) as agent:
        session = await agent.new_session(Path.cwd())
        turn: Turn
        async with session.prompt("buy milk") as turn:
            async for event in turn:
                if (text := line(event, session)) is not None:
                    shown.append(text)
    assert "Write notes.md" in shown
    assert "Ask / Write" in shown
    assert turn.answer == "you: Noted."
    assert turn.stop_reason == "end_turn"


if __name__ == "__main__":
    asyncio.run(main())
