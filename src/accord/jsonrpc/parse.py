"""The parser: one text to one message, or to the messages of a batch; never raises on input.

A clean text takes one quick pass that leaves params and results undecoded. A text that it refuses is read again with
`json`, slowly, to find the fault; `json` also accepts lone surrogates, which msgspec refuses.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeGuard

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.fast_decode import is_utf8
from accord.jsonrpc.message import (
    ErrorObject,
    Failure,
    Malformed,
    MessageRules,
    Notification,
    ParsedMessage,
    Request,
    RequestId,
    Result,
    named_id,
)

__all__ = ["MAX_BATCH_ENTRIES", "parse"]

MAX_BATCH_ENTRIES = 10_000
"""A batch with more entries gets one error."""

_INT64 = range(-(2**63), 2**63)

_NOT_JSON = ErrorObject(-32700, "Parse error")
_NO_MESSAGE = ErrorObject(-32600, "Invalid request")
_TOO_MANY = ErrorObject(-32600, f"A batch has {MAX_BATCH_ENTRIES} messages at most: send several")


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: str
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_envelope = msgspec.json.Decoder(_Envelope)
_entries = msgspec.json.Decoder(list[Raw])


def parse(text: bytes, rules: MessageRules) -> ParsedMessage | list[ParsedMessage]:
    """The message of a text; a list for a batch where the rules allow one and it is not too long."""
    if not is_utf8(text):
        return Malformed("not UTF-8", _NOT_JSON)
    message = _parse_quickly(text)
    return _judge(text, rules) if message is None else message


def _parse_quickly(text: bytes) -> ParsedMessage | None:
    """The message, where nothing is wrong with it and no edition sees it differently."""
    try:
        envelope = _envelope.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    method, id_ = envelope.method, envelope.id
    if envelope.error is not UNSET:
        return None
    if method is UNSET:
        return Result(id_, envelope.result) if envelope.result is not UNSET and _is_id(id_) else None
    if envelope.result is not UNSET or envelope.jsonrpc != "2.0":
        return None
    params = None if envelope.params is UNSET else envelope.params
    if id_ is UNSET:
        return Notification(method, params)
    return Request(id_, method, params) if _is_id(id_) else None


# --- texts that the quick pass refuses


class _Unreadable:
    """The value of a text that is not JSON; None would be the JSON value null."""


class _TooDeep(_Unreadable):
    """The value of a text that is nested more deeply than Python reads."""


def _read(text: bytes) -> Any:
    try:
        # Decoded here: `json` would also take UTF-16 and UTF-32 for JSON.
        return json.loads(text.decode("utf-8-sig"), parse_constant=_no_constant, parse_int=_integer)
    except ValueError:
        return _Unreadable
    except RecursionError:
        return _TooDeep


def _no_constant(_: str) -> Any:
    message = "NaN and Infinity are not JSON"
    raise ValueError(message)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return math.inf  # an integer with more digits than Python converts; it is valid JSON


def _judge(text: bytes, rules: MessageRules) -> ParsedMessage | list[ParsedMessage]:
    value = _read(text)
    if not rules.batches or not isinstance(value, list) or not value:
        return _judge_value(value, rules)
    if len(value) > MAX_BATCH_ENTRIES:
        # Nothing in it is done: an entry of two bytes takes an answer of eighty, and all of them are one text.
        return Malformed("a batch of too many entries", _TOO_MANY)
    try:
        entries = _entries.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [_judge_value(entry, rules) for entry in value]
    return [_parse_quickly(raw) or _judge_value(entry, rules) for raw, entry in zip(entries, value, strict=True)]


def _judge_value(value: Any, rules: MessageRules) -> ParsedMessage:
    if value is _Unreadable:
        return Malformed("not JSON", _NOT_JSON)
    if value is _TooDeep:
        return Malformed("nested too deeply", _NOT_JSON)
    if isinstance(value, list):
        return Malformed("an array", _NO_MESSAGE)
    if not isinstance(value, dict):
        return Malformed("not an object", _NO_MESSAGE)
    if "method" in value:
        return _judge_request(value, rules)
    if "id" in value or "result" in value or "error" in value:
        return _judge_answer(value)
    return Malformed("neither a method nor an answer", _NO_MESSAGE)


def _judge_request(value: dict[str, Any], rules: MessageRules) -> ParsedMessage:
    id_ = value.get("id", UNSET)
    if id_ is not UNSET and not _is_id(id_) and not (id_ is None and rules.null_ids):
        return Malformed("an invalid id", _NO_MESSAGE)
    answer_to = None if id_ is UNSET else id_
    if value.get("jsonrpc") != "2.0":
        return Malformed("not JSON-RPC 2.0", _NO_MESSAGE, answer_to)
    if not isinstance(value["method"], str):
        return Malformed("a method that is no string", _NO_MESSAGE, answer_to)
    if "result" in value or "error" in value:
        return Malformed("a request and an answer in one", _NO_MESSAGE, answer_to)
    params = _again(value["params"]) if "params" in value else None
    if params is _Unreadable:
        # A notification is not answered, not even with an error about its params.
        return Malformed("params that cannot be kept", None if id_ is UNSET else _NO_MESSAGE, answer_to)
    return Notification(value["method"], params) if id_ is UNSET else Request(id_, value["method"], params)


def _judge_answer(value: dict[str, Any]) -> ParsedMessage:
    # Accepted without "jsonrpc": a call waits for it, and it can mean nothing else.
    id_, error = named_id(value.get("id")), value.get("error")
    if id_ is not None and not _is_id(id_):
        return Malformed("an answer under an invalid id")
    # Some peers write both keys, one of them null.
    if error is None:
        return _judge_result(id_, value)
    if value.get("result") is not None:
        return Malformed("an answer with both a result and an error", id=id_)
    if not isinstance(error, dict):
        return Malformed("an answer whose error is no object", id=id_)
    code, message = error.get("code"), error.get("message", "")
    if type(code) is not int or not isinstance(message, str):
        return Malformed("an answer whose error has no code", id=id_)
    return Failure(id_, ErrorObject(code, message, error.get("data")))


def _judge_result(id_: RequestId, value: dict[str, Any]) -> ParsedMessage:
    if "result" not in value:
        return Malformed("an answer with neither a result nor an error", id=id_)
    if id_ is None:
        return Malformed("an answer without an id")
    result = _again(value["result"])
    return Malformed("a result that cannot be kept", id=id_) if result is _Unreadable else Result(id_, result)


def _is_id(value: object) -> TypeGuard[int | str]:
    return type(value) is str or (type(value) is int and value in _INT64)


def _again(value: Any) -> Any:
    try:
        # Plain ASCII, so lone surrogates stay escapes.
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, RecursionError):
        return _Unreadable  # a number beyond all floats, or nested more deeply than it can be written
