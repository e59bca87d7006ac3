"""Knows how the end of a process is told: a code, or a signal by its name."""

from __future__ import annotations

import signal
from typing import NamedTuple

__all__ = ["Exit", "exit_of"]


class Exit(NamedTuple):
    """How a process ended. Both are None where the system could not say."""

    code: int | None
    signal: str | None


def exit_of(status: int | None) -> Exit:
    """The end that a status means; a negative one is a signal, as in `subprocess`."""
    if status is None:
        return Exit(None, None)
    if status >= 0:
        return Exit(status, None)
    try:
        return Exit(None, signal.Signals(-status).name)
    except ValueError:
        # The real-time signals between the first and the last have no names.
        return Exit(None, f"SIG{-status}")
