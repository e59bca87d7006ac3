"""POSTs on one socket of `accord serve`: whole, cut anywhere, several in one write, and of doubtful shapes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from accord.serve.http_protocol import _plain_headers
from tests.serve.raw_clients import HttpClient, Reply, close, read_reply, request
from tests.tables import rows


def post(client: HttpClient, message: Any, **fields: str) -> bytes:
    body = json.dumps(message).encode()
    headers = {"Host": "127.0.0.1", "Content-Type": "application/json", **client.headers}
    headers |= {"Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in fields.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /acp HTTP/1.1\r\n{head}\r\n".encode() + body


@asynccontextmanager
async def posting(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        await close(writer)


def new_session(number: int, root: Path) -> Any:
    return request(number, "session/new", {"cwd": str(root), "mcpServers": []})


async def test_posts_in_one_write_are_answered_in_their_order(shared_server: int, server_root: Path) -> None:
    async with HttpClient(shared_server) as client, posting(shared_server) as (reader, writer):
        await client.initialize()
        await client.open_stream()
        unknown = post(client, new_session(3, server_root / "root"), Acp_Connection_Id="unknown")
        posts = [post(client, new_session(number, server_root / "root")) for number in (1, 2)]
        writer.write(b"".join((*posts, unknown, post(client, new_session(4, server_root / "root")))))
        statuses = [await _status(reader) for _ in range(4)]
        assert statuses == [202, 202, 404, 202]
        # Agents may answer in another order.
        answers = [await client.streams[None].next() for _ in range(3)]
        assert {answer["id"] for answer in answers if "result" in answer} == {1, 2, 4}


async def test_a_post_is_answered_before_the_request_behind_it_is_refused(
    shared_server: int, server_root: Path
) -> None:
    async with HttpClient(shared_server) as client, posting(shared_server) as (reader, writer):
        await client.initialize()
        await client.open_stream()
        # h11 refuses it in the step in which it is read, and closes the socket.
        writer.write(post(client, new_session(1, server_root / "root")) + b"no request\r\n\r\n")
        assert (await read_reply(reader)).status == 202
        assert (await read_reply(reader)).status == 400
        assert "result" in await client.streams[None].next()


async def _status(reader: asyncio.StreamReader) -> int:
    reply: Reply = await read_reply(reader)
    await reader.readexactly(int(reply.headers["content-length"]))
    return reply.status


async def test_a_post_may_be_cut_anywhere(shared_server: int, server_root: Path) -> None:
    async with HttpClient(shared_server) as client, posting(shared_server) as (reader, writer):
        await client.initialize()
        await client.open_stream()
        for number, size in enumerate((1, 7, 100, 250)):
            data = post(client, new_session(number + 1, server_root / "root"))
            for start in range(0, len(data), size):
                writer.write(data[start : start + size])
                await writer.drain()
                await asyncio.sleep(0)
            assert await _status(reader) == 202
            assert "result" in await client.answer(number + 1)


async def test_a_post_may_be_cut_within_its_body(shared_server: int, server_root: Path) -> None:
    async with HttpClient(shared_server) as client, posting(shared_server) as (reader, writer):
        await client.initialize()
        await client.open_stream()
        data = post(client, new_session(1, server_root / "root"))
        cut = data.index(b"\r\n\r\n") + 10
        writer.write(data[:cut])
        await writer.drain()
        async with HttpClient(shared_server) as other:
            await other.initialize()  # answered when the server has read the first part
        writer.write(data[cut:])
        assert await _status(reader) == 202
        assert "result" in await client.answer(1)


@rows(
    "field",
    [
        b"Transfer-Encoding: chunked",
        b"Content-Length: 3",
        b"Content-Length : 2",
        b" folded: line",
        b"Expect: 100-continue",
        b"Connection: close",
        b"Origin: https://page.example",
        b"X-Control: a\x00b",
        b"X-Return: a\rb",
        b"no colon",
    ],
)
def test_a_head_that_parsers_may_read_apart_is_not_plain(field: bytes) -> None:
    plain = b"Host: here\r\nContent-Type: application/json\r\nConnection: keep-alive\r\nContent-Length: 2"
    assert _plain_headers(plain) is not None
    head = plain.replace(b"Connection: keep-alive\r\n", b"") if field.startswith(b"Connection") else plain
    assert _plain_headers(head + b"\r\n" + field) is None


@rows("length", [b"", b"-1", b"+1", b"1_0", b"0x10", b"99999999", "²".encode("latin-1")])
def test_a_length_that_is_no_small_number_is_not_plain(length: bytes) -> None:
    assert _plain_headers(b"Host: here\r\nContent-Length: " + length) is None


async def test_a_message_with_two_lengths_is_refused(shared_server: int, server_root: Path) -> None:
    async with HttpClient(shared_server) as client, posting(shared_server) as (reader, writer):
        await client.initialize()
        data = post(client, new_session(1, server_root / "root"), Transfer_Encoding="chunked")
        writer.write(data.replace(b"Transfer-Encoding: chunked", b"Content-Length: 1"))
        assert (await read_reply(reader)).status == 400
