"""Clients that abuse a server: it stays small, and a healthy client is served all the while."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.limits import limit
from tests.serve.raw_clients import (
    INITIALIZE,
    HttpClient,
    WebSocketClient,
    close,
    open_request,
    prompt_params,
    read_reply,
    request,
    said,
    send,
)
from tests.serve.server_process import ServerProcess, serving

GROWTH_BYTES = 192 * 1024 * 1024
# How many turns the healthy client has at least while others abuse the server.
TURNS = 10
CHUNK_BYTES = 1 << 16


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


async def pour(server: ServerProcess, total_bytes: int) -> None:
    """A huge body: announced, which is refused before it is read, and then in chunks, which is refused at the limit."""
    headers = {**server.authorization, "Content-Type": "application/json"}
    announced = {**headers, "Content-Length": str(total_bytes)}
    reply, writer = await open_request(server.port, "POST", headers=announced, body=b"{")
    assert reply.status == 413
    await close(writer)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head_of("POST", server.port, {**headers, "Transfer-Encoding": "chunked"}))
    chunk, poured = b"%x\r\n%b\r\n" % (CHUNK_BYTES, b"x" * CHUNK_BYTES), 0
    answer = asyncio.ensure_future(read_reply(reader))
    with contextlib.suppress(ConnectionError):
        while poured < total_bytes and not answer.done():
            writer.write(chunk)
            await writer.drain()
            poured += CHUNK_BYTES
    # The server closes while more is under way: that is a reset, which may overtake its answer.
    with contextlib.suppress(ConnectionError):
        assert (await answer).status == 413
    assert poured < total_bytes
    await close(writer)


def head_of(method: str, port: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} /acp HTTP/1.1", f"Host: 127.0.0.1:{port}", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode()


async def stop_reading(server: ServerProcess, root: str, updates: int) -> None:
    """A stream with many updates that its client does not read."""
    async with HttpClient(server.port) as client:
        session_id = await client.new_session(root)
        stream = client.streams[session_id]
        stream.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await client.post(request("long", "session/prompt", prompt_params(session_id, f"stream {updates}")))
        for _ in range(20):
            await client.post(request("list", "session/list", {}))


async def go_silent(server: ServerProcess) -> asyncio.StreamWriter:
    """A socket that looks open and whose client is not there any more: it reads nothing and answers no ping."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    upgrade = {
        **server.authorization,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    writer.write(head_of("GET", server.port, upgrade))
    assert (await read_reply(reader)).status == 101
    text = json.dumps(request(0, "initialize", INITIALIZE)).encode()
    writer.write(b"\x81" + bytes([0x80 | len(text)]) + bytes(4) + text)
    await reader.readuntil(b'"protocolVersion"')
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    return writer


async def gauge(server: ServerProcess, name: str) -> float:
    text = (await send(server.port, "GET", "/metrics")).body.decode()
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith(f"accord_{name} ")))


async def healthy(server: ServerProcess, root: str, over: asyncio.Event, turns: list[float]) -> None:
    """A conversation that goes on until the others are done; notes the seconds that each of its turns took."""
    async with WebSocketClient(server.websocket) as client:
        session_id = await client.new_session(root)
        while not over.is_set():
            client.seen.clear()
            began = time.perf_counter()
            await client.prompt(session_id, "hello")
            turns.append(time.perf_counter() - began)
            assert said(client.seen) == "You said: hello"


class Counts(NamedTuple):
    """How much abuse there is."""

    initializes: int
    tokens: int
    updates: int
    body_bytes: int
    silent: int
    slow: int


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param(Counts(150, 60, 10_000, 2**25, 5, 30), id="few"),
        pytest.param(
            Counts(10_000, 5_000, 500_000, 2**30, 20, 400),
            id="many",
            marks=[pytest.mark.every, pytest.mark.timeout(600)],
        ),
    ],
)
async def test_a_server_stays_small_and_serves_a_healthy_client(tmp_path: Path, counts: Counts) -> None:
    async with serving(
        tmp_path, "served_agent:agent", "--quiet", "--max-connections", "64", "--drain", "0.2"
    ) as server:
        root, over, peak = str(tmp_path / "root"), asyncio.Event(), 0
        turns: list[float] = []
        client = asyncio.ensure_future(healthy(server, root, over, turns))
        slow = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(counts.slow)]
        for _, writer in slow:
            writer.write(b"POST /acp HTTP/1.1\r\nX-Slow: ")
        before = server.memory_bytes()
        silent = [await go_silent(server) for _ in range(counts.silent)]
        abuse = [
            asyncio.ensure_future(each)
            for each in (
                vanish(server, counts.initializes),
                guess(server, counts.tokens),
                pour(server, counts.body_bytes),
                *(stop_reading(server, root, counts.updates) for _ in range(3)),
            )
        ]
        while not all(each.done() for each in abuse):
            peak = max(peak, server.memory_bytes())
            await asyncio.sleep(0.02)
        await asyncio.gather(*abuse)
        while len(turns) <= TURNS and not client.done():
            await vanish(server, 10)
        kept = await gauge(server, "connections")
        over.set()
        await client
        print(  # noqa: T201
            f"{counts}: memory {before / 2**20:.0f} MiB, at most {peak / 2**20:.0f} MiB, {kept:g} connections kept;"
            f" a healthy client had {len(turns)} turns, the longest {max(turns):.2f} s"
        )
        for writer in (*silent, *(writer for _, writer in slow)):
            with contextlib.suppress(OSError):
                await close(writer)
        assert kept <= 64
        assert peak - before < GROWTH_BYTES


async def test_a_socket_whose_client_is_not_there_any_more_is_closed(tmp_path: Path) -> None:
    arguments = ("served_agent:agent", "--grace", "0.1", "--drain", "0.2")
    async with serving(tmp_path, *arguments, seconds={"accord.serve.runner.PING_SECONDS": 0.5}) as server:
        silent = [await go_silent(server) for _ in range(10)]
        # Two intervals of pings, and the sweep that ends what has no link.
        async with asyncio.timeout(limit(60.0)):
            while await gauge(server, "connections"):
                await asyncio.sleep(0.05)
        assert await gauge(server, "opened_connections_total") == 10
        for writer in silent:
            await close(writer)


async def test_headers_that_do_not_arrive_lose_their_socket(tmp_path: Path) -> None:
    times = {"accord.serve.http_protocol.HEADER_SECONDS": 0.2}
    async with serving(tmp_path, "served_agent:agent", seconds=times) as server:
        for start in (b"", b"POST /acp HTTP/1.1\r\nX-Slow: "):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(start)
            async with asyncio.timeout(limit(40.0)):
                with contextlib.suppress(OSError):
                    assert await reader.read() == b""
            await close(writer)
