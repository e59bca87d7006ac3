"""Connections to a server without any SDK: bytes on blocking sockets, the same for all servers, cheaper than each.

What arrives is neither decoded nor checked while the clock runs; `numbers_in` checks it afterwards.
"""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import struct
import time
from typing import Any

from benchmarks.remote.server_process import TOKEN, ServerProcess

__all__ = ["HttpConnection", "WebSocketConnection", "answer_pings", "numbers_in", "opened"]

TIMEOUT_SECONDS = 120
READ_BYTES = 1 << 20
INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {}}
_NUMBER = re.compile(rb'"text": ?"(\d{8}) ')
# uvicorn and node close an idle socket after five.
_KEPT_SECONDS = 3.0
_PING = b"\x89\x04"
_AUTHORIZATION = f"Authorization: Bearer {TOKEN}\r\n"


def opened(kind: str, server: ServerProcess) -> WebSocketConnection | HttpConnection:
    """An initialized connection over `ws` or `http`."""
    connection = WebSocketConnection(server) if kind == "ws" else HttpConnection(server)
    connection.initialize()
    return connection


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def prompt(number: int, session_id: str, updates: int, size: int) -> bytes:
    command = json.dumps({"op": "stream", "n": updates, "size": size})
    return request(number, "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": command}]})


def numbers_in(data: bytes) -> list[int]:
    """The numbers of all updates, in the order in which they came."""
    return [int(each) for each in _NUMBER.findall(data)]


def dial(port: int) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def read_until(link: socket.socket, wanted: bytes) -> bytes:
    """Everything up to the read that has `wanted` in it."""
    chunks: list[bytes] = []
    tail = b""
    while True:
        chunk = link.recv(READ_BYTES)
        if not chunk:
            raise ConnectionError(f"the server closed: {b''.join(chunks)[-300:]!r}")
        chunks.append(chunk)
        recent = tail + chunk
        if wanted in recent:
            return b"".join(chunks)
        if b'"error"' in recent and b'"code"' in recent:
            raise ConnectionError(f"the server answered {recent[-300:]!r}")
        tail = chunk[-len(wanted) :]


def answer_pings(link: socket.socket, data: bytes) -> None:
    """Answer uvicorn's pings, which have four bytes; nothing else that servers send here has these two bytes."""
    place = data.find(_PING)
    while place >= 0:
        link.sendall(b"\x8a\x84\0\0\0\0" + data[place + 2 : place + 6])
        place = data.find(_PING, place + 2)


class WebSocketConnection:
    """One socket; all sessions are on it."""

    def __init__(self, server: ServerProcess) -> None:
        self._port, self._root = server.port, server.root
        self.link = dial(server.port)
        self._number = 0

    def initialize(self) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        self.link.sendall(
            f"GET /acp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{_AUTHORIZATION}\r\n".encode()
        )
        head = read_until(self.link, b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError(repr(head[:200]))
        self.link.sendall(frame(request(0, "initialize", INITIALIZE)))
        read_until(self.link, b'"protocolVersion"')

    def new_session(self) -> str:
        self._number += 1
        self.link.sendall(frame(request(self._number, "session/new", {"cwd": self._root, "mcpServers": []})))
        return session_id_in(read_until(self.link, b'"sessionId"'))

    def stream(self, session_id: str, updates: int, size: int) -> bytes:
        """One prompt; what came up to its answer."""
        self._number += 1
        self.write(frame(prompt(self._number, session_id, updates, size)))
        return read_until(self.link, b'"stopReason"')

    def write(self, data: bytes) -> None:
        self.link.sendall(data)

    def refresh(self) -> None:
        """Answer the pings that came while nothing was read."""
        self.link.settimeout(0)
        try:
            answer_pings(self.link, self.link.recv(READ_BYTES))
        except BlockingIOError:
            pass
        finally:
            self.link.settimeout(TIMEOUT_SECONDS)

    def close(self) -> None:
        self.link.close()


class HttpConnection:
    """A socket for POST, one for the connection stream, and one for the stream of each session."""

    def __init__(self, server: ServerProcess) -> None:
        self._port, self._root = server.port, server.root
        self.posts = dial(server.port)
        self._posted_at = time.monotonic()
        self._old_posts: list[socket.socket] = []
        self.posts_again = 0
        """How many POSTs found their socket closed by the server."""
        self.id = ""
        self.streams: dict[str | None, socket.socket] = {}
        self._number = 0

    def initialize(self) -> None:
        self.posts.sendall(self.post(request(0, "initialize", INITIALIZE)))
        answer = read_until(self.posts, b'"protocolVersion"')
        found = re.search(rb"(?i)acp-connection-id: *([^\r]+)", answer)
        if found is None:
            raise ConnectionError(repr(answer[:300]))
        self.id = found[1].decode()
        self.open_stream(None)

    def post(self, body: bytes, session_id: str | None = None) -> bytes:
        return (
            f"POST /acp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            f"{self._headers(session_id)}Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def _headers(self, session_id: str | None) -> str:
        connection = f"Acp-Connection-Id: {self.id}\r\n" if self.id else ""
        session = f"Acp-Session-Id: {session_id}\r\n" if session_id else ""
        return f"{_AUTHORIZATION}{connection}{session}"

    def open_stream(self, session_id: str | None) -> None:
        link = self.streams[session_id] = dial(self._port)
        link.sendall(
            f"GET /acp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nAccept: text/event-stream\r\n"
            f"{self._headers(session_id)}\r\n".encode()
        )
        head = read_until(link, b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError(repr(head[:300]))

    def new_session(self) -> str:
        self._number += 1
        body = request(self._number, "session/new", {"cwd": self._root, "mcpServers": []})
        self.write(self.post(body))
        session_id = session_id_in(read_until(self.streams[None], b'"sessionId"'))
        self.open_stream(session_id)
        return session_id

    def stream(self, session_id: str, updates: int, size: int) -> bytes:
        """One prompt; what came up to its answer."""
        self._number += 1
        self.write(self.post(prompt(self._number, session_id, updates, size), session_id))
        return read_until(self.streams[session_id], b'"stopReason"')

    def write(self, data: bytes) -> None:
        if time.monotonic() - self._posted_at > _KEPT_SECONDS:
            self.refresh()
        self._posted_at = time.monotonic()
        try:
            self.posts.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            # A busy server may find only now that nothing came for five seconds. A client sends it again, and so it is
            # counted; a POST that had arrived all the same would show as updates that came twice.
            self.posts_again += 1
            self.refresh()
            self.posts.sendall(data)

    def refresh(self) -> None:
        """Servers close a socket for POST on which nothing comes for seconds: take another one."""
        self._old_posts.append(self.posts)  # an answer may be under way
        self.posts = dial(self._port)
        self._posted_at = time.monotonic()

    def close(self) -> None:
        for link in (self.posts, *self._old_posts, *self.streams.values()):
            link.close()


def frame(text: bytes) -> bytes:
    """A text frame of a client; a mask of zeros leaves the text as it is."""
    size = len(text)
    if size < 126:
        head = struct.pack("!BB", 0x81, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
    return head + b"\0\0\0\0" + text


def session_id_in(data: bytes) -> str:
    found = re.search(rb'"sessionId": ?"([^"]+)"', data)
    if found is None:
        raise ValueError(f"no session in {data!r}")
    return found[1].decode()
