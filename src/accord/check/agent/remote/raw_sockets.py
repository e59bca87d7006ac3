"""HTTP/1.1 and WebSocket frames (RFC 6455) on plain sockets, recorded; also bytes that no client library sends.

The header with the token is sent and not recorded. Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from accord.check.engine.evidence import Entry, StepFailed, read_json
from accord.check.engine.program import AgentAddress, remote_options
from accord.transport.remote import request_headers
from accord.wire.sse import SseReader

SHOWN = ("accept", "content-type", "acp-connection-id", "acp-session-id", "last-event-id", "origin", "host")
"""The headers that are recorded: those that rules are about, and none with a secret."""
SHOWN_BACK = ("content-type", "acp-connection-id", "acp-session-id", "cache-control", "www-authenticate")
JSON = {"Content-Type": "application/json"}
EVENTS = {"Accept": "text/event-stream"}
SWITCHING, OK = 101, 200
_HEAD_BYTES = 64 * 1024
_BODY_BYTES = 4 * 1024 * 1024
_RECORDED_BYTES = 4000
_FAULTS = (OSError, EOFError, ValueError, asyncio.LimitOverrunError)


class ExchangeRecord:
    """Everything that was sent and received in one step, in the order in which it was seen here."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._began = time.monotonic()
        self._changed = asyncio.Event()

    @property
    def now(self) -> int:
        """The place of the next entry."""
        return len(self.entries)

    def add(self, raw: bytes, message: Any, *, sent: bool) -> Entry:
        entry = Entry(sent, time.monotonic() - self._began, raw, message, len(self.entries))
        self.entries.append(entry)
        self._changed.set()
        return entry

    def wake(self) -> None:
        """Let waiting callers check their conditions again."""
        self._changed.set()

    async def until(self, holds: Callable[[], Any], seconds: float) -> bool:
        """Wait until a condition holds; it is asked again whenever something happened. False after the time limit."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return bool(holds())
        return True


class HttpAnswer(NamedTuple):
    """An answer whose body was read."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    asked: Entry
    entry: Entry

    @property
    def media_type(self) -> str:
        return media_type_of(self.headers)

    @property
    def message(self) -> Any:
        return read_json(self.body)


def media_type_of(headers: Mapping[str, str]) -> str:
    """The content type without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class OpenResponse:
    """An answer whose head was read."""

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        asked: Entry,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.status = status
        self.headers = headers
        self.asked = asked
        self.reader = reader
        self.writer = writer

    async def chunks(self) -> AsyncIterator[bytes]:
        """The parts of the body as they come; an `EOFError` or an `OSError` is an unexpected end."""
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            while size := int((await self.reader.readuntil(b"\r\n")).partition(b";")[0], 16):
                yield await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            return
        left = int(self.headers["content-length"]) if "content-length" in self.headers else None
        while left is None or left > 0:
            data = await self.reader.read(65536 if left is None else min(left, 65536))
            if not data:
                if left:
                    raise EOFError("the body is shorter than its length")
                return
            left = None if left is None else left - len(data)
            yield data

    async def body(self) -> bytes:
        body = b""
        async for chunk in self.chunks():
            body += chunk
            if len(body) > _BODY_BYTES:
                break
        return body

    def close(self) -> None:
        self.writer.close()


class RawHttp:
    """Requests to one endpoint, each on a socket of its own."""

    def __init__(self, address: AgentAddress, record: ExchangeRecord, timeout_seconds: float) -> None:
        parts = urlsplit(address.url)
        self.record = record
        self.timeout_seconds = timeout_seconds
        self.has_token = address.token is not None
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if address.is_secure else 80)
        self._netloc = parts.netloc
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = request_headers(address.url, remote_options(address))
        self._tls = (address.tls or ssl.create_default_context()) if address.is_secure else None
        self._writers: list[asyncio.StreamWriter] = []

    async def open(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, token: str | None = None
    ) -> OpenResponse:
        """Send a request and read the head of its answer; `token` replaces the given one, "" is none.

        Raises:
            StepFailed: There is no answer.
        """
        lines = self._lines(headers, token)
        if body is not None:
            lines.setdefault("Content-Length", str(len(body)))
        shown = " ".join(f"{name}: {value};" for name, value in lines.items() if name.lower() in SHOWN)
        said = f"{method} {self._target} {shown} ".encode() + (body or b"")[:_RECORDED_BYTES]
        asked = self.record.add(said, None if body is None else read_json(body), sent=True)
        try:
            async with asyncio.timeout(self.timeout_seconds):
                reader, writer = await self.connect_socket()
                writer.write(self._head(method, lines) + (body or b""))
                status, answered = await read_head(reader)
        except TimeoutError:
            raise StepFailed(f"{method} was not answered in {self.timeout_seconds:g} s", "", asked) from None
        except _FAULTS as error:
            raise StepFailed(f"{method} was not answered: {type(error).__name__}", "", asked) from None
        return OpenResponse(status, answered, asked, reader, writer)

    def _lines(self, headers: Mapping[str, str], token: str | None = None) -> dict[str, str]:
        lines = {"Host": self._netloc, **self._headers, **headers}
        if token is not None:
            lines.pop("Authorization", None)
            lines |= {"Authorization": f"Bearer {token}"} if token else {}
        return lines

    def _head(self, method: str, lines: Mapping[str, str]) -> bytes:
        head = [f"{method} {self._target} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""]
        return "\r\n".join(head).encode("latin-1", "replace")

    def head(self, method: str, headers: Mapping[str, str]) -> bytes:
        """The head of a request whose body is sent by the caller."""
        return self._head(method, self._lines(headers))

    async def connect_socket(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=_HEAD_BYTES)
        self._writers.append(writer)
        return reader, writer

    async def request(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, token: str | None = None
    ) -> HttpAnswer:
        """One whole exchange.

        Raises:
            StepFailed: There is no answer.
        """
        return await self.read(await self.open(method, headers, body, token=token))

    async def read(self, response: OpenResponse) -> HttpAnswer:
        """Read the body of an answer that is no stream; of a stream only its head is recorded."""
        body = b""
        try:
            if not (response.status == OK and media_type_of(response.headers) == "text/event-stream"):
                async with asyncio.timeout(self.timeout_seconds):
                    body = await response.body()
        except (TimeoutError, *_FAULTS) as error:
            reason = f"the body of the answer did not come: {type(error).__name__}"
            raise StepFailed(reason, "", response.asked) from None
        finally:
            response.close()
        entry = self.note(response, body)
        return HttpAnswer(response.status, response.headers, body, response.asked, entry)

    def note(self, response: OpenResponse, body: bytes = b"") -> Entry:
        """Record the head of an answer and the beginning of its body."""
        shown = " ".join(f"{name}: {value};" for name, value in response.headers.items() if name in SHOWN_BACK)
        said = f"{response.status} {shown} ".encode() + body[:_RECORDED_BYTES]
        return self.record.add(said.strip(), read_json(body), sent=False)

    async def close(self) -> None:
        """Abort every socket."""
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """The status and the headers of an answer; informational ones are skipped, but for the upgrade."""
    while True:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
        if status // 100 != 1 or status == SWITCHING:
            pairs = (line.partition(":") for line in lines[1:] if line)
            return status, {name.strip().lower(): value.strip() for name, _, value in pairs}


class EventStream:
    """An open stream: its bytes, and its messages as a reader of server-sent events gets them."""

    def __init__(self, response: OpenResponse, record: ExchangeRecord, take: Callable[[Any], None]) -> None:
        self.headers = response.headers
        self.raw = b""
        self.entries: list[Entry] = []
        self.ids: list[str] = []
        """The id of each event; "" where it had none."""
        self.has_ended = False
        self._sse = SseReader()
        self._response = response
        self._record = record
        self._take = take
        self._task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        try:
            async for chunk in self._response.chunks():
                self.raw = (self.raw + chunk)[:_BODY_BYTES]
                for event in self._sse.feed(chunk):
                    self.ids.append(event.id)
                    message = read_json(event.data)
                    self.entries.append(self._record.add(event.data, message, sent=False))
                    self._take(message)
                self._record.wake()
        except _FAULTS:
            pass
        finally:
            self.has_ended = True
            self._record.wake()

    async def wait_end(self, seconds: float) -> bool:
        """Whether the server ends it within some seconds."""
        return await self._record.until(lambda: self.has_ended, seconds)

    async def close(self) -> None:
        self._response.close()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


# --- WebSocket

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
