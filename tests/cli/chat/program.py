"""Started by a test: a chat on the terminal of this process, or with `agent` the agent that it talks to."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import accord


def serve(note: str) -> None:
    agent = accord.Agent("noted", version="1", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    Path(note).write_text(str(os.getpid()))
    agent.run()


def chat(note: str) -> int:
    from accord.cli.chat.chat_session import ChatOptions  # noqa: PLC0415
    from accord.cli.chat.launch import run_chat  # noqa: PLC0415 - an agent needs no screen

    connect = functools.partial(accord.connect, sys.executable, __file__, "agent", note)
    return run_chat(connect, ChatOptions(str(Path.cwd())), name="noted")


if __name__ == "__main__":
    if sys.argv[1] == "agent":
        serve(sys.argv[2])
    else:
        sys.exit(chat(sys.argv[2]))
