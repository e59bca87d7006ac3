"""One typed pass over a whole text: it takes exactly a request, a notification or a result, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from accord.jsonrpc.fast_decode import (
    HEAD,
    REFUSED,
    is_utf8,
    notification_decoder,
    request_decoder,
    result_decoder,
    shared_head,
)
from tests.tables import rows


class Params(msgspec.Struct):
    """Params or a result, in no edition's words."""

    n: int


def make(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


REQUEST = b'{"jsonrpc":"2.0","id":7,"method":"a/b","params":{"n":1}}'
NOTIFICATION = b'{"jsonrpc":"2.0","method":"a/b","params":{"n":1}}'
RESULT = b'{"jsonrpc":"2.0","id":7,"result":{"n":1}}'


def test_a_request_is_decoded_with_its_id() -> None:
    decode = request_decoder("a/b", Params, make)
    assert (decode(REQUEST).id, decode(REQUEST).params) == (7, Params(1))
    assert decode(REQUEST.replace(b"7", b'"seven"')).id == "seven"
    assert request_decoder("a/b", Params, make) is decode, "a decoder is made once"


def test_a_notification_and_a_result_are_decoded() -> None:
    assert notification_decoder("a/b", Params, make)(NOTIFICATION).params == Params(1)
    assert result_decoder(Params, make)(RESULT).result == Params(1)


@rows(
    "text",
    [
        NOTIFICATION,
        REQUEST.replace(b'"2.0"', b'"2"'),
        REQUEST.replace(b"7", b"1.5"),
        REQUEST.replace(b"7", b"null"),
        REQUEST.replace(b"7", b"99999999999999999999"),
        REQUEST.replace(b"a/b", b"a/c"),
        REQUEST.replace(b'{"n":1}', b'{"n":"1"}'),
        REQUEST.replace(b'{"n":1}', b"[" * 100_000),
        REQUEST[:-1] + b',"result":{}}',
        REQUEST[:-1] + b',"error":null}',
        REQUEST[:-1] + b',"method":"a/c"}',
        REQUEST[:-1],
    ],
)
def test_what_is_not_exactly_a_request_of_the_method_is_refused(text: bytes) -> None:
    with pytest.raises(REFUSED):
        request_decoder("a/b", Params, make)(text)


@rows("text", [REQUEST, NOTIFICATION[:-1] + b',"id":null}', NOTIFICATION[:-1] + b',"result":1}'])
def test_a_notification_has_no_id_and_is_no_answer(text: bytes) -> None:
    with pytest.raises(REFUSED):
        notification_decoder("a/b", Params, make)(text)


@rows("text", [RESULT[:-1] + b',"error":{}}', RESULT[:-1] + b',"method":"a/b"}'])
def test_a_result_is_nothing_else_beside_it(text: bytes) -> None:
    with pytest.raises(REFUSED):
        result_decoder(Params, make)(text)


def test_a_head_tells_a_result_from_a_request_and_nothing_else() -> None:
    result, request = HEAD.match(RESULT), HEAD.match(REQUEST)
    assert result is not None
    assert request is not None
    assert (result[1], request[2]) == (b"7", b"a/b")
    others = [NOTIFICATION, b" " + RESULT, RESULT.replace(b"7", b"-7"), RESULT.replace(b"7", b'"7"'), b"[" + REQUEST]
    assert [HEAD.match(other) for other in others] == [None] * len(others)


def test_notifications_share_what_stands_before_their_params() -> None:
    head = shared_head(NOTIFICATION, "a/b")
    assert head == b'{"jsonrpc":"2.0","method":"a/b"'


@rows(
    "text",
    [
        b'{"params":{"n":1},"method":"a/b","jsonrpc":"2.0"}',
        b'{"id":1,"method":"a/b"}',
        b'{"x":"%s","method":"a/b"}' % (b"x" * 200),
        b'{"method":"a\\/b"}',
    ],
)
def test_what_varies_before_the_method_is_no_shared_head(text: bytes) -> None:
    assert shared_head(text, "a/b") is None


@rows(
    ("text", "expected"), [(b"", True), (b"a", True), ("ü".encode(), True), (b"\xff", False), (b"\xed\xa0\x80", False)]
)
def test_utf8_is_what_python_decodes(text: bytes, expected: bool) -> None:  # noqa: FBT001
    assert is_utf8(text) is expected
