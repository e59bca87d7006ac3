"""WebSocket frames on a plain socket, recorded: also frames that no client library sends (RFC 6455)."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from accord.check.agent.remote.raw_http import SWITCHING, HttpAnswer, OpenResponse, RawHttp
from accord.check.engine.record import Entry, read_json

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_FIN, _MASKED, _LENGTH_BITS = 0x80, 0x80, 0x7F
_TWO_BYTES, _EIGHT_BYTES = 126, 127
_MAX_BYTES = 64 * 1024 * 1024
_ABNORMAL = 1006
_NO_CODE = 1005


class ReceivedMessage(NamedTuple):
    """A whole message; `opcode` is that of its first frame."""

    opcode: int
    payload: bytes
    entry: Entry


def upgrade_headers() -> dict[str, str]:
    key = base64.b64encode(os.urandom(16)).decode()
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
    }


async def open_socket(
    http: RawHttp, take: Callable[[Any], None], headers: Mapping[str, str] | None = None, *, token: str | None = None
) -> RawSocket | HttpAnswer:
    """Ask for the upgrade; the answer where there is none.

    Raises:
        StepFailed: There is no answer.
    """
    response = await http.open("GET", {**upgrade_headers(), **(headers or {})}, token=token)
    if response.status != SWITCHING:
        return await http.read(response)
    return RawSocket(response, http, take)


class RawSocket:
    """An open socket. Pings of the server are answered, and so is its close."""

    def __init__(self, response: OpenResponse, http: RawHttp, take: Callable[[Any], None]) -> None:
        self.headers = response.headers
        self.upgrade = (response.asked, http.note(response))
        self.messages: list[ReceivedMessage] = []
        self.pongs: list[bytes] = []
        self.close_code: int | None = None
        """Set when the socket is gone; 1006 without a close frame."""
        self._reader, self._writer = response.reader, response.writer
        self._record = http.record
        self._take = take
        self._fragments: list[tuple[int, bytes]] = []
        self._has_closed = False
        self._task = asyncio.ensure_future(self._read())

    # --- sending

    def say(self, text: bytes) -> Entry:
        """Send one text message."""
        entry = self._record.add(text, read_json(text), sent=True)
        self.frame(TEXT, text)
        return entry

    def note(self, what: str) -> Entry:
        """Record a frame that is no text."""
        return self._record.add(what.encode(), None, sent=True)

    def frame(self, opcode: int, payload: bytes, *, is_last: bool = True) -> None:
        """Send one masked frame."""
        if self._writer.is_closing():
            return
        mask = os.urandom(4)
        head = bytes([opcode | (_FIN if is_last else 0)])
        if len(payload) < _TWO_BYTES:
            head += bytes([_MASKED | len(payload)])
        elif len(payload) < 1 << 16:
            head += bytes([_MASKED | _TWO_BYTES]) + len(payload).to_bytes(2)
        else:
            head += bytes([_MASKED | _EIGHT_BYTES]) + len(payload).to_bytes(8)
        keys = (mask * (len(payload) // 4 + 1))[: len(payload)]
        masked = (int.from_bytes(payload) ^ int.from_bytes(keys)).to_bytes(len(payload)) if payload else b""
        self._writer.write(head + mask + masked)

    def send_close(self, code: int = 1000) -> Entry:
        self._has_closed = True
        self.frame(CLOSE, code.to_bytes(2))
        return self.note(f"close {code}")

    # --- receiving

    async def _read(self) -> None:
        code = _ABNORMAL
        try:
            while True:
                opcode, is_last, payload = await self._frame()
                if opcode == PING:
                    self.frame(PONG, payload)
                elif opcode == PONG:
                    self.pongs.append(payload)
                    self._record.add(b"pong", None, sent=False)
                elif opcode == CLOSE:
                    code = int.from_bytes(payload[:2]) if payload else _NO_CODE
                    if not self._has_closed:
                        self.send_close(1000)
                    return
                else:
                    self._fragments.append((opcode, payload))
                    if is_last:
                        self._join()
        except (OSError, EOFError, ValueError):
            pass
        finally:
            self.close_code = code
            self._record.add(f"close {code}".encode(), None, sent=False)
            self._writer.close()

    async def _frame(self) -> tuple[int, bool, bytes]:
        first, second = await self._reader.readexactly(2)
        length = second & _LENGTH_BITS
        if length >= _TWO_BYTES:
            length = int.from_bytes(await self._reader.readexactly(2 if length == _TWO_BYTES else 8))
        if length > _MAX_BYTES:
            raise ValueError("the frame is too large")
        if second & _MASKED:
            await self._reader.readexactly(4)
        return first & 0x0F, bool(first & _FIN), await self._reader.readexactly(length)

    def _join(self) -> None:
        opcode, payload = self._fragments[0][0], b"".join(part for _, part in self._fragments)
        self._fragments = []
        message = read_json(payload)
        self.messages.append(ReceivedMessage(opcode, payload, self._record.add(payload, message, sent=False)))
        self._take(message)

    async def wait_closed(self, seconds: float) -> bool:
        """Whether the socket is gone within some seconds."""
        return await self._record.until(lambda: self.close_code is not None, seconds)

    async def close(self) -> None:
        if self.close_code is None:
            self.send_close()
        self._writer.close()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
