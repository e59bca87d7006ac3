"""Connections whose `initialize` was answered before: their agent starts with their second message."""

from __future__ import annotations

from typing import Any

import pytest

import accord
from accord.serve import anyone
from accord.serve.connections import MAX_ANSWERS, KnownAnswers
from tests.serve.in_process import running
from tests.serve.raw_clients import WebSocketClient


class CountingAgent(accord.Agent):
    """Counts how often it is served."""

    served = 0

    async def serve(self, *args: Any, **kwargs: Any) -> None:
        self.served += 1
        await super().serve(*args, **kwargs)


@pytest.fixture
def agent() -> CountingAgent:
    agent = CountingAgent("counting", version="1", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(turn.text)

    return agent


async def test_an_agent_starts_when_its_connection_is_used(agent: CountingAgent, tmp_path: Any) -> None:
    application = agent.asgi(authenticate=anyone, root=tmp_path)
    async with running(application) as port:
        url = f"ws://127.0.0.1:{port}/acp"
        async with WebSocketClient(url) as first, WebSocketClient(url) as second:
            told = [await client.initialize() for client in (first, second)]
            assert told[0]["result"]["agentInfo"] == told[1]["result"]["agentInfo"]
            assert agent.served == 1
            opened = await second.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
            session_id = opened["result"]["sessionId"]
            assert agent.served == 2
            answer = await second.prompt(session_id, "hello")
            assert answer["result"]["stopReason"] == "end_turn"
            # Each request has one answer; that of `initialize`, which the agent gave by itself, is among none of them.
            ids = [message["id"] for message in second.seen if "result" in message]
            assert len(ids) == len(set(ids))
            assert not [message for message in second.seen if "protocolVersion" in message.get("result", {})]
            assert "result" in await first.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
            assert agent.served == 2


async def test_an_answer_is_known_for_a_while_only(
    agent: CountingAgent, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.serve.connections.KEPT_SECONDS", 0.0)
    async with running(agent.asgi(authenticate=anyone, root=tmp_path)) as port:
        url = f"ws://127.0.0.1:{port}/acp"
        async with WebSocketClient(url) as first, WebSocketClient(url) as second:
            await first.initialize()
            await second.initialize()
            assert agent.served == 2


def test_so_many_answers_are_known_at_most() -> None:
    known = KnownAnswers()
    for number in range(MAX_ANSWERS + 1):
        known.note(str(number), b"{}")
    known.note("x" * 100_000, b"{}")
    assert known.find("0") is None
    assert known.find("x" * 100_000) is None
    assert known.find(str(MAX_ANSWERS)) == b"{}"
