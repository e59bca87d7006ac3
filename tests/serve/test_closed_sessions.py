"""Sessions that are closed twice, over HTTP: the answer to the second request is not lost with the old stream."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from accord.serve import Credentials, Principal
from accord.transport.http import connect_http
from accord.transport.interface import Transport
from tests.check.agents.plain_agent import agent as plain_agent
from tests.limits import limit
from tests.serve.in_process import running


async def anyone(_: Credentials) -> Principal:
    return Principal("ada")


async def answer_to(transport: Transport, id_: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    await transport.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode())
    async with asyncio.timeout(limit(10.0)):
        while True:
            for text in await transport.receive():
                message = json.loads(text)
                if message.get("id") == id_ and "method" not in message:
                    return dict(message)


def with_slow_readers(application: Any) -> Any:
    """The application behind something that forwards a GET later than a POST, and the end of a reader still later."""

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        async def receive_late() -> Any:
            message = await receive()
            if message["type"] == "http.disconnect":
                await asyncio.sleep(0.3)
            return message

        if scope.get("method") == "GET":
            await asyncio.sleep(0.1)
        await application(scope, receive_late, send)

    return slow


async def test_a_session_that_was_just_closed_can_be_closed_again(tmp_path: Path) -> None:
    application = plain_agent.asgi(authenticate=anyone, root=tmp_path)
    async with running(with_slow_readers(application)) as port:
        transport = await connect_http(f"http://127.0.0.1:{port}/acp")
        info = {"name": "closer", "version": "1"}
        await answer_to(transport, 1, "initialize", {"protocolVersion": 2, "capabilities": {}, "info": info})
        for _ in range(3):
            opened = await answer_to(transport, 2, "session/new", {"cwd": str(tmp_path), "mcpServers": []})
            session = {"sessionId": opened["result"]["sessionId"]}
            assert "result" in await answer_to(transport, 3, "session/close", session)
            assert (await answer_to(transport, 4, "session/close", session))["id"] == 4
        await transport.close()
        await application.close()
