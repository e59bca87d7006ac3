"""Tools of MCP servers: offered, asked for, called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.agent.mcp import McpTool
from accord.coder.tools.toolbox import named_tools
from tests.coder.rig import agent_with, call, say, talk

FRIENDLY = Path(__file__).parents[2] / "agent" / "mcp_servers" / "friendly.py"


def tool(name: str, server: str = "files") -> McpTool:
    async def caller(*_: Any) -> Any:
        raise NotImplementedError

    return McpTool(name, server, None, None, {}, None, {}, None, caller)


def test_names_are_what_every_provider_takes_and_differ() -> None:
    named = named_tools([tool("read"), tool("read", "other server"), tool("a.b"), tool("a_b"), tool("x" * 100)])

    assert list(named) == [
        "mcp_files_read",
        "mcp_other_server_read",
        "mcp_files_a_b",
        "mcp_files_a_b_2",
        f"mcp_files_{'x' * 54}",
    ]


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", ["1", "2"])
async def test_a_tool_of_a_server_is_offered_asked_for_and_called(tmp_path: Path, edition: str) -> None:
    agent, model = agent_with(call("mcp_friend_echo", text="three"), say("Three."))
    server = accord.McpServer("friend", command=sys.executable, args=[str(FRIENDLY), "stdio"])
    asked: list[str] = []

    def permission(question: accord.client.PermissionQuestion) -> bool:
        asked.append(question.title)
        return True

    async with accord.connect(agent, edition=edition, permission=permission) as remote:  # type: ignore[call-overload]
        session = await remote.new_session(tmp_path, mcp_servers=[server])
        turn = await session.prompt("add")

        assert turn.text == "Three."
        (shown,) = session.transcript.tool_calls.values()
        assert shown.status == "completed"
        await session.set_mode("ask")
        await session.prompt("again")
    assert "mcp_friend_echo" in model.offered(0)
    assert "mcp_friend_echo" not in model.offered(2)
    assert asked == [shown.title]
    assert model.results(1)[0].text == "three"


@pytest.mark.usefixtures("forked_interpreters")
@pytest.mark.parametrize(("name", "failed"), [("gallery", False), ("fail", True)])
async def test_what_a_server_gives_is_shown_and_told(tmp_path: Path, name: str, failed: bool) -> None:  # noqa: FBT001
    agent, model = agent_with(call(f"mcp_friend_{name}"), say("Done."))
    server = accord.McpServer("friend", command=sys.executable, args=[str(FRIENDLY), "stdio"])
    async with accord.connect(agent, permission=lambda _: True) as remote:
        session = await remote.new_session(tmp_path, mcp_servers=[server])
        await session.prompt("go")
        (shown,) = session.transcript.tool_calls.values()
        assert shown.status == ("failed" if failed else "completed")
        assert shown.content
    (result,) = model.results()
    assert result.failed is failed
    assert len(result.pictures) == (0 if failed else 1)


async def test_without_servers_there_are_none(tmp_path: Path) -> None:
    agent, model = agent_with(say("Hello."))
    async with talk(agent, tmp_path) as talked:
        await talked.ask("hello")

    assert not any(name.startswith("mcp") for name in model.offered())
