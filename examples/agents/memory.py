"""An agent that remembers: after a restart its sessions are there again, with what the author keeps beside them.

The conversation is kept without a line of code. `turn.save` keeps the author's own state with it, here a list of
messages as a language model takes them. Name it in an editor's settings,

    "agent_servers": {"Memory": {"command": "python", "args": ["/path/to/examples/agents/memory.py"]}}

tell it something, restart the editor, open the session again and ask: what did I say?
"""

from typing import TypedDict

import accord


class Said(TypedDict):
    """One message as a model takes it."""

    role: str
    content: str


agent = accord.Agent("memory", version="1.0")


@agent.on_session
async def prepare(session: accord.Session) -> None:
    """A session from before brings its state along; a new one has none."""
    if session.state is None:
        session.state = [Said(role="system", content="You remember everything.")]


@agent.prompt
async def reply(turn: accord.Turn) -> None:
    """Ask the model, and keep what both said."""
    messages: list[Said] = turn.session.state
    messages.append(Said(role="user", content=turn.text))
    answer = model(messages)
    messages.append(Said(role="assistant", content=answer))
    await turn.save()
    await turn.say(answer)


@agent.command("forget", "Forgets what was said")
async def forget(turn: accord.Turn, _: str) -> None:
    """The conversation stays on the screen and in the store; the model's view of it begins anew."""
    await turn.save(turn.session.state[:1])
    await turn.say("Forgotten.")


def model(messages: list[Said]) -> str:
    """A language model would stand here."""
    *before, last = (message["content"] for message in messages if message["role"] == "user")
    if last.endswith("?"):
        return f"You said: {', '.join(before)}." if before else "You said nothing yet."
    return f"I will remember that. It is number {len(before) + 1}."


if __name__ == "__main__":
    agent.run()
