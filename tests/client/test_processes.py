"""Living with an agent's process: it may end at any moment, and must be gone when we are."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.client.programs import RawAgent
from tests.limits import limit
from tests.transport.processes import runs, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups: run it on Linux or macOS")

IN_BOTH_RULES = pytest.mark.parametrize("edition", ["v1", "v2"])


def text_of(session: accord.client.Session) -> list[str]:
    return [f"{message.speaker}: {message.text}" for message in session.transcript.messages]


async def gone(raw: RawAgent) -> bool:
    return await until(lambda: not any(runs(pid) for pid in raw.pids))


# --- at its start


async def test_a_program_that_is_not_there_cannot_be_started() -> None:
    with pytest.raises(accord.ConnectFailed) as caught:
        await accord.connect("there-is-no-such-program", "--acp").open()
    assert caught.value.argv == ("there-is-no-such-program", "--acp")


async def test_a_program_that_may_not_be_run_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("no program", encoding="utf-8")
    with pytest.raises(accord.ConnectFailed):
        await accord.connect(str(tmp_path / "agent")).open()


@pytest.mark.parametrize("status", [0, 3])
async def test_a_program_that_ends_at_once_says_how_and_why(tmp_path: Path, status: int) -> None:
    raw = RawAgent(tmp_path, spoken=status)
    with pytest.raises(accord.ConnectionLost) as caught:
        await accord.connect(*raw.argv).open()
    assert (caught.value.exit_status, caught.value.stderr_tail) == (status, f"leaving with {status}\n")
    assert await gone(raw)


@pytest.mark.usefixtures("short_graces")
@pytest.mark.parametrize("plan", [{"spoken": "hang"}, {"at": {"initialize": "hang"}}])
async def test_a_program_that_hangs_at_its_start_is_ended(tmp_path: Path, plan: Any) -> None:
    raw = RawAgent(tmp_path, **plan)
    with pytest.raises(accord.DeadlineExceeded) as caught:
        await accord.connect(*raw.argv, deadlines=accord.Deadlines(start_seconds=0.5)).open()
    assert (caught.value.phase, caught.value.seconds) == ("start", 0.5)
    assert raw.starts == 1
    assert await gone(raw)


async def test_a_banner_on_stdout_does_not_matter(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, banner="Welcome to the agent!\n\n{not json}\n[1, 2]\n")
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("hello")).text == "you said hello"


@pytest.mark.usefixtures("short_graces")
async def test_a_start_that_is_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, at={"initialize": "hang"})
    opening = asyncio.ensure_future(accord.connect(*raw.argv).open())
    assert await until(lambda: raw.received("initialize"))
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert await gone(raw)


# --- it ends


@pytest.mark.parametrize("status", [0, 5])
async def test_an_agent_that_ends_at_initialize_is_lost(tmp_path: Path, status: int) -> None:
    raw = RawAgent(tmp_path, at={"initialize": status})
    with pytest.raises(accord.ConnectionLost) as caught:
        await accord.connect(*raw.argv).open()
    assert (caught.value.exit_status, caught.value.stderr_tail) == (status, f"leaving with {status}\n")


@pytest.mark.parametrize("status", [0, 5])
async def test_an_agent_that_ends_at_a_new_session_is_lost(tmp_path: Path, status: int) -> None:
    raw = RawAgent(tmp_path, at={"session/new": status})
    async with accord.connect(*raw.argv) as agent:
        with pytest.raises(accord.ConnectionLost) as caught:
            await agent.new_session(tmp_path)
    assert (caught.value.exit_status, caught.value.stderr_tail) == (status, f"leaving with {status}\n")


@IN_BOTH_RULES
@pytest.mark.parametrize("status", [0, 5])
async def test_an_agent_that_ends_in_the_middle_of_a_turn_is_lost(tmp_path: Path, edition: str, status: int) -> None:
    raw = RawAgent(tmp_path, edition=edition)
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        turn = session.prompt(f"die {status}")
        with pytest.raises(accord.ConnectionLost) as caught:
            await turn
        assert (caught.value.exit_status, caught.value.stderr_tail) == (status, f"leaving with {status}\n")
        assert turn.text == f"you said die {status}"
        assert session.transcript.state == "idle"


async def test_an_agent_that_is_killed_says_by_what(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.ConnectionLost) as caught:
            await session.prompt("kill")
        assert caught.value.exit_status == -signal.SIGKILL


async def test_a_stream_ends_with_the_loss_after_what_was_said(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    heard: list[str] = []

    async def listen(session: accord.client.Session) -> None:
        async with session.prompt("die 4") as turn:
            async for text in turn.text_stream():
                heard.append(text)  # noqa: PERF401 - it ends with an exception, and what came before counts

    async with accord.connect(*raw.argv) as agent:
        with pytest.raises(accord.ConnectionLost):
            await listen(await agent.new_session(tmp_path))
    assert heard == ["you said die 4"]


# --- it is started again


@IN_BOTH_RULES
async def test_the_next_prompt_starts_it_again_and_resumes(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition, session=["resume"])
    reasons: list[accord.ConnectionLost] = []
    async with accord.connect(*raw.argv) as agent:
        agent.on_respawn = reasons.append
        session = await agent.new_session(tmp_path)
        await session.prompt("one")
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("die 6")
        assert (agent.respawns, reasons) == (0, [])
        turn = await session.prompt("two")
        assert turn.text == "you said two"
        assert (agent.respawns, [reason.exit_status for reason in reasons]) == (1, [6])
        assert text_of(session) == [
            "user: one",
            "agent: you said one",
            "user: die 6",
            "agent: you said die 6",
            "user: two",
            "agent: you said two",
        ]
    assert raw.starts == 2
    assert raw.prompts() == ["one", "die 6", "two"]
    assert [params["sessionId"] for params in raw.received("session/resume")] == [session.id]


async def test_an_agent_that_can_only_load_tells_everything_again_to_nobody(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["load"])
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("one")
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("die 6")
        await session.prompt("two")
        assert text_of(session)[-2:] == ["user: two", "agent: you said two"]
        assert len(text_of(session)) == 6
    assert len(raw.received("session/load")) == 1


@IN_BOTH_RULES
async def test_an_agent_that_dies_while_nobody_talks_is_started_again_by_the_next_prompt(
    tmp_path: Path, edition: str
) -> None:
    raw = RawAgent(tmp_path, edition=edition, session=["resume"])
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        os.kill(raw.pids[0], signal.SIGKILL)
        assert await until(lambda: not agent.connection.is_open)
        assert (await session.prompt("hello")).text == "you said hello"
        assert agent.respawns == 1
    assert raw.prompts() == ["hello"]


async def test_an_agent_that_left_in_peace_is_started_again_too(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"], at={"_leave": 0})
    reasons: list[accord.ConnectionLost] = []
    async with accord.connect(*raw.argv) as agent:
        agent.on_respawn = reasons.append
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.ConnectionLost):
            await agent.request("_leave")
        assert (await session.prompt("hello")).text == "you said hello"
    assert [(reason.exit_status, reason.stderr_tail) for reason in reasons] == [(0, "leaving with 0\n")]


async def test_each_loss_is_worth_one_start(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"])
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        for status in (1, 2, 3):
            with pytest.raises(accord.ConnectionLost) as caught:
                await session.prompt(f"die {status}")
            assert caught.value.exit_status == status
        assert agent.respawns == 2
    assert raw.prompts() == ["die 1", "die 2", "die 3"]


async def test_two_sessions_share_one_new_process(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"])
    async with accord.connect(*raw.argv) as agent:
        one = await agent.new_session(tmp_path)
        two = await agent.resume_session("another", tmp_path)
        with pytest.raises(accord.ConnectionLost):
            await one.prompt("die 1")
        turns = await asyncio.gather(one.prompt("a").wait(), two.prompt("b").wait())
        assert [turn.text for turn in turns] == ["you said a", "you said b"]
        assert agent.respawns == 1
    assert raw.starts == 2
    assert sorted(params["sessionId"] for params in raw.received("session/resume")) == sorted([one.id, two.id, two.id])


async def test_a_prompt_that_waited_behind_the_lost_one_is_not_sent(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"])
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        results = await asyncio.gather(
            session.prompt("die 3").wait(), session.prompt("queued").wait(), return_exceptions=True
        )
        assert [type(result) for result in results] == [accord.ConnectionLost] * 2
    assert raw.prompts() == ["die 3"]


async def test_whoever_wants_no_respawn_gets_the_loss_again(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"])
    async with accord.connect(*raw.argv, respawn=False) as agent:
        session = await agent.new_session(tmp_path)
        for text in ("die 6", "hello"):
            with pytest.raises(accord.ConnectionLost) as caught:
                await session.prompt(text)
            assert (caught.value.exit_status, caught.value.stderr_tail) == (6, "leaving with 6\n")
        with pytest.raises(accord.ConnectionLost):
            await agent.new_session(tmp_path)
        assert agent.respawns == 0
    assert raw.starts == 1


async def test_a_session_that_no_agent_can_reopen_is_lost_and_says_so(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("die 6")
        for _ in range(2):
            with pytest.raises(accord.ConnectionLost) as caught:
                await session.prompt("hello")
            assert (caught.value.exit_status, caught.value.stderr_tail) == (6, "leaving with 6\n")
            assert "neither resume nor load" in caught.value.message
        fresh = await agent.new_session(tmp_path)
        assert (await fresh.prompt("hello")).text == "you said hello"
    assert (raw.starts, raw.prompts()) == (2, ["die 6", "hello"])


async def test_a_new_session_starts_a_lost_agent_again(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    async with accord.connect(*raw.argv) as agent:
        os.kill(raw.pids[0], signal.SIGKILL)
        assert await until(lambda: not agent.connection.is_open)
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("hello")).text == "you said hello"
        assert agent.respawns == 1


async def test_a_respawn_that_fails_is_the_error_of_the_prompt(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"])
    program = tmp_path / "agent"
    program.symlink_to(sys.executable)
    async with accord.connect(str(program), *raw.argv[1:]) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("die 1")
        program.unlink()
        with pytest.raises(accord.ConnectFailed):
            await session.prompt("hello")
        program.symlink_to(sys.executable)
        assert (await session.prompt("hello again")).text == "you said hello again"
    assert raw.prompts() == ["die 1", "hello again"]


async def test_an_agent_that_does_not_know_the_session_any_more_says_so(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"], at={"session/resume": 9})
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("die 1")
        with pytest.raises(accord.ConnectionLost) as caught:
            await session.prompt("hello")
        assert caught.value.exit_status == 9
    assert raw.prompts() == ["die 1"]


async def test_an_agent_in_this_process_can_be_lost_too(tmp_path: Path) -> None:
    agent = accord.Agent("fragile", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    async with accord.connect(agent, edition="2") as remote:
        session = await remote.new_session(tmp_path)
        await session.prompt("one")
        await remote.connection.close()
        assert (await session.prompt("two")).text == "You said: two"
        assert remote.respawns == 1
        assert text_of(session) == ["user: one", "agent: You said: one", "user: two", "agent: You said: two"]


# --- several, and the end


async def test_several_agents_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    raws: list[RawAgent] = []
    for number, edition in enumerate(["v1", "v2", "v1", "v2"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        raws.append(RawAgent(folder, edition=edition))
    async with contextlib.AsyncExitStack() as stack:
        agents = await asyncio.gather(*(stack.enter_async_context(accord.connect(*raw.argv)) for raw in raws))
        sessions = [await agent.new_session(tmp_path) for agent in agents]
        with pytest.raises(accord.ConnectionLost):
            await sessions[0].prompt("die 1")
        turns = await asyncio.gather(*(session.prompt(f"to {session.id}").wait() for session in sessions[1:]))
        assert [turn.text for turn in turns] == [f"you said to {session.id}" for session in sessions[1:]]
    for raw in raws:
        assert await gone(raw)


@pytest.mark.usefixtures("short_graces")
async def test_closing_an_agent_that_hangs_in_a_turn_is_bounded(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    agent = accord.connect(*raw.argv)
    await agent.open()
    session = await agent.new_session(tmp_path)
    turn = asyncio.ensure_future(session.prompt("hang").wait())
    assert await until(raw.prompts)
    began = time.monotonic()
    await agent.close()
    assert time.monotonic() - began < limit(15)
    with pytest.raises(accord.ConnectionLost):
        await turn
    assert await gone(raw)


@pytest.mark.usefixtures("short_graces")
async def test_closing_an_agent_that_is_just_being_started_leaves_nothing_behind(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, at={"initialize": "hang"})
    agent = accord.connect(*raw.argv)
    opening = asyncio.ensure_future(agent.open())
    assert await until(lambda: raw.received("initialize"))
    await agent.close()
    assert not any(runs(pid) for pid in raw.pids)
    with pytest.raises(accord.ConnectionLost):
        await opening


@pytest.mark.usefixtures("short_graces")
async def test_closing_an_agent_that_is_just_being_started_again_leaves_nothing_behind(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"], at={"session/resume": "hang"})
    agent = accord.connect(*raw.argv)
    await agent.open()
    session = await agent.new_session(tmp_path)
    with pytest.raises(accord.ConnectionLost):
        await session.prompt("die 1")
    prompting = asyncio.ensure_future(session.prompt("hello").wait())
    assert await until(lambda: raw.received("session/resume"))
    await agent.close()
    assert not any(runs(pid) for pid in raw.pids)
    with pytest.raises(accord.ConnectionLost):
        await prompting


@pytest.mark.usefixtures("short_graces")
async def test_closing_while_the_new_process_says_nothing_leaves_nothing_behind(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, session=["resume"])
    hung = RawAgent(tmp_path, at={"initialize": "hang"})
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(raw.argv)}\n", encoding="utf-8")
    program.chmod(0o755)
    agent = accord.connect(program)
    await agent.open()
    session = await agent.new_session(tmp_path)
    program.write_text(f"#!/bin/sh\nexec {shlex.join(hung.argv)}\n", encoding="utf-8")
    with pytest.raises(accord.ConnectionLost):
        await session.prompt("die 1")
    prompting = asyncio.ensure_future(session.prompt("hello").wait())
    assert await until(lambda: len(raw.received("initialize")) == 2)
    await agent.close()
    assert not any(runs(pid) for pid in raw.pids)
    with pytest.raises(accord.ConnectionLost):
        await prompting
    assert raw.prompts() == ["die 1"]


@pytest.mark.usefixtures("short_graces")
async def test_a_program_that_ignores_everything_and_forks_is_gone_after_the_close(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, stubborn=True)
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("hello")).text == "you said hello"
        began = time.monotonic()
    assert time.monotonic() - began < limit(15)
    assert len(set(raw.pids)) >= 2
    assert await gone(raw)


@pytest.mark.usefixtures("short_graces")
async def test_the_terminals_of_an_agent_end_with_it(tmp_path: Path) -> None:
    agent = accord.Agent("runner", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        script = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
        await turn.terminals.start([sys.executable, "-I", "-S", "-c", script])
        await asyncio.sleep(600)

    async with accord.connect(agent, edition="1") as remote:
        session = await remote.new_session(tmp_path)
        turn = asyncio.ensure_future(session.prompt("go").wait())
        terminals = session.transcript.terminals
        assert await until(lambda: any(terminal.text for terminal in terminals.values()))
        (terminal,) = terminals.values()
        assert runs(int(terminal.text))
    with pytest.raises(accord.ConnectionLost):
        await turn
    assert not runs(int(terminal.text))
    assert terminal.exit is not None
