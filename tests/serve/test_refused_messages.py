"""Over HTTP a message that is refused, or that names a session without a stream, does not stop those behind it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from accord.transport import RemoteOptions, Transport, connect_http
from tests.limits import limit
from tests.serve.raw_clients import INITIALIZE, TOKEN, request


async def answer(transport: Transport, id_: Any) -> Any:
    async with asyncio.timeout(limit(10.0)):
        while True:
            for text in await transport.receive():
                message = json.loads(text)
                if message.get("id") == id_ and "method" not in message:
                    return message


async def connected(port: int) -> Transport:
    transport = await connect_http(f"http://127.0.0.1:{port}/acp", RemoteOptions(token=TOKEN))
    await transport.send(json.dumps(request(0, "initialize", INITIALIZE)).encode())
    assert "result" in await answer(transport, 0)
    return transport


@pytest.mark.parametrize("refused", [b"[]", b"{"])
async def test_a_message_behind_a_refused_one_is_accepted(shared_server: int, refused: bytes) -> None:
    transport = await connected(shared_server)
    try:
        await transport.send(refused)
        await transport.send(json.dumps(request(1, "_example.com/one", {})).encode())
        assert (await answer(transport, 1))["error"]["code"] == -32601
    finally:
        await transport.close()


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_the_end_of_a_session_without_a_stream_is_answered(shared_server: int, method: str) -> None:
    transport = await connected(shared_server)
    try:
        await transport.send(json.dumps(request(1, method, {"sessionId": "session-that-never-was"})).encode())
        assert "jsonrpc" in await answer(transport, 1)
        await transport.send(json.dumps(request(2, "_example.com/one", {})).encode())
        assert (await answer(transport, 2))["error"]["code"] == -32601
    finally:
        await transport.close()
