"""The frames of a WebSocket, for a server: reads those of a client, cut anywhere, and writes its own. No I/O.

RFC 6455 without extensions. The names of sections in comments are those of the RFC.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from websockets.frames import apply_mask  # type: ignore[attr-defined] # the fast one where it was compiled

__all__ = ["CLOSE", "PING", "PONG", "TEXT", "FrameFault", "FrameReader", "close_frame", "closing", "frames_of"]

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_OPCODES = frozenset({CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG})
_FINAL, _RESERVED, _OPCODE, _CONTROL = 0x80, 0x70, 0x0F, 0x08
_MASKED, _LENGTH = 0x80, 0x7F
_WHOLE_TEXT = _FINAL | TEXT
_TWO_BYTES, _EIGHT_BYTES = 126, 127
_MAX_CONTROL_BYTES = 125
_START_BYTES, _MASK_BYTES, _CODE_BYTES = 2, 4, 2
_NO_MASK = bytes(_MASK_BYTES)
NO_CODE = 1005
# 7.4: the codes that a close frame may have; from 3000 on they belong to libraries and applications.
_CODES = frozenset({1000, 1001, 1002, 1003, *range(1007, 1015)})
_OWN_CODES = range(3000, 5000)


class FrameFault(NamedTuple):
    """Why a socket has to be closed: the close code, and its reason."""

    code: int
    reason: str


class FrameReader:
    """Makes whole messages and control frames of the bytes that a client sends.

    `fault` is set by the first frame that breaks a rule; nothing is read behind it. A message has `max_bytes` at most.
    """

    __slots__ = ("_max_bytes", "_needed_bytes", "_opcode", "_parts", "_rest", "fault")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest: bytearray | None = None
        """The beginning of a frame."""
        self._needed_bytes = 0
        """The length that the beginning needs before it is decoded again."""
        self._opcode = 0
        """Of the message whose fragments are coming; 0 if there is none."""
        self._parts: bytearray | None = None
        self.fault: FrameFault | None = None

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Whole messages (`TEXT`, or 2 for binary) and control frames, in order, as opcode and payload."""
        found: list[tuple[int, bytes]] = []
        if self._rest is not None:
            self._rest += data
            if len(self._rest) < self._needed_bytes:
                return found
            data, self._rest = bytes(self._rest), None
        start, end = 0, len(data)
        while start < end and self.fault is None:
            size = self._frame_bytes(data, start, end)
            if self.fault is not None:
                break
            if size > end - start:
                self._rest, self._needed_bytes = bytearray(data[start:]), size
                break
            self._take(data, start, start + size, found)
            start += size
        return found

    def _frame_bytes(self, data: bytes, start: int, end: int) -> int:
        """The size of the frame that begins there; as far as it can be known."""
        if end - start < _START_BYTES:
            return _START_BYTES
        first, second = data[start], data[start + 1]
        length = second & _LENGTH
        if first != _WHOLE_TEXT or self._opcode:
            self._check_start(first, length)
        if not second & _MASKED:  # 5.1
            self.fault = FrameFault(1002, "a frame is not masked")
        head = _START_BYTES + _MASK_BYTES
        if length >= _TWO_BYTES:
            head += 2 if length == _TWO_BYTES else 8
            if end - start < head:
                return head
            length = int.from_bytes(data[start + _START_BYTES : start + head - _MASK_BYTES], "big")
        if length + (0 if self._parts is None else len(self._parts)) > self._max_bytes:
            self.fault = self.fault or FrameFault(1009, "the message is too large")
        return head + length

    def _check_start(self, first: int, length: int) -> None:
        opcode = first & _OPCODE
        reason = ""
        if first & _RESERVED:  # 5.2
            reason = "a reserved bit is set"
        elif opcode not in _OPCODES:
            reason = "an opcode is not known"
        elif opcode & _CONTROL:  # 5.5
            if not first & _FINAL or length > _MAX_CONTROL_BYTES:
                reason = "a control frame is too long or has fragments"
        elif bool(opcode) == bool(self._opcode):  # 5.4
            reason = "a message begins within another" if opcode else "nothing is to be continued"
        if reason:
            self.fault = FrameFault(1002, reason)

    def _take(self, data: bytes, start: int, end: int, found: list[tuple[int, bytes]]) -> None:
        first, length = data[start], data[start + 1] & _LENGTH
        place = start + _START_BYTES + (0 if length < _TWO_BYTES else 2 if length == _TWO_BYTES else 8) + _MASK_BYTES
        mask, payload = data[place - _MASK_BYTES : place], data[place:end]
        if mask != _NO_MASK:
            payload = apply_mask(payload, mask)
        opcode = first & _OPCODE
        if opcode & _CONTROL:
            found.append((opcode, payload))
        elif first & _FINAL and not self._opcode:
            self._end_message(opcode, payload, found)
        else:
            self._opcode = self._opcode or opcode
            # Joined at once: fragments of one byte would take fifty times as much in a list.
            if self._parts is None:
                self._parts = bytearray()
            self._parts += payload
            if first & _FINAL:
                opcode, payload = self._opcode, bytes(self._parts)
                self._opcode, self._parts = 0, None
                self._end_message(opcode, payload, found)

    def _end_message(self, opcode: int, payload: bytes, found: list[tuple[int, bytes]]) -> None:
        if opcode == TEXT and not payload.isascii():
            try:
                payload.decode()
            except UnicodeDecodeError:  # 8.1
                self.fault = FrameFault(1007, "a text is not UTF-8")
                return
        found.append((opcode, payload))


def frames_of(texts: Iterable[bytes]) -> bytes:
    """The frames of a server for some texts."""
    parts: list[bytes] = []
    for given in texts:
        # A text frame must be UTF-8; a program behind the server may write other bytes.
        text = given if given.isascii() else given.decode(errors="replace").encode()
        size = len(text)
        if size < _TWO_BYTES:
            parts.append(b"\x81%c" % size)
        elif size < 1 << 16:
            parts.append(b"\x81\x7e" + size.to_bytes(2, "big"))
        else:
            parts.append(b"\x81\x7f" + size.to_bytes(8, "big"))
        parts.append(text)
    return b"".join(parts)


def control_frame(opcode: int, payload: bytes) -> bytes:
    """A control frame of a server; the payload has 125 bytes at most."""
    return bytes((_FINAL | opcode, len(payload))) + payload


def close_frame(code: int, reason: str = "") -> bytes:
    """A close frame of a server."""
    if code == NO_CODE:
        return control_frame(CLOSE, b"")
    text = reason.encode()[: _MAX_CONTROL_BYTES - _CODE_BYTES].decode(errors="ignore").encode()
    return control_frame(CLOSE, code.to_bytes(_CODE_BYTES, "big") + text)


def closing(payload: bytes) -> tuple[int, str] | FrameFault:
    """The code and the reason of a client's close frame."""
    if not payload:
        return NO_CODE, ""
    code = int.from_bytes(payload[:_CODE_BYTES], "big")
    if len(payload) < _CODE_BYTES or (code not in _CODES and code not in _OWN_CODES):  # 5.5.1
        return FrameFault(1002, "a close code is not allowed")
    try:
        return code, payload[_CODE_BYTES:].decode()
    except UnicodeDecodeError:
        return FrameFault(1007, "the reason of a close is not UTF-8")
