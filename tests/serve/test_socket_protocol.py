"""Frames of a client, whole and cut anywhere: the same messages reach the application as by `websockets` alone."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState
from websockets.frames import Close, Frame, Opcode
from websockets.streams import StreamReader

from accord.serve.linked_socket import LinkedSocket, SocketProtocol
from accord.serve.socket_frames import frames_of
from accord.serve.socket_link import TEXTS
from tests.limits import limit
from tests.tables import rows

LARGE = "ü" * 100_000
MAX_BYTES = 300_000


class Wire(asyncio.Transport):
    """The server's end of a socket: keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.pauses = 0
        self.is_reading_now = True
        self._closing = False
        self.protocol: Any = None

    def write(self, data: Any) -> None:
        self.written += data

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ARG002 - the interface
        return default

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True

    def pause_reading(self) -> None:
        self.pauses += 1
        self.is_reading_now = False

    def resume_reading(self) -> None:
        self.is_reading_now = True


class Application:
    """Accepts, and keeps what it receives; `go` lets it read."""

    def __init__(self) -> None:
        self.events: list[MutableMapping[str, Any]] = []
        self.go = asyncio.Event()
        self.go.set()
        self.may_accept = asyncio.Event()
        self.may_accept.set()
        self.ended = asyncio.Event()
        self.extensions: Any = None
        self.send: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.extensions, self.send = scope["extensions"], send
        await receive()
        await self.may_accept.wait()
        await send({"type": "websocket.accept"})
        while not self.events or self.events[-1]["type"] != "websocket.disconnect":
            await self.go.wait()
            self.events.append(await receive())
        self.ended.set()

    @property
    def texts(self) -> list[str | None]:
        return [event.get("text") for event in self.events if event["type"] == "websocket.receive"]


def connecting(application: Application) -> tuple[SocketProtocol, Wire]:
    config = uvicorn.Config(
        application, ws=SocketProtocol, ws_max_size=MAX_BYTES, ws_per_message_deflate=False, log_config=None
    )
    config.load()
    protocol, wire = SocketProtocol(config, ServerState(), {}), Wire()
    protocol.connection_made(wire)
    key = base64.b64encode(bytes(16)).decode()
    lines = ["GET /acp HTTP/1.1", "Host: here", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
    protocol.data_received("\r\n".join(lines).encode())
    return protocol, wire


async def connected(application: Application) -> tuple[LinkedSocket, Wire]:
    _, wire = connecting(application)
    async with asyncio.timeout(limit(5.0)):
        while b"101" not in wire.written:
            await asyncio.sleep(0)
    wire.written.clear()
    return wire.protocol, wire


def masked(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


STORY = b"".join(
    (
        masked(Opcode.TEXT, b'{"a":1}'),
        masked(Opcode.TEXT, b"y" * 70_000),
        masked(Opcode.PING, b"ping"),
        masked(Opcode.TEXT, b"frag", fin=False),
        masked(Opcode.PING, b"between"),
        masked(Opcode.CONT, b"mented", fin=False),
        masked(Opcode.CONT, "ü".encode()),
        masked(Opcode.BINARY, b"\x00\xff"),
        masked(Opcode.TEXT, LARGE.encode()),
        masked(Opcode.TEXT, b""),
        masked(Opcode.TEXT, b'{"b":2}'),
    )
)
TOLD = ['{"a":1}', "y" * 70_000, "fragmentedü", None, LARGE, "", '{"b":2}']


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 3, 1000, 65_536, 10_000_000])
async def test_messages_arrive_however_their_frames_are_cut(size: int) -> None:
    application = Application()
    protocol, wire = await connected(application)
    for piece in cut(STORY, size):
        protocol.data_received(piece)
    protocol.data_received(masked(Opcode.CLOSE, Close(1000, "").serialize()))
    async with asyncio.timeout(limit(10.0)):
        await application.ended.wait()
    assert application.texts == TOLD
    assert application.events[-1]["code"] == 1000
    pongs = [Frame(Opcode.PONG, data).serialize(mask=False) for data in (b"ping", b"between")]
    assert all(pong in wire.written for pong in pongs)
    protocol.connection_lost(None)


@rows(
    ("data", "code"),
    [
        (masked(Opcode.TEXT, b"\xff\xfe"), 1007),
        (Frame(Opcode.TEXT, b"{}").serialize(mask=False), 1002),
        (b"\xc1" + masked(Opcode.TEXT, b"{}")[1:], 1002),
        (masked(Opcode.TEXT, b"x" * (MAX_BYTES + 1))[:40], 1009),
        (masked(Opcode.TEXT, b"a", fin=False) + masked(Opcode.TEXT, b"b"), 1002),
        (masked(Opcode.CONT, b"b"), 1002),
    ],
)
async def test_a_frame_that_breaks_the_rules_closes_the_socket_with_its_code(data: bytes, code: int) -> None:
    application = Application()
    protocol, wire = await connected(application)
    protocol.data_received(masked(Opcode.TEXT, b"{}") + data)
    async with asyncio.timeout(limit(10.0)):
        await application.ended.wait()
    assert application.texts == ["{}"]
    assert application.events[-1]["code"] == code
    assert wire.is_closing()
    closing = Close(code, application.events[-1]["reason"]).serialize()
    assert bytes(wire.written).endswith(Frame(Opcode.CLOSE, closing).serialize(mask=False))
    protocol.data_received(masked(Opcode.TEXT, b"{}"))
    assert len(application.texts) == 1
    protocol.connection_lost(None)


async def test_nothing_more_is_read_while_much_waits_for_the_application() -> None:
    application = Application()
    protocol, wire = await connected(application)
    application.go.clear()
    sent = 0
    while wire.is_reading_now:
        protocol.data_received(masked(Opcode.TEXT, b"z" * 10_000))
        sent += 1
        assert sent < 100
    application.go.set()
    async with asyncio.timeout(limit(10.0)):
        while len(application.texts) < sent:
            await asyncio.sleep(0)
    assert wire.is_reading_now
    for _ in range(5):
        protocol.data_received(masked(Opcode.TEXT, b"small"))
        await asyncio.sleep(0)
    assert wire.pauses == 1
    protocol.connection_lost(None)


async def test_many_texts_are_one_write_and_each_is_a_frame_of_its_own() -> None:
    application = Application()
    protocol, wire = await connected(application)
    assert TEXTS in application.extensions
    texts = [b"{}", b"x" * 125, b"x" * 126, b"x" * 65_535, b"x" * 65_536, "ü".encode(), b"half \xff"]
    await application.send({"type": "websocket.send", TEXTS: texts})
    frames = parsed(bytes(wire.written))
    assert [frame.data for frame in frames] == [*texts[:-1], "half \ufffd".encode()]
    assert all(frame.opcode is Opcode.TEXT and frame.fin for frame in frames)
    protocol.connection_lost(None)


def parsed(data: bytes) -> list[Frame]:
    reader, frames = StreamReader(), []
    reader.feed_data(data)
    while reader.buffer:
        parsing = Frame.parse(reader.read_exact, mask=False)
        try:
            next(parsing)
        except StopIteration as parsed_frame:
            frames.append(parsed_frame.value)
    return frames


async def test_frames_that_came_before_the_upgrade_was_answered_are_not_lost() -> None:
    application = Application()
    application.may_accept.clear()
    protocol, wire = connecting(application)
    protocol.data_received(masked(Opcode.TEXT, b"early"))
    assert not wire.is_reading_now
    application.may_accept.set()
    async with asyncio.timeout(limit(5.0)):
        while application.texts != ["early"]:
            await asyncio.sleep(0)
    assert wire.is_reading_now
    wire.protocol.connection_lost(None)


def test_no_text_is_no_frame() -> None:
    assert frames_of([]) == b""
