"""The transports over asyncio's streams and over messages keep the promises of every transport."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from accord.compat.acp.engine import without_arguments
from accord.compat.acp.process import MAX_STDERR_BYTES, StderrReader
from accord.compat.acp.streams import transport_of
from accord.errors import ConnectionLost, FrameError
from accord.transport import Transport, check_transport
from tests.tables import rows


async def streams() -> tuple[Transport, Transport]:
    ends = [await asyncio.open_connection(sock=end) for end in socket.socketpair()]
    (left_in, left_out), (right_in, right_out) = ends
    return transport_of(left_out, left_in), transport_of(right_out, right_in)


async def test_asyncio_streams_keep_the_promises_of_a_transport() -> None:
    await check_transport(streams)


class Messages:
    """What the official SDK calls a transport: decoded messages, and None at the end."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self.is_closed = False

    async def send(self, message: dict[str, Any]) -> None:
        if "unsendable" in message:
            raise OSError("the server said no")
        self.sent.append(message)

    async def receive(self) -> dict[str, Any] | None:
        return await self.incoming.get()

    async def close(self) -> None:
        self.is_closed = True


async def test_a_message_transport_carries_texts_both_ways_and_ends() -> None:
    messages = Messages()
    link = transport_of(messages, None)
    await link.send(b'{"a": "\xc3\xa4"}')
    assert messages.sent == [{"a": "ä"}]
    with pytest.raises(ConnectionLost):
        await link.send(b'{"unsendable": 1}')
    messages.incoming.put_nowait({"b": [1, None]})
    assert [json.loads(text) for text in await link.receive()] == [{"b": [1, None]}]
    messages.incoming.put_nowait(None)
    assert await link.receive() == []
    await link.close()
    assert messages.is_closed


async def test_a_close_ends_a_receive_that_waits_for_a_message() -> None:
    messages = Messages()
    link = transport_of(messages, None)
    receiving = asyncio.ensure_future(link.receive())
    await asyncio.sleep(0)
    await link.close()
    assert await receiving == []
    with pytest.raises(ConnectionLost):
        await link.send(b"{}")


async def test_a_line_over_the_limit_is_a_frame_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.compat.acp.streams.DEFAULT_MAX_BYTES", 10)
    reader = asyncio.StreamReader()
    here, there = socket.socketpair()
    writer = (await asyncio.open_connection(sock=here))[1]
    link = transport_of(writer, reader)
    reader.feed_data(b"{}\n" + b"x" * 20)
    assert await link.receive() == [b"{}"]
    with pytest.raises(FrameError):
        await link.receive()
    await link.close()
    there.close()


def test_what_is_neither_streams_nor_a_message_transport_is_refused() -> None:
    with pytest.raises(TypeError):
        transport_of(object(), None)


async def test_stderr_is_read_by_line_by_count_and_to_its_end_and_never_grows_beyond_its_limit() -> None:
    stderr = StderrReader()
    stderr.feed(b"one\ntwo\nrest")
    assert (await stderr.readline(), await stderr.read(3)) == (b"one\n", b"two")
    reading = asyncio.ensure_future(stderr.read())
    await asyncio.sleep(0)
    stderr.feed(b"x" * MAX_STDERR_BYTES)
    stderr.finish()
    assert await reading == b"x" * MAX_STDERR_BYTES
    assert stderr.at_eof()
    assert [line async for line in stderr] == []


@rows(
    ("side", "method", "params", "kept"),
    [
        ("agent", "session/prompt", {"sessionId": "a", "_meta": {"session_id": "b", "x": 1}}, {"x": 1}),
        ("agent", "session/new", {"cwd": "/", "_meta": {"mcp_servers": [], "cwd": "/etc", "path": 1}}, {"path": 1}),
        ("client", "fs/read_text_file", {"path": "/a", "_meta": {"path": "/b", "limit": 1, "line": 2}}, {}),
        ("agent", "of/later", {"newField": 1, "_meta": {"new_field": 2, "self": 3, "y": 4}}, {"y": 4}),
        ("agent", "_own", {"_meta": {"self": 1}}, {"self": 1}),
    ],
)
def test_no_key_of_meta_names_an_argument(side: Any, method: str, params: dict[str, Any], kept: Any) -> None:
    assert without_arguments(side, method, params)["_meta"] == kept
