"""The fast decode: envelope and params of a whole message in one typed pass, for texts with the usual beginning.

`parse` reads the envelope and leaves the params as JSON for a second pass. One typed pass over both costs a third of
that (`benchmarks/run --codec`, the columns "accord" and "msgspec"). No shortcut changes what a text means: an envelope
that is not exactly what it promised to be is refused, and then `parse` reads it.

The caller says what params and results look like: by a type, and by `make`, which makes a decoder of a type.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

__all__ = [
    "HEAD",
    "REFUSED",
    "Decode",
    "is_utf8",
    "notification_decoder",
    "request_decoder",
    "result_decoder",
    "shared_head",
]

HEAD = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(?:(\d{1,18}),"result"|(?:\d{1,18}|"[^"\\]{0,64}"),"method":"([a-z_/$]{1,64})","params"):'
)
"""Matches the id of a result or the method of a request whose keys come in the usual order."""

REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions of a fast decode. It does not look at the bytes of strings that it skips: ask `is_utf8` first."""

Decode: TypeAlias = Callable[[bytes], Any]
"""Decodes a whole text; the envelope that it gives has `id` and `params`, or `id` and `result`."""
MakeDecoder: TypeAlias = Callable[[Any], "msgspec.json.Decoder[Any]"]

# A key of this type must be absent: with any value there, the fast decode refuses the text.
_ABSENT = Literal["nothing is this"] | UnsetType
_VERSION = Literal["2.0"]
_ID = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | str

# Longer prefixes differ between notifications of one method.
_HEAD_BYTES = 128


def is_utf8(text: bytes) -> bool:
    """Whether the bytes of a text are UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@functools.cache
def request_decoder(method: str, params: Any, make: MakeDecoder) -> Decode:
    return _message_decoder(method, params, make, ("id", _ID))


@functools.cache
def notification_decoder(method: str, params: Any, make: MakeDecoder) -> Decode:
    return _message_decoder(method, params, make, ("id", _ABSENT, UNSET))


def _message_decoder(method: str, params: Any, make: MakeDecoder, id_: tuple[Any, ...]) -> Decode:
    fields: list[Any] = [
        ("jsonrpc", _VERSION),
        ("method", Literal[method]),
        ("params", params),
        id_,
        ("result", _ABSENT, UNSET),
        ("error", _ABSENT, UNSET),
    ]
    return make(msgspec.defstruct("Typed", fields, kw_only=True, gc=False)).decode


@functools.cache
def result_decoder(result: Any, make: MakeDecoder) -> Decode:
    fields: list[Any] = [
        ("jsonrpc", _VERSION),
        ("id", int),
        ("result", result),
        ("method", _ABSENT, UNSET),
        ("error", _ABSENT, UNSET),
    ]
    return make(msgspec.defstruct("Typed", fields, kw_only=True, gc=False)).decode


def shared_head(text: bytes, method: str) -> bytes | None:
    """The common prefix of this peer's notifications of a method, if the method comes before everything that varies."""
    name = b'"%s"' % method.encode()
    end = text.find(name) + len(name)
    head = text[:end]
    if len(name) <= end <= _HEAD_BYTES and b'"params"' not in head and b'"id"' not in head:
        return head
    return None
