"""Serializing: the exact texts, and what cannot be written."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given

from accord.jsonrpc.message import ErrorObject, RequestId
from accord.jsonrpc.serialize import (
    TAIL,
    array_text,
    error_text,
    notification_head,
    request_head,
    result_head,
    serialize_id,
)
from tests.jsonrpc.texts import ids
from tests.tables import rows


@rows(
    ("id_", "text"),
    [
        (0, b"0"),
        (-1, b"-1"),
        (2**63 - 1, b"9223372036854775807"),
        ("1", b'"1"'),
        ("", b'""'),
        (None, b"null"),
        ('a"\\\n', rb'"a\"\\\n"'),
        ("\ud83d", b'"\\ud83d"'),
    ],
)
def test_an_id_is_written_as_it_was_read(id_: RequestId, text: bytes) -> None:
    assert serialize_id(id_) == text


@given(id_=ids)
def test_every_id_keeps_its_type_and_value(id_: int | str) -> None:
    again = json.loads(serialize_id(id_))

    assert (again, type(again)) == (id_, type(id_))


def test_a_request_is_a_head_its_params_and_a_tail() -> None:
    assert request_head(7, "session/new") + b"{}" + TAIL == (
        b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":{}}'
    )


def test_a_notification_is_a_head_its_params_and_a_tail() -> None:
    assert notification_head("session/cancel") + b"{}" + TAIL == (
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{}}'
    )


def test_an_answer_is_a_head_its_result_and_a_tail() -> None:
    assert result_head("a") + b"null" + TAIL == b'{"jsonrpc":"2.0","id":"a","result":null}'


def test_an_error_without_data_has_no_data_key() -> None:
    assert error_text(None, ErrorObject(-32700, "Parse error")) == (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    )


def test_an_error_with_data_carries_it() -> None:
    assert error_text(1, ErrorObject(-32601, "Method not found", {"method": "_x"})) == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":{"method":"_x"}}}'
    )


@rows("data", [False, 0, "", [], {}])
def test_data_that_is_empty_is_data(data: Any) -> None:
    assert json.loads(error_text(1, ErrorObject(1, "m", data)))["error"]["data"] == data


def test_a_lone_surrogate_in_an_error_is_escaped() -> None:
    text = error_text(1, ErrorObject(1, "cut \ud83d", ["\ude00"]))

    assert text.isascii()
    assert json.loads(text)["error"] == {"code": 1, "message": "cut \ud83d", "data": ["\ude00"]}


@rows("data", [object(), {"a": {1: object()}}, ["\ud83d", object()], ["\ud83d", math.nan]])
def test_data_that_json_has_no_words_for_is_refused(data: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        error_text(1, ErrorObject(1, "m", data))


@rows("text", [request_head(1, "a\nb"), notification_head("a\nb"), result_head("a\nb")])
def test_no_text_holds_a_raw_newline(text: bytes) -> None:
    assert b"\n" not in text


def test_the_answers_of_a_batch_are_one_array() -> None:
    assert array_text([b'{"id":1}', b'{"id":2}']) == b'[{"id":1},{"id":2}]'
