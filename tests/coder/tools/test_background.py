"""Background commands: they go on beside the turns, are read and stopped by number, and end with the session."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from accord.client import Offer
from accord.coder.background import MAX_RUNNING
from tests.coder.rig import IN_EVERY_EDITION, Talk, agent_with, call, say, talk
from tests.limits import limit

SERVER = "echo $$ > pid; echo ready; exec sleep 1000"


async def gone(pid: int) -> None:
    async with asyncio.timeout(limit(20)):
        while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]:
            await asyncio.sleep(0.01)


@IN_EVERY_EDITION
@pytest.mark.parametrize("terminals", [True, False])
async def test_it_goes_on_beside_the_turns_and_ends_with_the_session(
    tmp_path: Path,
    edition: str,
    terminals: bool,  # noqa: FBT001
) -> None:
    agent, model = agent_with(
        call("shell", command=SERVER, background=True), say("It runs."), call("output", id="1"), say("Ready.")
    )
    async with talk(agent, tmp_path, edition, offer=Offer(terminals=terminals)) as talked:
        await talked.ask("start it")
        started = model.results()[0].text
        assert started.startswith("It is background command 1. It runs.")
        assert talked.tool.status == "completed"
        pid = int((tmp_path / "pid").read_text())
        await talked.ask("is it ready?")
        assert model.results()[0].text == "It runs.\nready\n"
        os.kill(pid, 0)
        assert len(talked.asked) == 1
        await talked.session.close()
        await gone(pid)


async def test_its_output_is_a_terminal_of_the_tool_call(tmp_path: Path) -> None:
    agent, _ = agent_with(call("shell", command="echo hello", background=True), say("Done."))
    async with talk(agent, tmp_path, "2") as talked:
        await talked.ask("go")
        (view,) = talked.tool.content
        terminal = talked.session.transcript.terminals[view.terminal_id]  # type: ignore[union-attr]
        assert terminal.output == b"hello\n"


async def test_one_that_ends_at_once_says_how(tmp_path: Path) -> None:
    agent, model = agent_with(call("shell", command="echo no; exit 3", background=True), say("Hm."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

    assert model.results()[0].text == "It is background command 1. It ended with exit code 3.\nno\n"


async def test_it_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    agent, model = agent_with(
        call("shell", command="sleep 1000 & echo $! > pid; wait", background=True), call("stop", id="1"),
        call("output", id="1"), say("Done."),
    )  # fmt: skip
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")
        await gone(int((tmp_path / "pid").read_text()))

    assert [result.failed for request in (1, 2, 3) for result in model.results(request)] == [False] * 3
    assert not model.results()[0].text.startswith("It runs.")


async def test_waiting_for_it_ends_with_it(tmp_path: Path) -> None:
    agent, model = agent_with(
        call("shell", command="while [ ! -e go ]; do sleep 0.02; done; echo done", background=True),
        call("write", path="go", text="x"), call("output", id="1", wait_seconds=300), say("Done."),
    )  # fmt: skip
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

    assert model.results()[0].text == "It ended with exit code 0.\ndone\n"


@pytest.mark.parametrize("tool", ["output", "stop"])
async def test_an_unknown_number_is_a_reason(tmp_path: Path, tool: str) -> None:
    agent, model = agent_with(call(tool, id="7"), say("Hm."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")
        assert talked.tool.status == "failed"

    assert "There is no background command 7" in model.results()[0].text


async def test_their_number_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.coder.tools.run.WATCHED_SECONDS", 0.01)
    starts = [call("run", command="sleep 1000", background=True) for _ in range(MAX_RUNNING + 1)]
    agent, model = agent_with(*starts, call("stop", id="1"), call("run", command="true", background=True), say("Done."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

    results = [model.results(request)[0] for request in range(1, len(starts) + 3)]
    assert [result.failed for result in results] == [False] * MAX_RUNNING + [True, False, False]


async def test_commands_of_one_session_are_none_of_another(tmp_path: Path) -> None:
    agent, model = agent_with(
        call("run", command="true", background=True), say("Done."), call("output", id="1"), say("No.")
    )
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")
        other = Talk(talked.remote, await talked.remote.new_session(tmp_path))
        await other.ask("go")

    assert model.results()[0].failed
