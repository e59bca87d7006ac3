"""The memory of a session whose process died in a turn: completed from the conversation that the store kept.

What a client has seen was committed before it was sent, so the conversation knows what was asked and said up to the
end. The memory is kept less often: it may lack the beginning of an answer, or a request that had only just arrived.
"""

from __future__ import annotations

from collections.abc import Sequence

from accord.agent import Session
from accord.coder.memory import LOST, Memory
from accord.coder.model import ModelReply
from accord.coder.prompt_message import message_of
from accord.session.entry import Entry, Message

__all__ = ["recover"]


async def recover(session: Session, memory: Memory) -> None:
    """Complete the turn that broke off, and add the requests that the memory does not have."""
    turns = _turns((await session.history()).timeline)
    known = memory.open_prompt or memory.last_prompt
    ids = [prompt.id for prompt, _ in turns]
    # Without a known id either nothing is remembered yet, or an earlier version remembered, which kept no ids.
    last = ids.index(known) if known in ids else len(turns) if memory.messages else -1
    if memory.open_prompt is not None:
        said = turns[last][1] if known in ids else []
        memory.break_off(LOST, _unremembered(memory, said))
        memory.end()
    for prompt, said in turns[last + 1 :]:
        memory.begin(message_of(prompt.content, session.cwd), prompt.id or "")
        memory.break_off(LOST, _unremembered(memory, said))
        memory.end()


def _turns(timeline: Sequence[Entry]) -> list[tuple[Message, list[str]]]:
    """Each message of the user, and the messages of the agent that follow it."""
    turns: list[tuple[Message, list[str]]] = []
    for entry in timeline:
        if isinstance(entry, Message) and entry.speaker == "user":
            turns.append((entry, []))
        elif isinstance(entry, Message) and entry.speaker == "agent" and turns:
            turns[-1][1].append(entry.text)
    return turns


def _unremembered(memory: Memory, said: Sequence[str]) -> str:
    """The text of a turn that the memory does not have: the beginning of the interrupted answer."""
    known = {message.text for message in memory.messages if isinstance(message, ModelReply)}
    return "\n\n".join(text for text in said if text not in known)
