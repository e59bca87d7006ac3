"""Show an agent's work with rich: its text as Markdown, its plan and tool calls as they change.

`pip install rich`, then `python watch.py "Explain this repository" -- gemini --acp`.
"""

import asyncio
import sys

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.text import Text

import accord

MARKS = {"pending": "·", "in_progress": "▸", "completed": "✓", "failed": "✗", "cancelled": "✗"}


def picture(session: accord.client.Session, said: str) -> RenderableType:
    """Render the transcript, which is live state."""
    plan = [entry for plan in session.transcript.plans.values() for entry in plan.entries]
    steps = [Text(f"{MARKS.get(entry.status, '·')} {entry.content}", style="cyan") for entry in plan]
    calls = [
        Text(f"{MARKS.get(call.status, '▸')} {call.kind}  {call.title}", style="yellow")
        for call in session.transcript.tool_calls.values()
    ]
    return Group(*steps, *calls, Markdown(said))


async def main(text: str, command: list[str]) -> None:
    """Send one prompt, and repaint ten times a second, independent of the agent's speed."""
    async with accord.connect(*command, permission=accord.Policy(["allow read", "allow search"])) as agent:
        session = await agent.new_session()
        with Live(refresh_per_second=10) as live:
            async with session.prompt(text) as turn:
                async for _ in turn:
                    live.update(picture(session, turn.text))
            live.update(picture(session, turn.text))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[3:]))
