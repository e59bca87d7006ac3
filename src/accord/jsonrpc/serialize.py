"""The serializer: message heads to which the body is appended, so that a large body is never copied."""

from __future__ import annotations

import functools
import json

import msgspec

from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.plain import plain, plain_value

__all__ = [
    "TAIL",
    "BatchAnswer",
    "array_text",
    "error_text",
    "notification_head",
    "request_head",
    "result_head",
    "serialize_id",
]

TAIL = b"}"
"""The end of a text after its body."""


def serialize_id(id_: RequestId) -> bytes:
    """An id as JSON, a lone surrogate escaped."""
    if type(id_) is int:
        return b"%d" % id_
    return json.dumps(id_).encode("ascii")


@functools.cache
def notification_head(method: str) -> bytes:
    """The part of a notification before its params."""
    return b'{"jsonrpc":"2.0","method":%s,"params":' % json.dumps(method).encode("ascii")


@functools.cache
def _request_middle(method: str) -> bytes:
    return b',"method":%s,"params":' % json.dumps(method).encode("ascii")


def request_head(id_: int, method: str) -> bytes:
    """The part of a request before its params."""
    return b'{"jsonrpc":"2.0","id":%d%s' % (id_, _request_middle(method))


def result_head(id_: RequestId) -> bytes:
    """The part of an answer before its result."""
    if type(id_) is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":' % id_
    return b'{"jsonrpc":"2.0","id":%s,"result":' % serialize_id(id_)


def error_text(id_: RequestId, error: ErrorObject) -> bytes:
    """A whole error answer.

    Raises:
        TypeError, ValueError: `data` cannot be written as JSON.
    """
    body: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    try:
        encoded = msgspec.json.encode(body, enc_hook=plain_value)
    except UnicodeEncodeError:
        encoded = json.dumps(plain(body), separators=(",", ":"), allow_nan=False).encode("ascii")
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (serialize_id(id_), encoded)


def array_text(texts: list[bytes]) -> bytes:
    """The answers of a batch as one text."""
    return b"[%s]" % b",".join(texts)


class BatchAnswer:
    """Collects `expected` answers. A batch of notifications alone expects none and is never answered."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self._texts: list[bytes] = []
        self.size_bytes = 0
        """All answers that were added."""

    def add(self, text: bytes) -> bytes | None:
        """One answer; the whole array once it was the last."""
        self._texts.append(text)
        self.size_bytes += len(text)
        self._missing -= 1
        return None if self._missing else array_text(self._texts)
