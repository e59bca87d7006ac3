"""One text to one message, or to the messages of a batch; never raises on input.

A clean text takes one quick pass in which params and results stay unread. What that pass refuses is read again with
`json`, slowly, to tell what is wrong with it: that also lets through the lone surrogates that msgspec does not take.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.message import (
    ErrorObject,
    Failure,
    Malformed,
    Message,
    Notification,
    Request,
    Result,
    Rules,
)

__all__ = ["parse", "parse_batch"]

_INT64 = range(-(2**63), 2**63)

_NOT_JSON = ErrorObject(-32700, "Parse error")
_NO_MESSAGE = ErrorObject(-32600, "Invalid request")


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: str
    id: int | str | None | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_envelope = msgspec.json.Decoder(_Envelope)
_entries = msgspec.json.Decoder(list[Raw])


def parse(text: bytes, rules: Rules) -> Message | list[Message]:
    """What a text says; a list for a batch where the rules allow one."""
    if not text.isascii() and not _is_utf8(text):
        return Malformed("not UTF-8", _NOT_JSON)
    try:
        envelope = _envelope.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _judge(text, rules)
    method = envelope.method
    if method is not UNSET and envelope.jsonrpc == "2.0" and envelope.result is UNSET and envelope.error is UNSET:
        params = None if envelope.params is UNSET else envelope.params
        if envelope.id is UNSET:
            return Notification(method, params)
        if type(envelope.id) is str or (type(envelope.id) is int and envelope.id in _INT64):
            return Request(envelope.id, method, params)
    elif envelope.error is UNSET and envelope.result is not UNSET and type(envelope.id) in (int, str):
        return Result(envelope.id, envelope.result)  # type: ignore[arg-type]
    return _judge(text, rules)


def parse_batch(text: bytes, rules: Rules) -> Malformed | list[Message]:
    """The messages of a batch, each bad entry as its own `Malformed`; an array in an array is one."""
    try:
        entries = _entries.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _read(text)
        if not isinstance(value, list):
            return Malformed("not JSON", _NOT_JSON)
        entries = [Raw(json.dumps(entry).encode()) for entry in value]
    if not entries:
        return Malformed("an empty batch", _NO_MESSAGE)
    alone = Rules(rules.null_ids, batches=False)
    return [message for entry in entries if not isinstance(message := parse(bytes(entry), alone), list)]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Unreadable:
    """Stands for a text that is not JSON, which None would not."""


def _no_constant(_: str) -> Any:
    message = "NaN and Infinity are not JSON"
    raise ValueError(message)


def _read(text: bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _Unreadable


def _judge(text: bytes, rules: Rules) -> Message | list[Message]:
    if text.lstrip()[:1] == b"[":
        if rules.batches:
            return parse_batch(text, rules)
        readable = _read(text) is not _Unreadable
        return Malformed("an array", _NO_MESSAGE) if readable else Malformed("not JSON", _NOT_JSON)
    value = _read(text)
    if value is _Unreadable:
        return Malformed("not JSON", _NOT_JSON)
    if not isinstance(value, dict):
        return Malformed("not an object", _NO_MESSAGE)
    if "method" in value:
        return _judge_request(value, rules)
    if "result" in value or "error" in value:
        return _judge_answer(value)
    return Malformed("neither a method nor an answer", _NO_MESSAGE)


def _judge_request(value: dict[str, Any], rules: Rules) -> Message:
    id_ = value.get("id", UNSET)
    if id_ is not UNSET and not _is_id(id_) and not (id_ is None and rules.null_ids):
        return Malformed("an id that is none", _NO_MESSAGE)
    answer_to = None if id_ is UNSET else id_
    if value.get("jsonrpc") != "2.0":
        return Malformed("not JSON-RPC 2.0", _NO_MESSAGE, answer_to)
    if not isinstance(value["method"], str):
        return Malformed("a method that is no string", _NO_MESSAGE, answer_to)
    if "result" in value or "error" in value:
        return Malformed("a request and an answer in one", _NO_MESSAGE, answer_to)
    params = _again(value["params"]) if "params" in value else None
    if id_ is UNSET:
        return Notification(value["method"], params)
    return Request(id_, value["method"], params)


def _judge_answer(value: dict[str, Any]) -> Message:
    # Not refused for a missing "jsonrpc": a caller waits, and what is meant is plain.
    id_ = value.get("id")
    if id_ is not None and not _is_id(id_):
        return Malformed("an answer under an id that is none")
    error = value.get("error")
    if error is None and "result" in value:
        # Some peers write both keys, one of them null.
        return Malformed("an answer without an id") if id_ is None else Result(id_, _again(value["result"]))
    if value.get("result") is not None:
        return Malformed("an answer with both a result and an error", id=id_)
    if not isinstance(error, dict):
        return Malformed("an answer whose error is no object", id=id_)
    code, message = error.get("code"), error.get("message", "")
    if type(code) is not int or not isinstance(message, str):
        return Malformed("an answer whose error has no code", id=id_)
    return Failure(id_, ErrorObject(code, message, error.get("data")))


def _is_id(value: Any) -> bool:
    return type(value) is str or (type(value) is int and value in _INT64)


def _again(value: Any) -> bytes:
    # Plain ASCII, so lone surrogates stay escapes.
    return json.dumps(value, separators=(",", ":")).encode()
