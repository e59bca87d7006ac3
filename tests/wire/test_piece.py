"""The texts of one piece: taken one by one or many at once, and what is left is always known."""

from __future__ import annotations

import pytest

from accord.wire.piece import Piece, is_utf8


def test_what_was_taken_is_counted_however_it_was_taken() -> None:
    piece = Piece([b"a", b"bc", b"d"])
    assert piece.taken == 0
    assert next(piece.left) == b"a"
    assert piece.taken == 1
    assert list(map(len, piece.left)) == [2, 1]
    assert piece.taken == 3
    assert next(piece.left, None) is None
    assert piece.size_bytes == 4


@pytest.mark.parametrize("texts", [[], [b"a", b"b"], [b"a", "ü".encode()]], ids=["nothing", "ascii", "umlaut"])
def test_a_piece_is_utf8_if_each_of_its_texts_is(texts: list[bytes]) -> None:
    assert Piece(texts).is_utf8
    assert all(map(is_utf8, texts))


@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\x80"], ids=["no character", "surrogate"])
def test_a_piece_is_not_utf8_if_one_of_its_texts_is_not(bad: bytes) -> None:
    assert not Piece([b"a", bad, b"b"]).is_utf8
    assert not is_utf8(bad)
