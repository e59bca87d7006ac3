"""Texts for these tests: JSON of every kind, messages that are fine, and messages with something broken in them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import strategies as st

from accord.jsonrpc.message import Notification, ParsedMessage, Request, Result
from accord.protocol.edition import V1, V2, V2_JUNE

RULES = {"v1": V1.rules, "v2": V2.rules, "june": V2_JUNE.rules}

# Lone surrogates included: JavaScript peers make them.
strings = st.text(st.characters(), max_size=8)
whole_strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ids = st.integers(-(2**63), 2**63 - 1) | strings
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=8,
)

_KEYS = ("jsonrpc", "id", "method", "params", "result", "error", "code", "x")
_WORDS: st.SearchStrategy[Any] = st.sampled_from(
    ["2.0", "1.0", "session/prompt", "$/cancel_request", 0, 1, -1, 1.0, True, None, "1", 2**63, []]
)
# Objects with the keys of JSON-RPC and nearly fitting values under them.
near_messages: st.SearchStrategy[Any] = st.dictionaries(
    st.sampled_from(_KEYS),
    _WORDS | json_values | st.fixed_dictionaries({"code": _WORDS, "message": _WORDS}),
    max_size=6,
)

VALID = [
    b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"\\u00e9"}]}}',
    b'{"jsonrpc":"2.0","id":"a-1","method":"x"}',
    b'{"jsonrpc":"2.0","id":null,"method":"x","params":[]}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"a":[1,2.5,-3e4,true,null]}}',
    b'{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"}}',
    b'{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid params","data":{"field":"cwd"}}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","method":"y"},{"jsonrpc":"2.0","id":0,"result":{}}]',
    '{"jsonrpc":"2.0","id":"é","method":"ü","params":["日本", "😀"]}'.encode(),
]


@st.composite
def broken_texts(draw: st.DrawFn) -> bytes:
    """A valid text with a few bytes cut out, doubled, or replaced."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 6)))
        middle = draw(
            st.binary(max_size=3) | st.sampled_from([b"", b'"', b"{", b"]", b",", b"\\u", b"NaN", text[start:end] * 2])
        )
        text = text[:start] + middle + text[end:]
    return text


def dump(value: Any) -> bytes:
    """Plain ASCII, lone surrogates as escapes."""
    return json.dumps(value, separators=(",", ":")).encode()


def read(message: Any) -> Any:
    """A message, or the messages of a batch, whose params and result are read, so that two of them can be compared."""
    if isinstance(message, list):
        return [read(entry) for entry in message]
    if isinstance(message, Request | Notification) and message.params is not None:
        return msgspec.structs.replace(message, params=json.loads(bytes(message.params)))
    if isinstance(message, Result):
        return msgspec.structs.replace(message, result=json.loads(bytes(message.result)))
    return message


def messages_of(parsed: ParsedMessage | list[ParsedMessage]) -> list[ParsedMessage]:
    return parsed if isinstance(parsed, list) else [parsed]
