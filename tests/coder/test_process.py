"""The coding agent as a program: started, restarted, killed, and told nonsense."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import accord
from tests.coder.rig import IN_EVERY_EDITION, project
from tests.limits import limit

CODER = (sys.executable, "-m", "accord.coder")


@pytest.mark.usefixtures("forked_interpreters")
@IN_EVERY_EDITION
async def test_the_program_does_what_the_agent_does(tmp_path: Path, edition: str) -> None:
    folder = project(tmp_path / "project", **{"a.py": 'pritn("hi")\n'})
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    argv = (*CODER, "--model", "offline", "--store", store, "--allow", "edit", "--deny", "execute:rm *")
    async with accord.connect(*argv, edition=edition) as remote:  # type: ignore[call-overload]
        session = await remote.new_session(folder)
        turn = await session.prompt("replace pritn with print in a.py")
        assert turn.text == "Replaced 1 occurrence in a.py."
        denied = await session.prompt("run rm a.py")
        assert "A rule forbids it" in denied.text
        session_id = session.id
    async with accord.connect(*argv, edition=edition) as remote:  # type: ignore[call-overload]
        session = await remote.load_session(session_id, folder)
        assert "Replaced 1 occurrence in a.py." in session.transcript.text
        turn = await session.prompt("read a.py")
        assert turn.text == 'a.py:\n\n```\nprint("hi")\n```'
    assert (folder / "a.py").read_text() == 'print("hi")\n'


async def test_a_killed_program_comes_back_with_its_history(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", a="x\n")
    argv = (*CODER, "--store", f"sqlite:{tmp_path / 'sessions.db'}")
    async with accord.connect(*argv, permission=lambda _: True) as remote:
        session = await remote.new_session(folder)
        await session.prompt("read a")
        with pytest.raises(accord.AccordError):
            await _kill(session)
        turn = await session.prompt("read a")

        assert turn.stop_reason == "end_turn"
        assert answered_last(session) == "a:\n\n```\nx\n```"


async def _kill(session: accord.client.Session) -> None:
    async with session.prompt("run sleep 100") as turn:
        async for _ in turn:
            if session.transcript.tool_calls and list(session.transcript.tool_calls.values())[-1].kind == "execute":
                os.kill(_pid(), signal.SIGKILL)
                break


def _pid() -> int:
    me = Path("/proc/self").resolve().name
    children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
    for pid in children:
        if b"accord.coder" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return int(pid)
    raise AssertionError("the agent is no child of ours")


def answered_last(session: accord.client.Session) -> str:
    return [message.text for message in session.transcript.messages if message.speaker == "agent"][-1]


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.parametrize(
    "arguments",
    [("--model", "nonsense"), ("--store", "drawer:x"), ("--allow", "everything"), ("--what",)],
)
def test_what_cannot_be_meant_is_one_line_and_exit_status_2(arguments: tuple[str, ...]) -> None:
    finished = subprocess.run([*CODER, *arguments], capture_output=True, text=True, timeout=limit(60), check=False)

    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr
    assert finished.stderr.strip().splitlines()[-1].startswith("accord agent: error: ")
