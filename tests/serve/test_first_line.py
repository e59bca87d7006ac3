"""What `accord serve` shows, and what other verbs do with its address: a line to copy, and the doctor."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked_async import AwaitedProgram, serve_command
from tests.limits import limit
from tests.serve.server_process import ServerProcess, serving

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the line is for a POSIX shell: run it on Linux")


async def shell(line: str, folder: Path) -> tuple[int | None, str]:
    """Run a line with `accord` on the PATH; the status, and all output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_STATE_HOME": str(folder / "state")}
    process = await asyncio.create_subprocess_shell(
        line, cwd=folder, env=environment, stdin=-3, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(limit(40.0)):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_the_line_that_is_shown_can_be_copied_and_works_from_any_folder(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent", token="") as server:
        (line,) = await shown(server)
        status, output = await shell(line, tmp_path)
    assert status == 0, output
    assert "end_turn" in output


async def shown(server: ServerProcess) -> list[str]:
    """The lines that a user can copy; they come behind the token."""
    async with asyncio.timeout(limit(20.0)):
        while not (lines := [line for line in server.log if line.startswith("cd ")]):
            await asyncio.sleep(0.01)
    return lines


async def doctor(server: ServerProcess, folder: Path) -> tuple[int | None, str]:
    """Examine the served agent, from a folder; it reports no commands, for which a user's doctor waits some seconds."""
    process = await AwaitedProgram.start(
        serve_command({"accord.cli.doctor.COMMANDS_SECONDS": 0.1}),
        ("accord", "agents", "doctor", server.websocket),
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state"), "ACCORD_TOKEN": server.token},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(limit(40.0)):
        output, error = await process.communicate()
    return process.returncode, (output + error).decode()


async def test_the_doctor_examines_an_agent_at_an_address_and_advises_where_it_cannot(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent") as server:
        inside = await doctor(server, tmp_path / "root")
        outside = await doctor(server, tmp_path)
    assert inside[0] == 0, inside[1]
    assert outside[0] == 1
    assert "Go to a directory that the agent serves" in outside[1]
    assert "{" not in outside[1]
