"""A v1 agent, written by hand, that sends a client requests for files and terminals as no well-behaved agent would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import accord
from tests.connection.rig import Hand

SESSION = "s"


class RequestingAgent:
    """Asks the client in the name of one session."""

    def __init__(self, hand: Hand, agent: accord.client.ConnectedAgent, session: accord.client.Session) -> None:
        self.hand = hand
        self.agent = agent
        self.session = session

    async def ask(self, method: str, **params: Any) -> Any:
        """The result of a request.

        Raises:
            RequestError: What was answered instead.
        """
        answer = await self.hand.request(method, {"sessionId": SESSION, **params})
        if "error" in answer:
            error = answer["error"]
            raise accord.RequestError(error["message"], error.get("data"), code=error["code"])
        return answer["result"]

    async def refusal(self, method: str, **params: Any) -> int:
        """The code of the error that a request is answered with."""
        answer = await self.hand.request(method, {"sessionId": SESSION, **params})
        assert "error" in answer, answer
        return int(answer["error"]["code"])

    async def start(self, *argv: str, **params: Any) -> str:
        """Start a terminal."""
        answer = await self.ask("terminal/create", command=argv[0], args=list(argv[1:]), **params)
        return str(answer["terminalId"])

    async def finished(self, terminal: str) -> Any:
        """How a terminal ended, and all it wrote."""
        await self.ask("terminal/wait_for_exit", terminalId=terminal)
        return await self.ask("terminal/output", terminalId=terminal)


@asynccontextmanager
async def requesting_agent(
    cwd: Path, *, roots: list[Path] | None = None, **options: Any
) -> AsyncIterator[RequestingAgent]:
    """A client with an open session, and the hand that asks it."""
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    agent = accord.connect(ours, edition="1", **options)
    opening = asyncio.ensure_future(agent.open())
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    await opening
    making = asyncio.ensure_future(agent.new_session(cwd, additional_directories=roots or []))
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": SESSION}})
    session = await making
    try:
        yield RequestingAgent(hand, agent, session)
    finally:
        await agent.close()
