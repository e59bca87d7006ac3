"""One pass instead of two, for texts that begin as nearly all do; what the pass refuses takes the long way.

Requests and results are found by a look at their first bytes, updates as `stream` says. No shortcut changes what a
text means: an envelope that is not exactly what it promised to be is refused.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from accord.protocol.codec import decoder_for
from accord.protocol.method import Method, RequestMethod
from accord.protocol.model import Int64

__all__ = [
    "HEAD",
    "REFUSED",
    "typed_message",
    "typed_result",
]

HEAD = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(?:(\d{1,18}),"result"|(?:\d{1,18}|"[^"\\]{0,64}"),"method":"([a-z_/$]{1,64})","params"):'
)
"""The id of a result or the method of a request, whose keys come in the order in which nearly everybody writes them."""

REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the fast decode raises. It does not look at the bytes of strings that it skips: whether they are UTF-8 has to be
asked before."""

# A key of this type may only be absent: whatever stands there, the fast decode refuses the text.
_ABSENT = Literal["nothing is this"] | UnsetType
_VERSION = Literal["2.0"]


@functools.cache
def typed_message(method: Method) -> msgspec.json.Decoder[Any]:
    """Messages of one method, for one pass over the whole text."""
    is_request = isinstance(method, RequestMethod)
    fields: list[Any] = [
        ("jsonrpc", _VERSION),
        ("method", Literal[method.name]),
        ("params", method.params),
        ("id", Int64 | str) if is_request else ("id", _ABSENT, UNSET),
        ("result", _ABSENT, UNSET),
        ("error", _ABSENT, UNSET),
    ]
    return decoder_for(msgspec.defstruct("Typed", fields, kw_only=True, gc=False))


@functools.cache
def typed_result(result: Any) -> msgspec.json.Decoder[Any]:
    """Answers with one type of result, for one pass over the whole text."""
    fields: list[Any] = [
        ("jsonrpc", _VERSION),
        ("id", int),
        ("result", result),
        ("method", _ABSENT, UNSET),
        ("error", _ABSENT, UNSET),
    ]
    return decoder_for(msgspec.defstruct("Typed", fields, kw_only=True, gc=False))
