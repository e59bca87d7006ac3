"""The MCP servers of a session that its client opens again while it is open: the last list counts."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Session, Turn
from accord.agent.mcp import McpServers
from tests.agent.rig import EDITIONS, agent_of, served
from tests.agent.sessions import reopen
from tests.limits import limit
from tests.transport.processes import until

pytest.importorskip("mcp", reason="the extra `mcp` is not installed: pip install 'accord[mcp]'")

CRUDE = Path(__file__).with_name("mcp_servers") / "crude.py"


def server(edition: str, name: str) -> dict[str, Any]:
    argv = {"command": sys.executable, "args": ["-I", "-S", str(CRUDE), "plain"], "env": []}
    return {"name": name, **argv, **({} if edition == "v1" else {"type": "stdio"})}


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("replay", [True, False])
async def test_a_session_that_is_opened_again_while_it_is_open_has_the_servers_of_the_last_request(
    edition: str,
    replay: bool,  # noqa: FBT001
) -> None:
    seen: list[McpServers] = []

    async def name_tools(turn: Turn) -> None:
        servers = await turn.mcp()
        seen.append(servers)
        await turn.say(" ".join(tool.server for tool in servers.tools))

    async with served(agent_of(name_tools, mcp=True), edition) as hand:
        session = await hand.new_session(mcpServers=[server(edition, "a"), server(edition, "b")])
        assert (await hand.turn(session)).text == "a b"
        await reopen(hand, session, replay=replay, mcpServers=[server(edition, "c"), server(edition, "b")])
        assert (await hand.turn(session)).text == "c b"
        first, second = seen
        # `b` is the same connection, `a` is closed.
        assert second._links[1] is first._links[1]
        assert await until(lambda: not first._links[0].usable)
        assert first._links[1].usable
        await reopen(hand, session, replay=replay)
        assert (await hand.turn(session)).text == ""
        assert await until(lambda: not any(link.usable for link in (*first._links, *second._links)))


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_running_turn_keeps_the_servers_that_it_uses_until_its_end(edition: str) -> None:
    opened, goes_on = asyncio.Event(), asyncio.Event()
    seen: list[McpServers] = []

    async def call_late(turn: Turn) -> None:
        servers = await turn.mcp()
        seen.append(servers)
        opened.set()
        await goes_on.wait()
        result = await servers.call("do", {"n": 1})
        await turn.say(f"{result.is_error} {' '.join(tool.server for tool in (await turn.mcp()).tools)}")

    async with served(agent_of(call_late, mcp=True), edition) as hand:
        session = await hand.new_session(mcpServers=[server(edition, "a")])
        await hand.prompt(session)
        async with asyncio.timeout(limit(20)):
            await opened.wait()
        await reopen(hand, session, replay=False, mcpServers=[server(edition, "b")])
        goes_on.set()
        await hand.said("False b")
        assert await until(lambda: not seen[0]._links[0].usable)


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_that_is_closed_while_its_servers_change_leaves_none_of_them(edition: str) -> None:
    seen: list[Session] = []

    async def connect(turn: Turn) -> None:
        await turn.mcp()
        seen.append(turn.session)

    async with served(agent_of(connect, mcp=True), edition) as hand:
        session = await hand.new_session(mcpServers=[server(edition, "a")])
        await hand.turn(session)
        (before,) = (await seen[0].mcp())._links
        await reopen(hand, session, replay=False, mcpServers=[server(edition, "b")])
        assert "result" in await hand.request("session/close", {"sessionId": session})
        assert not before.usable
        assert before._owner.done()
