"""What a user sees when something goes wrong: a dead MCP server, a client's refusal, a plan whose turn broke off."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.agent import Turn
from tests.agent.mcp_servers.starting import FRIENDLY
from tests.agent.rig import agent_of, choose, served
from tests.coder.rig import IN_EVERY_EDITION, agent_with, call, project, say, talk
from tests.limits import limit
from tests.tables import rows

pytest.importorskip("mcp", reason='mcp is missing: pip install "accord[mcp]"')


async def test_an_mcp_server_that_dies_is_announced_once_in_the_turn_in_which_it_died(tmp_path: Path) -> None:
    config: dict[str, Any] = {"name": "mortal", "command": sys.executable, "args": [FRIENDLY, "stdio"], "env": []}
    agent, model = agent_with(say("One."), call("mcp_mortal_die"), say("Two."), say("Three."))
    async with served(agent, "v1") as hand:
        hand.answers["session/request_permission"] = choose("allow")
        session = await hand.new_session(str(tmp_path), mcpServers=[config])
        turns = [await hand.turn(session) for _ in range(3)]

    announced = ["MCP server mortal is not available" in str(heard.updates) for heard in turns]
    assert announced == [False, True, False]
    assert "mcp_mortal_die" in model.offered(0)
    assert "mcp_mortal_die" not in model.offered(3)


async def test_the_details_of_a_clients_error_reach_the_model_and_the_user(tmp_path: Path) -> None:
    agent, model = agent_with(call("read", path="a"), say("Sorry."))
    async with served(agent, "v1", {"fs": {"readTextFile": True, "writeTextFile": True}}) as hand:
        error = {"code": -32603, "message": "Internal error", "data": {"details": "Permission denied for a"}}
        hand.answers["fs/read_text_file"] = lambda _: {"error": error}
        session = await hand.new_session(str(project(tmp_path, a="x")))
        heard = await hand.turn(session)

    assert "Permission denied for a" in model.results()[0].text
    assert "Permission denied for a" in str(heard.of("tool_call_update"))


def entries(session: accord.client.Session) -> list[str]:
    return [entry.status for plan in session.transcript.plans.values() for entry in plan.entries]


PLAN = [accord.PlanEntry("look", "completed"), accord.PlanEntry("change", "in_progress"), accord.PlanEntry("test")]


@IN_EVERY_EDITION
@rows("how", ["cancelled", "failed"])
async def test_no_entry_of_a_plan_stays_in_progress_when_its_turn_breaks_off(
    tmp_path: Path, edition: str, how: str
) -> None:
    shown = asyncio.Event()

    async def work(turn: Turn) -> None:
        await turn.plan(PLAN)
        shown.set()
        if how == "failed":
            raise RuntimeError("a bug")
        await asyncio.Event().wait()

    async with talk(agent_of(work), tmp_path, edition) as talked:
        turn = talked.session.prompt("go")
        async with turn:
            async with asyncio.timeout(limit(10)):
                await shown.wait()
            if how == "cancelled":
                turn.cancel()
            else:
                with pytest.raises(accord.RequestError):
                    async for _ in turn:
                        pass
        assert entries(talked.session) == ["completed", "pending", "pending"]


async def test_no_entry_of_a_plan_stays_in_progress_after_a_crash(tmp_path: Path) -> None:
    store = accord.MemoryStore()
    agent, _ = agent_with(say("One."), store=store)
    async with talk(agent, tmp_path) as talked:
        await talked.ask("one")
        session_id = talked.session.id
    # As a process leaves it that dies in a turn.
    await store.append(session_id, [accord.StateChanged("running"), accord.PlanChanged(PLAN)])
    again, _ = agent_with(store=store)
    async with talk(again, tmp_path, resume=session_id) as talked:
        assert entries(talked.session) == ["completed", "pending", "pending"]


@IN_EVERY_EDITION
@pytest.mark.parametrize(
    ("tool", "arguments", "seen"),
    [("read", {"path": "a"}, "hello"), ("search", {"pattern": "hello"}, "a:1"), ("list", {}, "a")],
)
async def test_the_result_of_reading_is_shown_as_content(
    tmp_path: Path, edition: str, tool: str, arguments: dict[str, Any], seen: str
) -> None:
    project(tmp_path, a="hello\n")
    agent, _ = agent_with(call(tool, **arguments), say("Done."))
    async with talk(agent, tmp_path, edition) as talked:
        await talked.ask("go")
        (shown,) = talked.tool.content

    assert isinstance(shown, accord.Shown)
    assert isinstance(shown.block, accord.Text)
    assert seen in shown.block.text
