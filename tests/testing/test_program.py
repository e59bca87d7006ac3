"""Scripts as programs: garbage on stdout, noise on stderr, exit codes, and running on without a client."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.errors import ConnectionLost
from accord.testing import AgentPeer, Recorder, command_of, join
from accord.testing.program import FAILED
from tests.forking_python import forking_python
from tests.limits import limit
from tests.tables import rows


async def talkative(peer: AgentPeer) -> None:
    print("warming up", flush=True)  # noqa: T201
    await peer.greet("v2")
    session = await peer.open_session()
    prompt = await peer.take_prompt()
    await peer.garbage("words", "half a message")
    await peer.chunk(session, "done")
    await peer.end(prompt)


async def test_what_a_script_prints_stands_between_its_messages(tmp_path: Path) -> None:
    recorder = Recorder()

    async with join(*command_of(talkative), recorder=recorder) as remote:
        session = await remote.new_session(tmp_path)
        assert (await session.prompt("go")).text == "done"
        assert remote.edition == "v2"

    assert recorder.texts[1] == ("in", b"warming up")


async def test_a_script_answers_in_the_framing_of_its_client(tmp_path: Path) -> None:
    async with accord.connect(*command_of(talkative), framing="headers") as remote:
        session = await remote.new_session(tmp_path)
        assert (await session.prompt("go")).text == "done"


async def dying(peer: AgentPeer) -> None:
    await peer.greet()
    await peer.expect("session/new")
    print("no license", file=sys.stderr, flush=True)  # noqa: T201
    peer.exit(42)


async def test_an_exit_status_and_the_last_words_reach_the_client() -> None:
    with pytest.raises(ConnectionLost) as caught:
        async with join(*command_of(dying)) as remote:
            await remote.new_session()

    assert caught.value.exit_status == 42
    assert "no license" in caught.value.stderr_tail


async def mistaken(peer: AgentPeer) -> None:
    await peer.greet()
    raise KeyError("a mistake in the script")


async def test_a_script_that_fails_says_so_on_stderr() -> None:
    with pytest.raises(ConnectionLost) as caught:
        async with join(*command_of(mistaken)) as remote:
            await remote.new_session()

    assert caught.value.exit_status == FAILED
    assert "a mistake in the script" in caught.value.stderr_tail


async def staying(peer: AgentPeer) -> None:
    await peer.greet()
    await peer.stay()


@pytest.mark.usefixtures("short_graces")
async def test_a_program_that_stays_is_ended_by_its_client() -> None:
    async with accord.connect(*command_of(staying), "--ignore-sigterm") as remote:
        pid = remote.connection.transport.pid  # type: ignore[attr-defined]
        os.kill(pid, 0)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@rows("script", [AgentPeer.greet, lambda peer: peer.stay(), print])
def test_only_functions_at_the_top_of_a_file_can_be_found_again(script: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        command_of(script)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [forking_python(), "-m", "accord.testing.program", *arguments],
        cwd=cwd,
        input="",
        capture_output=True,
        text=True,
        timeout=limit(60),
        check=False,
    )


def test_a_script_is_named_by_its_module_too(tmp_path: Path) -> None:
    (tmp_path / "scripts.py").write_text("async def leave(peer):\n    peer.exit(7)\n")

    assert run("scripts:leave", cwd=tmp_path).returncode == 7
    assert run("scripts.py:leave", cwd=tmp_path).returncode == 7


@pytest.mark.parametrize("name", ["leave", "scripts:stay", "scripts.py:stay"])
def test_a_script_that_is_not_there_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "scripts.py").write_text("async def leave(peer):\n    peer.exit(7)\n")

    finished = run(name, cwd=tmp_path)

    assert finished.returncode == 1
    assert finished.stderr
