"""The progress of an evaluation, as one line that is written again and again."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["ProgressBar"]

_WIDTH = 30


class ProgressBar:
    """A bar with counts and the time that is left, for `evaluate(progress=…)`; on stderr unless a stream is given."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._begun = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: int, total: int, failed: int) -> None:
        """Show the numbers; called before the first and after each result."""
        if self._first is None:
            self._first = done
        filled = _WIDTH * done // max(total, 1)
        left = ""
        if done > self._first and done < total:
            seconds = (time.monotonic() - self._begun) / (done - self._first) * (total - done)
            left = f", about {seconds:.0f} s left"
        bar = "█" * filled + "·" * (_WIDTH - filled)
        self._stream.write(f"\r{bar} {done}/{total}, {failed} failed{left}\033[K" + ("\n" if done == total else ""))
        self._stream.flush()
