"""A process that died in the middle of a turn, as its store shows it: what the model is told when the session goes on.

`test_whole_sessions` kills real processes.
"""

from __future__ import annotations

from pathlib import Path

import accord
from accord.coder.memory import LOST
from accord.coder.model import ModelReply, UserMessage
from tests.coder.rig import agent_with, say, talk


async def test_a_prompt_that_was_only_just_kept_when_the_process_died_is_remembered(tmp_path: Path) -> None:
    store = accord.MemoryStore()
    agent, _ = agent_with(say("One."), store=store)
    async with talk(agent, tmp_path) as talked:
        await talked.ask("one")
        session_id = talked.session.id
    # As a process leaves it that dies before the turn of a prompt has begun.
    message = accord.MessageChanged("user", "message-late", [accord.Text("write it in Go")])
    await store.append(session_id, [message, accord.StateChanged("running")])
    again, model = agent_with(say("Two."), store=store)
    async with talk(again, tmp_path, resume=session_id) as talked:
        await talked.ask("no, in Rust")

    assert model.requests[0].messages == [
        UserMessage("one"),
        ModelReply("One.", model="scripted"),
        UserMessage("write it in Go"),
        ModelReply(LOST),
        UserMessage("no, in Rust"),
    ]
