"""Upgrades to WebSocket that are odd: with a body, with too many headers, with frames in the same read, refused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.limits import limit
from tests.serve.raw_clients import close
from tests.serve.server_process import ServerProcess, serving

UPGRADE = (
    "GET /acp HTTP/1.1",
    "Host: 127.0.0.1",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'


async def replied(port: int, *headers: str, rest: bytes = b"", until: bytes | None = None) -> bytes:
    """The bytes that answer one write: all until the socket is closed, or until some of them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join([*UPGRADE, *headers, "", ""]).encode() + rest)
    try:
        async with asyncio.timeout(limit(5.0)):
            return await (reader.read() if until is None else reader.readuntil(until))
    finally:
        await close(writer)


def masked(text: bytes) -> bytes:
    """A text frame of a client."""
    return b"\x81" + bytes([0x80 | len(text)]) + bytes(4) + text


@pytest.mark.parametrize(
    ("headers", "rest"),
    [
        pytest.param(["Content-Length: 5"], b"hello", id="a body"),
        pytest.param(["Transfer-Encoding: chunked"], b"0\r\n\r\n", id="chunks"),
        pytest.param([f"X-{number}: x" for number in range(200)], b"", id="many headers"),
        pytest.param([f"X: {'x' * 9000}"], b"", id="a long header"),
    ],
)
async def test_an_upgrade_that_the_library_cannot_read_is_refused_and_keeps_no_socket(
    shared_server: int, headers: list[str], rest: bytes
) -> None:
    assert (await replied(shared_server, *headers, rest=rest)).startswith(b"HTTP/1.1 400 ")


async def test_frames_in_one_read_with_the_upgrade_are_not_lost(shared_server: int) -> None:
    token = "Authorization: Bearer secret"  # noqa: S105 - of servers that live for a test
    assert b"101" in await replied(shared_server, token, rest=masked(INITIALIZE), until=b'"protocolVersion":1')


async def test_an_upgrade_that_is_refused_is_no_error_of_the_server(tmp_path: Path) -> None:
    server: ServerProcess
    async with serving(tmp_path, "served_agent:agent", "--drain", "0.2") as server:
        assert (await replied(server.port)).startswith(b"HTTP/1.1 401 ")
        assert (await replied(server.port, "Content-Length: 1", rest=b"x")).startswith(b"HTTP/1.1 400 ")
    # The log is read to its end with the server's.
    assert not [line for line in server.log if "ERROR" in line or "Traceback" in line]
    assert [line for line in server.log if "refused an upgrade with 400" in line]
