"""`accord serve` with agents of the frameworks of this environment, over WebSocket and HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

import accord
from tests.adapters.environments import framework_param
from tests.adapters.test_programs import AGENTS
from tests.limits import limit
from tests.serve.server_process import serving

ROOT = Path(__file__).parents[2]
IN_EVERY_FRAMEWORK = pytest.mark.parametrize("framework", [framework_param(name) for name in AGENTS])


@IN_EVERY_FRAMEWORK
@pytest.mark.timeout(limit(300))
async def test_a_tool_that_ends_the_program_does_not_end_the_server(framework: str, tmp_path: Path) -> None:
    async with serving(
        tmp_path, f"{AGENTS[framework]}:agent", env={"PYTHONPATH": str(ROOT)}, is_fresh=True, start_seconds=120.0
    ) as server:
        headers = server.authorization
        async with (
            accord.connect(server.websocket, headers=headers) as one,
            accord.connect(server.http, headers=headers) as other,
        ):
            waiting = await other.new_session(tmp_path / "root")
            assert (await waiting.prompt("hello")).text == "Hello there."
            session = await one.new_session(tmp_path / "root")
            for prompt in ("leave exit", "leave_later exit", "leave_later interrupt"):
                with pytest.raises(accord.RequestError):
                    await session.prompt(prompt)
            assert (await waiting.prompt("remember")).text == "hello / remember"
            assert (await session.prompt("hello")).text == "Hello there."
        assert server.process.returncode is None
