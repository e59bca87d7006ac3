"""Knows the lines of one turn of the loop, which leave together, and who may add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["FAVOUR_BYTES", "SLICE_BYTES", "Burst"]

# A sender gives the loop a turn after this much, so that one that never has to wait still notices its
# cancellation.
SLICE_BYTES = 64 * 1024

# How much a sender that had to wait may say before it has to wait again behind the others.
FAVOUR_BYTES = 16 * 1024


class Burst:
    """What is about to leave and may still grow.

    Whoever finds `lines` there, shorter than `SLICE_BYTES`, and nobody `waiting` or itself favoured, may append one
    whole text and its newline: it is sent. Everybody else has to `send`. Attributes more than methods, because they are
    looked at for each update of a stream.
    """

    __slots__ = ("_favoured", "_who_runs", "favour_bytes", "lines", "waiting")

    def __init__(self, waiting: Collection[object] = (), who_runs: Callable[[], object] = lambda: None) -> None:
        self._who_runs = who_runs
        self._favoured: object = None
        self.favour_bytes = 0
        """How much the favoured sender may still say; whoever appends as such takes it off."""
        self.lines: bytearray | None = None
        self.waiting = waiting
        """The senders for whom there was no room."""

    def favour(self) -> None:
        """Let the sender that runs, and has waited, say a little more before the next.

        Otherwise many senders would have to wait once for each of their texts.
        """
        self._favoured, self.favour_bytes = self._who_runs(), FAVOUR_BYTES

    def goes_on(self) -> bool:
        """Whether the sender that runs is the one that has waited last, and has not said much since."""
        return self.favour_bytes > 0 and self._favoured is self._who_runs()
