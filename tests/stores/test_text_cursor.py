"""A cursor is what the list has given, and nothing else."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, strategies as st

from accord.errors import StoreError
from accord.stores.text import decode_cursor, encode_cursor
from tests.tables import rows


@given(st.floats(allow_nan=False), st.text(st.characters()))
def test_a_cursor_is_read_back(updated_at: float, session_id: str) -> None:
    assert decode_cursor(encode_cursor(updated_at, session_id)) == (updated_at, session_id)


def said(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@rows(
    "cursor",
    [
        "",
        "nonsense",
        "é",
        "\ud800",
        said("{}"),
        said("3"),
        said("[1.0]"),
        said('[1.0,"a"]'),
        said('[1.0, "a", 2]'),
        said("[1.0, 2]"),
        said('[1, "a"]'),
        said('["1", "a"]'),
        said("[null, null]"),
        said("[" * 100_000),
        said('[1.0, "a"]') + "\n",
        said('[1.0, "a"]').rstrip("="),
    ],
)
def test_anything_else_is_refused(cursor: str) -> None:
    with pytest.raises(StoreError) as caught:
        decode_cursor(cursor)
    assert caught.value.reason == "bad_cursor"


@given(st.text())
def test_no_text_makes_it_fail_otherwise(cursor: str) -> None:
    with pytest.raises(StoreError):
        decode_cursor(cursor)
