"""Knows the lines of one turn of the loop, which leave together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["SLICE_BYTES", "Burst"]

# A sender gives the loop a turn after this much, so that one that never has to wait still notices its
# cancellation.
SLICE_BYTES = 64 * 1024


class Burst:
    """What is about to leave and may still grow.

    Whoever finds `lines` there, shorter than `SLICE_BYTES`, and nobody `waiting`, may append one whole text and its
    newline: it is sent. Everybody else has to `send`. Two attributes and no method, because they are looked at for
    each update of a stream.
    """

    __slots__ = ("lines", "waiting")

    def __init__(self, waiting: Collection[object] = ()) -> None:
        self.lines: bytearray | None = None
        self.waiting = waiting
        """The senders for whom there was no room."""
