"""The tool `run`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from accord.client import Offer
from accord.coder.tools.call import MAX_RUNNING, BadArguments
from accord.coder.tools.run import split_command
from tests.coder.rig import IN_EVERY_EDITION, Talk, agent_with, call, project, say, talk, use_tool
from tests.limits import limit
from tests.tables import rows


@pytest.mark.parametrize("terminals", [True, False])
async def test_output_and_exit_code_are_told(tmp_path: Path, terminals: bool) -> None:  # noqa: FBT001
    project(tmp_path, **{"a.py": "import sys\nprint('hello')\nsys.exit(3)\n"})
    agent, model = agent_with(call("run", command=f"{sys.executable} a.py"), say("Hm."))
    async with talk(agent, tmp_path, offer=Offer(terminals=terminals)) as talked:
        await talked.ask("go")

        assert (talked.tool.kind, talked.tool.status) == ("execute", "failed")
        assert talked.tool.raw_output == {"exit_code": 3, "signal": None, "timed_out": False}
    (result,) = model.results()
    assert result.failed
    assert result.text == "It ended with exit code 3.\nhello\n"


async def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    result, shown = await use_tool(tmp_path, "run", command="sleep 100", timeout_seconds=0.05)

    assert result.failed
    assert result.text.startswith("It did not end within 0.05 seconds")
    assert shown.status == "failed"


async def test_a_command_runs_where_it_should(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    result, _ = await use_tool(tmp_path, "run", command="pwd", directory="sub")
    outside, _ = await use_tool(tmp_path / "sub", "run", command="pwd", directory="..")

    assert result.text == f"It ended with exit code 0.\n{tmp_path}/sub\n"
    assert outside.failed


async def test_long_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    program = "print('first'); print('x' * 100_000); print('last')"

    result, _ = await use_tool(tmp_path, "run", command=f'{sys.executable} -c "{program}"')

    assert len(result.text) < 31_000
    assert result.text.startswith("It ended with exit code 0.\nfirst")
    assert result.text.endswith("last\n")


async def test_a_program_that_is_not_there_fails(tmp_path: Path) -> None:
    result, shown = await use_tool(tmp_path, "run", command="no-such-program-here")

    assert result.failed
    assert shown.status == "failed"


@pytest.mark.parametrize("command", ["a | b", "a && b", "a; b", "a > b", "a $(b)", "a `b`", "a &", "a <b"])
async def test_a_line_for_a_shell_is_refused_before_anybody_is_asked(tmp_path: Path, command: str) -> None:
    agent, model = agent_with(call("run", command=command), say("Sorry."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")

        assert talked.asked == []
    assert "There is no shell here" in model.results()[0].text


@rows(
    ("command", "argv"),
    [
        ("git log", ["git", "log"]),
        ("echo 'a; b' \"c | d\" e\\;", ["echo", "a; b", "c | d", "e;"]),
        ("echo $HOME *", ["echo", "$HOME", "*"]),
    ],
)
def test_a_command_is_split_into_words(command: str, argv: list[str]) -> None:
    assert split_command(command) == argv


@rows("command", ["   ", "echo 'a", "''"])
def test_what_is_no_command_is_refused(command: str) -> None:
    with pytest.raises(BadArguments):
        split_command(command)


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
