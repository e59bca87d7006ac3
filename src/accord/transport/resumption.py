"""Taking a connection up again on a new link: the client's half of docs/remote-wire.md, without I/O.

The functions serve either transport; `WebSocketResumption` is the whole state of a WebSocket connection
that outlives its sockets. A server without the advertisement costs one search in its answer to `initialize`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from accord.jsonrpc.message import RequestId
from accord.transport.routing import read_envelope

__all__ = [
    "ACKNOWLEDGE_BYTES",
    "ACKNOWLEDGE_TEXTS",
    "Advertisement",
    "WebSocketResumption",
    "acknowledgement",
    "is_control",
    "none_received",
    "not_received",
    "read_advertisement",
]

RESUME_KEY = "accord/resume"
"""The key in `_meta`: of the server's capabilities, and of the params of a repeated `initialize`."""

ACKNOWLEDGE_BYTES = 64 * 1024
ACKNOWLEDGE_TEXTS = 64
"""How much is received before it is acknowledged."""

# Sent texts are kept until they are acknowledged: beyond this the next text waits.
MAX_UNACKNOWLEDGED_BYTES = 4 * 1024 * 1024

_RESUME = "_accord/resume"
_RECEIVED = "_accord/received"
_CONTROL_HEAD = b'"_accord/'
_HEAD_BYTES = 96
_MAX_GRACE_SECONDS = 3600.0


class Advertisement(NamedTuple):
    """The server's offer of resumption in its answer to `initialize`."""

    connection_id: str
    grace_seconds: float


def read_advertisement(answer: bytes) -> Advertisement | None:
    """The advertisement in an answer to `initialize`; never raises."""
    if RESUME_KEY.encode() not in answer:
        return None
    try:
        result = json.loads(answer).get("result")
    except (ValueError, RecursionError, AttributeError):
        return None
    if not isinstance(result, dict):
        return None
    for place in (result.get("agentCapabilities"), result.get("capabilities"), result):
        meta = place.get("_meta") if isinstance(place, dict) else None
        said = meta.get(RESUME_KEY) if isinstance(meta, dict) else None
        if isinstance(said, dict) and isinstance(said.get("connectionId"), str):
            grace: Any = said.get("graceSeconds")
            seconds = float(grace) if type(grace) in (int, float) else 0.0
            return Advertisement(said["connectionId"], min(max(seconds, 0.0), _MAX_GRACE_SECONDS))
    return None


def is_control(text: bytes) -> bool:
    """Whether a text is for the transports alone: its method, or the id of its answer, begins with `_accord/`."""
    if _CONTROL_HEAD not in text[:_HEAD_BYTES]:
        return False
    message = read_envelope(text)
    return message.method.startswith("_accord/") or message.id == _RESUME


def acknowledgement(cursor: str, session_id: str | None = None) -> bytes:
    """The text of `_accord/received`."""
    params = {"cursor": cursor} if session_id is None else {"sessionId": session_id, "cursor": cursor}
    return _text({"jsonrpc": "2.0", "method": _RECEIVED, "params": params})


def not_received(request_id: RequestId) -> bytes:
    """The answer to a request that a server did not receive before it ended: it may be repeated at another one."""
    data = {"reason": "draining"}
    error = {"code": -32002, "message": "The server has ended, and did not receive this request", "data": data}
    return _text({"jsonrpc": "2.0", "id": request_id, "error": error})


def none_received(texts: Iterable[bytes | bytearray]) -> list[bytes]:
    """The same for each request among texts that were not sent."""
    return [not_received(message.id) for message in map(read_envelope, texts) if message.kind == "request"]


class WebSocketResumption:
    """The texts to send next, and the received texts for the connection above.

    `next_text` gives the text to write now, from the queue of the connection above or of its own; `receive` takes a
    text that was read, and `begin_link` is called for every socket after the first.
    """

    def __init__(self, max_unacknowledged_bytes: int = MAX_UNACKNOWLEDGED_BYTES) -> None:
        self._max_bytes = max_unacknowledged_bytes
        self._phase: Literal["initialize", "open", "repeat", "resume"] = "initialize"
        self._initialize: bytes = b""
        self._kept: deque[bytes | bytearray] = deque()
        """Texts that were written and are not acknowledged; the first one has the number `_acknowledged + 1`."""
        self._kept_bytes = 0
        self._acknowledged = 0
        self._again = 0
        """How many of the kept texts have been written on this socket."""
        self._received = 0
        self._acknowledged_received = -1
        self._unacknowledged_bytes = 0
        self._step_sent = False
        self._open_requests: dict[int | str, None] = {}
        self.advertisement: Advertisement | None = None
        self.refusal: str | None = None
        """Why the connection cannot be taken up: `unknown`, `gap`, or `initialize` where that was refused."""

    @property
    def is_open(self) -> bool:
        """Whether texts of the connection above can pass."""
        return self._phase in ("initialize", "open")

    @property
    def can_resume(self) -> bool:
        return self.advertisement is not None and self.refusal is None

    def not_received(self, queue: deque[bytes | bytearray]) -> list[bytes]:
        """The answers to all open requests of a connection that the server has ended in order."""
        if self.advertisement is None:
            return []
        return [*map(not_received, self._open_requests), *none_received(queue)]

    def begin_link(self) -> None:
        """A new socket is there."""
        self._phase = "repeat"
        self._step_sent = False

    def next_text(self, queue: deque[bytes | bytearray]) -> tuple[bytes | bytearray, bool] | None:
        """The text to write now, and whether it was taken from the queue; None if there is nothing to write."""
        if not self.is_open:
            return self._next_step()
        if self._is_acknowledgement_due():
            self._acknowledged_received, self._unacknowledged_bytes = self._received, 0
            return acknowledgement(str(self._received)), False
        if self._again < len(self._kept):
            self._again += 1
            return self._kept[self._again - 1], False
        if not queue or (self._kept and self._kept_bytes >= self._max_bytes):
            return None
        text = queue.popleft()
        self._keep(text)
        return text, True

    def _next_step(self) -> tuple[bytes, bool] | None:
        if self._step_sent:
            return None
        self._step_sent = True
        return (self._repeated() if self._phase == "repeat" else self._resume_request()), False

    def _keep(self, text: bytes | bytearray) -> None:
        if self._phase == "initialize":
            if read_envelope(text).method == "initialize":
                self._initialize = bytes(text)
            return
        if self.advertisement is None:
            return
        self._kept.append(text)
        self._kept_bytes += len(text)
        self._again += 1
        message = read_envelope(text)
        if message.kind == "request" and message.id is not None:
            self._open_requests[message.id] = None

    def _is_acknowledgement_due(self) -> bool:
        if self.advertisement is None or self._phase != "open":
            return False
        return (
            self._received - self._acknowledged_received >= ACKNOWLEDGE_TEXTS
            or self._unacknowledged_bytes >= ACKNOWLEDGE_BYTES
        )

    def receive(self, text: bytes) -> bool:
        """Take a text that was read; whether it is for the connection above."""
        if self._phase == "open":
            if self.advertisement is None:
                return True
            return self._receive_counted(text)
        return self._receive_step(text)

    def _receive_counted(self, text: bytes) -> bool:
        if is_control(text):
            self._drop_acknowledged(_string(text, "params", "cursor"))
            return False
        self._received += 1
        self._unacknowledged_bytes += len(text)
        if self._open_requests and not text.startswith(b'{"jsonrpc":"2.0","method"'):
            message = read_envelope(text)
            if message.kind == "answer" and message.id is not None:
                self._open_requests.pop(message.id, None)
        return True

    def _receive_step(self, text: bytes) -> bool:
        message = read_envelope(text)
        if self._phase == "initialize":
            if message.kind == "answer" and not message.is_error and message.id == read_envelope(self._initialize).id:
                self.advertisement = read_advertisement(text)
                self._phase = "open"
                # The first acknowledgement tells the server that there will be others.
                self._acknowledged_received = -ACKNOWLEDGE_TEXTS
            return True
        if self._phase == "repeat" and message.kind == "answer" and message.id == read_envelope(self._initialize).id:
            if message.is_error:
                self.refusal = "initialize"
            self._phase, self._step_sent = "resume", False
        elif self._phase == "resume" and message.kind == "answer" and message.id == _RESUME:
            self._resumed(text, is_error=message.is_error)
        return False

    def _resumed(self, text: bytes, *, is_error: bool) -> None:
        received = None if is_error else _string(text, "result", "received")
        if received is None or not self._drop_acknowledged(received):
            self.refusal = _string(text, "error", "data", "reason") or "unknown"
            return
        self._phase = "open"
        self._again = 0
        self._acknowledged_received, self._unacknowledged_bytes = self._received, 0

    def _drop_acknowledged(self, cursor: str | None) -> bool:
        """Forget the texts that the server has; False if its cursor is not possible."""
        if cursor is None or not cursor.isdecimal() or not cursor.isascii() or len(cursor) > 15:  # noqa: PLR2004
            return False
        count = int(cursor)
        if not self._acknowledged <= count <= self._acknowledged + len(self._kept):
            return False
        while self._acknowledged < count:
            self._kept_bytes -= len(self._kept.popleft())
            self._acknowledged += 1
            self._again = max(0, self._again - 1)
        return True

    def _repeated(self) -> bytes:
        """The `initialize` of the connection, with the name of the one to take up."""
        message = json.loads(self._initialize)
        params = message.setdefault("params", {})
        connection_id = "" if self.advertisement is None else self.advertisement.connection_id
        params["_meta"] = {**(params.get("_meta") or {}), RESUME_KEY: {"connectionId": connection_id}}
        return _text(message)

    def _resume_request(self) -> bytes:
        params = {
            "connectionId": "" if self.advertisement is None else self.advertisement.connection_id,
            "cursor": str(self._received),
            "requests": list(self._open_requests),
        }
        return _text({"jsonrpc": "2.0", "id": _RESUME, "method": _RESUME, "params": params})


def _text(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def _string(text: bytes, *path: str) -> str | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
