"""The reply of a server of streamable HTTP: its kind, its body as one text, or the texts of its events.

`http_stream` reads the events of a GET, which go on for ever; those of a POST end with its answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx2

from accord.errors import ConnectFailed, ConnectionLost, FrameError
from accord.transport.remote import refusal_of
from accord.transport.routing import Envelope, read_envelope
from accord.wire.sse import SseReader

__all__ = [
    "LINK_ERRORS",
    "check_fault",
    "check_first",
    "chunks_of",
    "has_events",
    "is_json",
    "is_success",
    "last_text",
    "read_answer",
    "refused_answer",
    "retry_seconds",
    "texts_of",
]

LINK_ERRORS = (httpx2.TransportError, httpx2.DecodingError, TimeoutError)
"""The errors of a link that breaks, or brings something that cannot be read."""

MAX_ERROR_BYTES = 64 * 1024

_SUCCESS = 2
_INTERNAL_ERROR = -32603
_RETRY_DIGITS = 9


def is_success(response: httpx2.Response) -> bool:
    return response.status_code // 100 == _SUCCESS


def is_json(response: httpx2.Response) -> bool:
    return _type_of(response).startswith("application/json")


def has_events(response: httpx2.Response) -> bool:
    return _type_of(response).startswith("text/event-stream")


def _type_of(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).lower()


def check_first(response: httpx2.Response) -> None:
    """The reply to `initialize`.

    Raises:
        ConnectFailed: It has another status than success, or no message.
    """
    if not is_success(response):
        raise refusal_of(response.status_code)
    if not (is_json(response) or has_events(response)):
        raise ConnectFailed("the server answered with something that is no JSON", status=response.status_code)


def refused_answer(request: Envelope, status: int) -> bytes:
    """The answer to a request that the server refused by an HTTP status."""
    error = {"code": _INTERNAL_ERROR, "message": "The server refused the request", "data": {"status": status}}
    return json.dumps({"jsonrpc": "2.0", "id": request.id, "error": error}).encode()


def retry_seconds(response: httpx2.Response) -> float:
    """The pause that the server asks for (`Retry-After`); 0 where it asks for none, or names a date."""
    value = str(response.headers.get("retry-after", ""))
    return float(value) if value.isascii() and value.isdigit() and len(value) <= _RETRY_DIGITS else 0.0


def chunks_of(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it comes; a server may have compressed it, although it was asked not to."""
    return response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()


async def _read_body(response: httpx2.Response, max_bytes: int) -> bytes:
    """The body of a response.

    Raises:
        FrameError: It is larger than `max_bytes`.
    """
    body = bytearray()
    async for chunk in chunks_of(response):
        body += chunk
        if len(body) > max_bytes:
            raise FrameError("the server's answer is over the size limit", limit_bytes=max_bytes)
    return bytes(body)


async def read_answer(response: httpx2.Response, max_bytes: int) -> bytes:
    """The answer in a reply: its body, or the text of the event that is one; of an error a limited part is read."""
    if not is_success(response):
        return await _read_body(response, MAX_ERROR_BYTES)
    if not has_events(response):
        return await _read_body(response, max_bytes)
    async for text in texts_of(response, max_bytes):
        if read_envelope(text).kind == "answer":
            return text
    return b""


async def texts_of(response: httpx2.Response, max_bytes: int) -> AsyncIterator[bytes]:
    """The texts of a stream of events that has an end.

    Raises:
        FrameError: One is larger than `max_bytes`.
        ConnectionLost: The stream ended within one.
    """
    reader = SseReader(max_bytes)
    async for chunk in chunks_of(response):
        for event in reader.feed(chunk):
            yield event.data
        check_fault(reader)
    text = last_text(reader)
    if text is not None:
        yield text


def check_fault(reader: SseReader) -> None:
    """Raise the fault of a reader, if it has one."""
    if reader.fault is not None:
        raise FrameError(str(reader.fault), limit_bytes=reader.fault.limit_bytes)


def last_text(reader: SseReader) -> bytes | None:
    """The text of an event whose blank line is missing at the end of a stream: some servers do not write it.

    Raises:
        ConnectionLost: It is cut off.
    """
    event = reader.finish()
    if event is None:
        return None
    if read_envelope(event.data).kind == "other":
        raise ConnectionLost("the server ended a stream within a message")
    return event.data
