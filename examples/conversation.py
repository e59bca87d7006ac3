"""A real conversation over pipes: starts two of the agents beside it and talks to them, in each edition.

python examples/conversation.py [a word to look for]
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Literal, TypeAlias

import accord
from accord.session.event import (
    Event,
    MessageChanged,
    MessageChunk,
    PlanChanged,
    StateChanged,
    ToolChanged,
    ToolContentAdded,
)

AGENTS = Path(__file__).with_name("agents")
Edition: TypeAlias = Literal["1", "2-june", "2"]
EDITIONS: dict[str, Edition] = {"v1": "1", "v2, June's draft": "2-june", "v2, November's draft": "2"}
NOTES = "The colour of the sky\nis the colour of the sea.\n"


def show(who: str, what: str) -> None:
    """Print one line of the conversation."""
    print(f"  {who:>6} │ {what}")


def summary(event: Event) -> str | None:
    """An event in one line; None for events that are not shown."""
    match event:
        case MessageChanged(speaker="user") | StateChanged():
            return None
        case MessageChunk(block=accord.Text(text=text)):
            return f"{'thinks' if event.speaker == 'thought' else 'says'}: {text!r}"
        case PlanChanged():
            return "plan: " + ", ".join(f"{entry.content} [{entry.status}]" for entry in event.entries)
        case ToolChanged():
            news = [word for word in (event.title, event.status) if word]
            news += [f"shows {item}" for item in event.content or []]
            news += [f"works at line {place.line}" for place in event.locations or [] if place.line]
            return f"tool {event.id[-4:]}: {', '.join(news)}" if news else None
        case ToolContentAdded():
            return f"tool {event.id[-4:]}: shows {event.content}"
        case _:
            return str(event)


def permit(question: accord.client.PermissionQuestion) -> accord.PermissionOption | None:
    """The user's answer to a question: yes, this time."""
    show("agent", f"may I? {question.title!r} {[option.name for option in question.options]}")
    answer = question.allow()
    show("client", "no" if answer is None else answer.name)
    return answer


async def talk(program: str, edition: Edition, folder: str, text: str) -> None:
    """Start an agent, send one prompt, and end it."""
    async with accord.connect(
        sys.executable, str(AGENTS / program), edition=edition, permission=permit, env={"XDG_STATE_HOME": folder}
    ) as agent:
        show("agent", f"{agent!r}")
        session = await agent.new_session(folder)
        show("client", text)
        async with session.prompt(text) as turn:
            async for event in turn:
                line = summary(event)
                if line is not None:
                    show("agent", line)
        show("agent", f"ends the turn: {turn.stop_reason}")


def main() -> None:
    """Two agents in three editions."""
    word = " ".join(sys.argv[1:]) or "colour"
    for name, edition in EDITIONS.items():
        print(f"\n{name}")
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder, "notes.txt")
            notes.write_text(NOTES, encoding="utf-8")
            asyncio.run(talk("streaming.py", edition, folder, word))
            asyncio.run(talk("permission.py", edition, folder, "replace colour by color in notes.txt"))
            show("disk", f"notes.txt is now {notes.read_text(encoding='utf-8')!r}")


main()
