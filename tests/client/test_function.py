"""An agent as a function: its signature, how long things live, permission, progress, cancellation."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

import accord
from accord.client import ConnectedAgent
from accord.testing import Recorder
from tests.tables import rows


def worker(sessions: list[str] | None = None) -> accord.Agent:
    agent = accord.Agent("worker", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        if sessions is not None:
            sessions.append(turn.session.id)
        if turn.text == "hang":
            await turn.say("waiting")
            await asyncio.Event().wait()
        if turn.text == "cut":
            await turn.say("no end")
            turn.finish("max_tokens")
            return
        async with turn.tool("Write a.txt", kind="edit", status="pending") as tool:
            await tool.diff(Path(turn.session.cwd) / "a.txt", None, "new")
            if await turn.request_permission(tool):
                await tool.complete("written")
                await turn.say("I wrote it.")
            else:
                await turn.say("I may not.")

    return agent


def test_the_function_is_one_that_frameworks_can_read() -> None:
    function = accord.as_function(worker(), name="helper", description="Helps.")
    assert inspect.iscoroutinefunction(function)
    assert (function.__name__, inspect.signature(function)) == (
        "helper",
        inspect.Signature(
            [inspect.Parameter("task", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)],
            return_annotation=str,
        ),
    )
    assert (function.__doc__ or "").startswith("Helps.\n\nArgs:\n    task: ")


@rows("name", ["", "two words", "class", "größe", "1st"])
def test_a_name_that_a_framework_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        accord.as_function(worker(), name=name)


async def test_a_command_or_an_agent_is_opened_for_each_call(tmp_path: Path) -> None:
    sessions: list[str] = []
    function = accord.as_function(worker(sessions), cwd=tmp_path, permission=lambda _: True)
    assert await function("write") == f"I wrote it.\n\n[changed: {tmp_path / 'a.txt'}]"
    await function(task="write")
    assert len(set(sessions)) == 2


async def test_without_permission_questions_are_dismissed_and_nothing_counts_as_changed(tmp_path: Path) -> None:
    assert await accord.as_function(worker(), cwd=tmp_path)("write") == "I may not."


async def test_a_policy_answers(tmp_path: Path) -> None:
    policy = accord.Policy(["allow edit"])
    assert (await accord.as_function(worker(), cwd=tmp_path, permission=policy)("write")).startswith("I wrote it.")


async def test_an_open_agent_gets_a_session_per_call_and_a_session_stays(tmp_path: Path) -> None:
    sessions: list[str] = []
    recorder = Recorder()
    async with accord.connect(worker(sessions), permission=lambda _: True, observers=[recorder]) as agent:
        each = accord.as_function(agent, cwd=tmp_path)
        await each("one")
        await each("two")
        session = await agent.new_session(tmp_path)
        same = accord.as_function(session)
        await asyncio.gather(same("three"), same("four"))
        assert not session.is_closed
        assert recorder.methods("out").count("session/close") == 2
    assert len(set(sessions[:2])) == 2
    assert sessions[2:] == [session.id, session.id]


async def test_options_of_the_connection_are_refused_where_there_is_one() -> None:
    connected: ConnectedAgent = accord.connect(worker())
    with pytest.raises(TypeError):
        accord.as_function(connected, permission=lambda _: True)  # type: ignore[call-overload]


async def test_a_turn_that_was_cut_short_says_so(tmp_path: Path) -> None:
    assert await accord.as_function(worker(), cwd=tmp_path)("cut") == "no end\n\n[ended: max_tokens]"


async def test_progress_gets_every_event_and_a_cancelled_call_cancels_the_turn(tmp_path: Path) -> None:
    waiting = asyncio.Event()
    events: list[accord.Event] = []

    def progress(event: accord.Event) -> None:
        events.append(event)
        if isinstance(event, accord.MessageChunk) and event.speaker == "agent":
            waiting.set()

    async with accord.connect(worker()) as agent:
        session = await agent.new_session(tmp_path)
        call = asyncio.ensure_future(accord.as_function(session, progress=progress)("hang"))
        await waiting.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert session.transcript.stop_reason == "cancelled"
        assert session.running_turn is None
