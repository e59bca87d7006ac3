"""The tool `run`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accord.client import Offer
from accord.coder.tools.call import BadArguments
from accord.coder.tools.run import split_command
from tests.coder.rig import agent_with, call, project, say, talk, use_tool


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


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("git log", ["git", "log"]),
        ("echo 'a; b' \"c | d\" e\\;", ["echo", "a; b", "c | d", "e;"]),
        ("echo $HOME *", ["echo", "$HOME", "*"]),
    ],
)
def test_a_command_is_split_into_words(command: str, argv: list[str]) -> None:
    assert split_command(command) == argv


@pytest.mark.parametrize("command", ["   ", "echo 'a", "''"])
def test_what_is_no_command_is_refused(command: str) -> None:
    with pytest.raises(BadArguments):
        split_command(command)
