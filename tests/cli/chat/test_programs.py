"""`!command`: runs in the session's folder, is shown, and never reaches the agent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import accord
from accord.cli.chat.programs import MAX_OUTPUT_BYTES, Shell
from accord.cli.chat.timeline import ShellPart
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import Chat, open_chat
from tests.cli.command import is_gone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs /bin/sh: run it on Linux or macOS")


async def pid_in(chat: Chat, file: Path) -> int:
    await chat.until(lambda: file.exists() and file.read_text().strip(), "the process")
    return int(file.read_text())


async def test_a_command_runs_in_the_folder_is_shown_and_is_never_sent(tmp_path: Path) -> None:
    actor = make_actor()
    (tmp_path / "a file").write_text("x")
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("!ls; pwd; exit 3")
        await chat.sees("! ls; pwd; exit 3", "not sent to the agent", "a file", tmp_path.name, "exit status 3")
        await chat.say("hello")
        await chat.sees("You said: hello")
        assert len(actor.prompts) == 1
        session = chat.app.chat_session.session
        assert session is not None
        assert "a file" not in repr(session.transcript.timeline)


async def test_it_runs_while_the_agent_works(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("wait")
        await chat.sees("Waiting.")
        await chat.say("!echo meanwhile")
        await chat.until(lambda: chat.part(ShellPart).is_over, "the end of the command")
        await chat.until(lambda: "meanwhile" in chat.part(ShellPart).text)
        actor.gate.set()
        await chat.sees("Waited.")


async def test_what_it_prints_steers_no_screen(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.say(r"!printf '\033]0;evil\007\033[2Jplain\n'")
        await chat.until(lambda: chat.part(ShellPart).text.strip() == "plain", "the output")


async def test_ctrl_c_ends_it_with_everything_that_it_started(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.say("!sleep 1000 & echo $! > pid; wait")
        pid = await pid_in(chat, tmp_path / "pid")
        await chat.sees("running your command", "Ctrl+C ends your command")
        await chat.say("!echo another")
        await chat.sees("Your last command still runs")
        await chat.press("ctrl+c")
        await chat.until(lambda: chat.part(ShellPart).is_over, "the end")
        assert is_gone(pid)
        assert chat.app.return_code is None


async def test_it_ends_with_the_chat(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.say("!sleep 1000 & echo $! > pid; wait")
        pid = await pid_in(chat, tmp_path / "pid")
    assert is_gone(pid)


async def test_nothing_behind_the_mark_runs_nothing(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.say("!")
        await chat.sees("Type a command behind the !")


async def test_of_endless_output_the_end_is_kept(tmp_path: Path) -> None:
    shell = Shell()
    line = shell.line("yes 0123456789 | head -c 3000000; echo; echo last", str(tmp_path))
    assert await shell.run(line, 80) is None
    assert len(line.output) <= MAX_OUTPUT_BYTES
    assert line.text.endswith("last\r\n")


async def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    shell = Shell()
    line = shell.line("ls", str(tmp_path / "gone"))
    assert await shell.run(line, 80)
    assert line.exit is not None
    assert not shell.is_running


async def test_a_command_that_prints_while_another_session_is_opened_disturbs_nothing(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await chat.say("!echo first; sleep 1000")
        await chat.until(lambda: "first" in chat.part(ShellPart).text, "the output")
        await chat.say("/new")
        await chat.sees("Welcome to accord chat")
        await chat.say("hello")
        await chat.sees("You said: hello")
        await chat.press("ctrl+c")
        await chat.until(lambda: not chat.app.shell.is_running, "the end of the command")


async def test_it_runs_in_the_folder_of_the_session_where_that_is_another_one(tmp_path: Path) -> None:
    actor = make_actor(accord.MemoryStore())
    there = tmp_path / "there"
    there.mkdir()
    async with accord.connect(actor.agent) as agent:
        session = await agent.new_session(there)
    async with open_chat(actor.agent, tmp_path, session=session.id, session_cwd=str(there)) as chat:
        await chat.say("!pwd > where")
        await chat.until((there / "where").exists, "the file")
