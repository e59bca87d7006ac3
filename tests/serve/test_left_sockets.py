"""Sockets whose client leaves while its connection begins: no link is counted that is not there."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.serve import HostLimits
from accord.serve.principals import anyone
from tests.limits import limit
from tests.serve.in_process import running
from tests.serve.raw_clients import (
    INITIALIZE,
    HttpClient,
    WebSocketClient,
    close,
    prompt_params,
    read_reply,
    request,
    send,
)
from tests.serve.served_agent import agent
from tests.serve.server_process import IMPATIENT, ServerProcess, serving
from tests.serve.test_abuse import gauge, head_of

UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@asynccontextmanager
async def raw_socket(server: ServerProcess) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head_of("GET", server.port, {**server.authorization, **UPGRADE}))
    assert (await read_reply(reader)).status == 101
    try:
        yield reader, writer
    finally:
        await close(writer)


def frame(opcode: int, payload: bytes) -> bytes:
    return bytes((0x80 | opcode, 0x80 | 126)) + len(payload).to_bytes(2, "big") + bytes(4) + payload


def message(value: Any) -> bytes:
    return frame(1, json.dumps(value).encode())


def closing(code: int) -> bytes:
    return bytes((0x88, 0x82)) + bytes(4) + struct.pack(">H", code)


async def until_none(server: ServerProcess, name: str) -> None:
    async with asyncio.timeout(limit(20.0)):
        while await gauge(server, name):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("code", "grace"), [(1000, "60"), (1001, "0.1")])
async def test_a_client_that_closes_before_initialize_is_answered_leaves_nothing(
    tmp_path: Path, code: int, grace: str
) -> None:
    async with serving(tmp_path, "served_agent:agent", "--grace", grace, "--drain", "0.2") as server:
        for _ in range(3):
            async with raw_socket(server) as (reader, writer):
                writer.write(message(request(0, "initialize", INITIALIZE)) + closing(code))
                async with asyncio.timeout(limit(20.0)):
                    await reader.read()
        await until_none(server, "links")
        await until_none(server, "connections")


async def test_requests_of_any_type_do_not_harm_a_resumption(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent", "--grace", "60", "--drain", "0.2", seconds=IMPATIENT) as server:
        async with raw_socket(server) as (reader, writer), asyncio.timeout(limit(20.0)):
            writer.write(message(request(0, "initialize", INITIALIZE)))
            await reader.readuntil(b'"connectionId":"')
            connection_id = (await reader.readuntil(b'"'))[:-1].decode()
            writer.write(message(request(3, "session/new", {"cwd": str(tmp_path / "root"), "mcpServers": []})))
            await reader.readuntil(b'"sessionId":"')
            session_id = (await reader.readuntil(b'"'))[:-1].decode()
            writer.write(message(request(4, "session/prompt", prompt_params(session_id, "wait"))))
            await reader.readuntil(b"waiting")
        resumed = {**INITIALIZE, "_meta": {"accord/resume": {"connectionId": connection_id}}}
        for requests in (None, 5, "4", True, {"4": 4}, [[4]]):
            await until_none(server, "links")
            params = {"connectionId": connection_id, "cursor": "2", "requests": requests}
            async with raw_socket(server) as (reader, writer), asyncio.timeout(limit(20.0)):
                writer.write(message(request(0, "initialize", resumed)))
                writer.write(message(request("_accord/resume", "_accord/resume", params)))
                await reader.readuntil(b'"received": "2"')


# --- places


async def until_detached(application: Any, links: int) -> None:
    async with asyncio.timeout(limit(20.0)):
        while application._connections._gauges["links"] > links:
            await asyncio.sleep(0.01)


async def test_connections_whose_clients_left_without_a_session_make_room(tmp_path: Path) -> None:
    application: Any = agent.asgi(authenticate=anyone, root=tmp_path, limits=HostLimits(connections_per_principal=3))
    async with running(application) as port, WebSocketClient(f"ws://127.0.0.1:{port}/acp") as kept:
        session_id = await kept.new_session(str(tmp_path))
        for _ in range(6):
            async with WebSocketClient(f"ws://127.0.0.1:{port}/acp") as client:
                await client.initialize()
                client.cut()
            await until_detached(application, 1)
        answer = await kept.prompt(session_id, "hello")
        await application.close()
    assert answer["result"]["stopReason"] == "end_turn"


async def test_a_connection_with_a_session_keeps_its_place_when_its_client_left(tmp_path: Path) -> None:
    application: Any = agent.asgi(authenticate=anyone, root=tmp_path, limits=HostLimits(connections_per_principal=2))
    async with running(application) as port:
        for _ in range(2):
            async with WebSocketClient(f"ws://127.0.0.1:{port}/acp") as client:
                await client.new_session(str(tmp_path))
                client.cut()
            await until_detached(application, 0)
        reply = await send(port, "POST", body=request(0, "initialize", INITIALIZE))
        await application.close()
    assert reply.status == 503


async def test_a_connection_that_is_taken_over_needs_no_further_place(tmp_path: Path) -> None:
    application: Any = agent.asgi(authenticate=anyone, root=tmp_path, limits=HostLimits(connections_per_principal=1))
    async with running(application) as port:
        async with HttpClient(port, token=None) as client:
            await client.initialize()
            await client.open_stream()
        await until_detached(application, 0)
        (orphan,) = application._connections._all.values()
        successor = application._connections.make_successor(
            orphan, orphan.credentials, has_session_streams=True, connection_id="successor"
        )
        kept = list(application._connections._all.values())
        await application.close()
    assert kept == [successor]
    assert successor.is_initialized
