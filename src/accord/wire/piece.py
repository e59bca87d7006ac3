"""Knows the texts that came in one piece, and which of them nobody has taken yet."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from operator import length_hint
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Piece", "is_utf8"]


def is_utf8(text: bytes) -> bool:
    """Whether the bytes of a text are UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class Piece:
    """Texts in their order; whoever takes one takes it from `left`."""

    def __init__(self, texts: list[bytes]) -> None:
        self.texts = texts
        self.left: Iterator[bytes] = iter(texts)

    @property
    def taken(self) -> int:
        """How many were taken."""
        return len(self.texts) - length_hint(self.left)

    @cached_property
    def size_bytes(self) -> int:
        """All of them together."""
        return sum(map(len, self.texts))

    @cached_property
    def is_utf8(self) -> bool:
        """Whether that is true of each of them."""
        if all(map(bytes.isascii, self.texts)):
            return True
        try:
            deque(map(bytes.decode, self.texts), maxlen=0)
        except UnicodeDecodeError:
            return False
        return True
