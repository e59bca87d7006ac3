"""A tap in front of agents that people use: the bytes into it are the bytes out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import accord
from tests.interop.llm.script import Say, Script
from tests.interop.llm.server import serve
from tests.interop.npm_agents import AGENTS, NOTE, NpmAgent, Place
from tests.interop.tapped import check_passage, tapped

WANTED = os.environ.get("ACCORD_REAL_AGENTS")
if WANTED is None:
    pytest.skip("scripts/test --interop", allow_module_level=True)

pytestmark = pytest.mark.timeout(240)

DEADLINES = accord.Deadlines(start_seconds=120, turn_seconds=120, cancel_seconds=60)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
async def test_every_byte_passes_in_front_of_a_real_agent(agent: NpmAgent, tmp_path: Path) -> None:
    if not agent.is_installed:
        missing = f"{agent.name} is missing: scripts/agents could not install it"
        if WANTED != "present":
            pytest.fail(missing)
        pytest.skip(missing)
    folders = [tmp_path / name for name in ("home", "project", "tap")]
    for folder in folders:
        folder.mkdir()
    async with serve(Script([Say("Hello.")])) as model:
        place = Place(folders[0], folders[1], model.url)
        place.note.write_text(NOTE)
        async with accord.connect(
            *tapped(folders[2], agent.argv),
            program_cwd=place.project,
            env=agent.environment(place),
            deadlines=DEADLINES,
            edition="1",
        ) as remote:
            if agent.login is not None:
                await remote.login(agent.login)
            session = await remote.new_session(place.project)
            assert (await session.prompt("Say hello")).stop_reason == "end_turn"
    check_passage(folders[2])
