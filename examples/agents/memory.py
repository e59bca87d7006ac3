"""An agent that remembers: after a restart it has its sessions again, with the author's own state.

Accord keeps the conversation without a line of code. `turn.save` keeps the author's own state with it, here a list
of messages in the form of a language model. Name it in an editor's settings,

    "agent_servers": {"Memory": {"type": "custom", "command": "python", "args": ["/path/to/memory.py"]}}

send a message, restart the editor, open the session again and ask: what did I say?
"""

from typing import TypedDict

import accord


class Said(TypedDict):
    """One message in the form of a model."""

    role: str
    content: str


agent = accord.Agent("memory", version="1.0")


@agent.on_session
async def prepare(session: accord.agent.Session) -> None:
    """An earlier session has its state; a new one has none."""
    if session.state is None:
        session.state = [Said(role="system", content="You remember everything.")]


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Ask the model, and keep both messages."""
    messages: list[Said] = turn.session.state
    messages.append(Said(role="user", content=turn.text))
    answer = model(messages)
    messages.append(Said(role="assistant", content=answer))
    await turn.save()
    await turn.say(answer)


@agent.command("forget", "Forgets the conversation")
async def forget(turn: accord.agent.Turn, _: str) -> None:
    """The conversation stays on the screen and in the store; the model's history begins again."""
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
