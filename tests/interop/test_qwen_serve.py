"""Qwen Code as a server over HTTP, driven by the command: a conversation that goes on has its own answers alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.command import Result
from tests.interop.llm.script import Say, Script
from tests.interop.llm.server import ScriptedModel, serve
from tests.interop.npm_agents import AGENTS, Place
from tests.limits import limit

if "ACCORD_REAL_AGENTS" not in os.environ:
    # Before the next import: without leave to run them, that module ends half way.
    pytest.skip("scripts/test --interop", allow_module_level=True)

from tests.interop.test_real_agents import WANTED, nobody_lives_in

pytestmark = pytest.mark.timeout(240)

QWEN = AGENTS["qwen"]
SECONDS = limit(100.0)


class Served:
    """The server's address, its model, and the command in the same place."""

    def __init__(self, address: str, place: Place, env: dict[str, str], model: ScriptedModel) -> None:
        self._address = address
        self._place = place
        self._env = env
        self.model = model

    async def run(self, *words: str) -> Result:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "accord", "run", self._address, *words, "--timeout", str(SECONDS)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._place.project,
            env=self._env,
        )
        async with asyncio.timeout(SECONDS):
            stdout, stderr = await process.communicate()
        return Result(process.returncode or 0, stdout.decode(), stderr.decode())


@contextlib.asynccontextmanager
async def served(root: Path) -> AsyncIterator[Served]:
    if not QWEN.is_installed:
        missing = "qwen is missing: scripts/agents could not install it"
        if WANTED != "present":
            pytest.fail(missing)
        pytest.skip(missing)
    home, project = root / "home", root / "project"
    home.mkdir()
    project.mkdir()
    async with serve(Script([Say("nothing")])) as model:
        place = Place(home, project, model.url)
        env = {name: value for name, value in {**os.environ, **QWEN.environment(place)}.items() if value is not None}
        server = await asyncio.create_subprocess_exec(
            *(str(QWEN.path), "serve", "--port", "0", "--no-web", "--workspace", str(project)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=project,
            env=env,
        )
        assert server.stdout is not None
        try:
            async with asyncio.timeout(SECONDS):
                found = None
                while found is None:
                    found = re.search(rb"http://127\.0\.0\.1:\d+", await server.stdout.readline())
            reading = asyncio.ensure_future(server.stdout.read())
            yield Served(f"{found[0].decode()}/acp", place, env, model)
        finally:
            server.terminate()
            await server.wait()
        await reading
    await nobody_lives_in(home)


async def test_a_conversation_that_goes_on_has_its_own_answers_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as qwen:
        for number, more in enumerate([(), ("-c",), ("-c",)]):
            qwen.model.script = Script([Say(f"answer {number}")])
            result = await qwen.run(f"question {number}", *more, "-o", "events")
            assert result.status == 0, result.stderr
            (end,) = result.of_type("end")
            chunks = [each["block"]["text"] for each in result.of_type("message_chunk")]
            assert (end["answer"], "".join(chunks)) == (f"answer {number}", f"answer {number}")
