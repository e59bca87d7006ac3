"""A process that is killed in the middle of a turn: what its model is told when the session goes on in another one."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder.memory import LOST
from accord.coder.model import ModelReply, UserMessage
from tests.coder.llm import FakeModel, Hang, Say, ToolInvocation, serve
from tests.coder.rig import agent_with, project, say, talk
from tests.coder.test_remembered_turns import accepted, until

pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install "accord[agent]"')


def coder(fake: FakeModel, folder: Path) -> tuple[str, ...]:
    """The agent as a program, with a model at that address."""
    store = f"sqlite:{folder / 'sessions.db'}"
    return (sys.executable, "-m", "accord.coder", "--model", "fake-1", "--base-url", fake.url, "--store", store)


def kill_child() -> None:
    """`kill -9` for the agent that this process started."""
    me = Path("/proc/self").resolve().name
    for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split():
        if b"accord.coder" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(int(pid), signal.SIGKILL)
            return
    raise AssertionError("the agent is no child of this process")


async def killed_while(session: accord.client.Session, text: str, happened: Any) -> None:
    """A prompt whose agent is killed when something has happened."""
    async with session.prompt(text) as turn:
        await until(lambda: happened(turn))
        kill_child()
        async for _ in turn:
            pass


async def test_a_crash_in_any_round_loses_neither_the_request_nor_what_was_said_and_done(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", a="x\n")
    steps = (
        Hang("Go is"),
        ToolInvocation([("write", {"path": "b", "text": "b"}), ("run", {"command": "sleep 100"})], text="I write."),
        Say("Rust, then."),
    )
    async with serve(*steps) as fake, accord.connect(*coder(fake, tmp_path), permission=lambda _: True) as remote:
        session = await remote.new_session(folder)
        with pytest.raises(accord.AccordError):
            await killed_while(session, "write it in Go", lambda turn: turn.text == "Go is")
        with pytest.raises(accord.AccordError):
            await killed_while(session, "write b", lambda _: _runs(session))
        turn = await session.prompt("no, in Rust")

    assert turn.stop_reason == "end_turn"
    assert (folder / "b").read_text() == "b"
    assert fake.conversation() == [
        ("user", "write it in Go"),
        ("agent", f"Go is\n\n{LOST}"),
        ("user", "write b"),
        ("agent", "I write."),
        ("call", ("write", {"path": "b", "text": "b"})),
        ("call", ("run", {"command": "sleep 100"})),
        ("result", "Wrote 1 line to b."),
        ("result", LOST),
        ("agent", LOST),
        ("user", "no, in Rust"),
    ]
    accepted(fake.conversation())


def _runs(session: accord.client.Session) -> bool:
    return any(call.kind == "execute" and call.content for call in session.transcript.tool_calls.values())


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
