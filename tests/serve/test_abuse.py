"""Clients that abuse a server: it stays small, and a healthy client is served all the while."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.limits import limit
from tests.serve.raw_clients import (
    INITIALIZE,
    HttpClient,
    WebSocketClient,
    close,
    open_request,
    prompt_params,
    request,
    said,
    send,
)
from tests.serve.server_process import ServerProcess, serving

GROWTH_BYTES = 192 * 1024 * 1024


async def vanish(server: ServerProcess, count: int) -> None:
    """`initialize`, and never anything else."""
    for _ in range(count):
        body = request(0, "initialize", INITIALIZE)
        reply = await send(server.port, "POST", headers=server.authorization, body=body)
        assert reply.status in {200, 503}


async def guess(server: ServerProcess, count: int) -> None:
    for number in range(count):
        headers = {"Authorization": f"Bearer {number}"}
        assert (
            await send(server.port, "POST", headers=headers, body=request(0, "initialize", INITIALIZE))
        ).status == 401


async def pour(server: ServerProcess) -> None:
    """A body of a gigabyte, announced and not."""
    headers = {**server.authorization, "Content-Type": "application/json"}
    reply, writer = await open_request(
        server.port, "POST", headers={**headers, "Content-Length": str(2**30)}, body=b"{"
    )
    assert reply.status == 413
    await close(writer)


async def stop_reading(server: ServerProcess, root: str, updates: int) -> None:
    """A stream with many updates that its client does not read."""
    async with HttpClient(server.port) as client:
        session_id = await client.new_session(root)
        stream = client.streams[session_id]
        stream.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await client.post(request("long", "session/prompt", prompt_params(session_id, f"stream {updates}")))
        for _ in range(20):
            await client.post(request("list", "session/list", {}))


async def healthy(server: ServerProcess, root: str, over: asyncio.Event) -> int:
    """A conversation that goes on until the others are done; the number of its turns."""
    turns = 0
    async with WebSocketClient(server.websocket) as client:
        session_id = await client.new_session(root)
        while not over.is_set():
            client.seen.clear()
            await client.prompt(session_id, "hello")
            assert said(client.seen) == "You said: hello"
            turns += 1
    return turns


@pytest.mark.parametrize(
    ("initializes", "tokens", "updates"),
    [
        (400, 200, 20_000),
        pytest.param(10_000, 5_000, 500_000, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)
async def test_a_server_stays_small_and_serves_a_healthy_client(
    tmp_path: Path, initializes: int, tokens: int, updates: int
) -> None:
    async with serving(
        tmp_path, "served_agent:agent", "--quiet", "--max-connections", "64", "--drain", "0.2"
    ) as server:
        root, over = str(tmp_path / "root"), asyncio.Event()
        client = asyncio.ensure_future(healthy(server, root, over))
        slow = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(50)]
        for _, writer in slow:
            writer.write(b"POST /acp HTTP/1.1\r\nX-Slow: ")
        before = server.memory_bytes()
        await asyncio.gather(
            vanish(server, initializes),
            guess(server, tokens),
            pour(server),
            *(stop_reading(server, root, updates) for _ in range(3)),
        )
        after = server.memory_bytes()
        over.set()
        turns = await client
        print(f"memory {before / 2**20:.0f} MiB -> {after / 2**20:.0f} MiB, {turns} turns of a healthy client")  # noqa: T201
        for _, writer in slow:
            with contextlib.suppress(OSError):
                await close(writer)
        assert turns > 0
        assert after - before < GROWTH_BYTES


@pytest.mark.long
async def test_headers_that_do_not_arrive_lose_their_socket(shared_server: int) -> None:
    for start in (b"", b"POST /acp HTTP/1.1\r\nX-Slow: "):
        reader, writer = await asyncio.open_connection("127.0.0.1", shared_server)
        writer.write(start)
        async with asyncio.timeout(limit(40.0)):
            with contextlib.suppress(OSError):
                assert await reader.read() == b""
        await close(writer)
