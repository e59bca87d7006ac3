"""The factor for bounded waits on slow machines: the environment variable `ACCORD_TIME_SCALE`.

Accord waits a bounded time for other programs: two seconds for an agent to leave, one for a command to end. On a
machine that is very slow or very busy these bounds can be too short; the variable, a number from 1 to 1000, multiplies
them. It does not change what a caller sets itself.
"""

from __future__ import annotations

import os

__all__ = ["scaled"]

MAX_FACTOR = 1000.0


def factor_of(text: str) -> float:
    """The factor that a value of the variable asks for; 1 where it is no number from 1 on."""
    try:
        factor = float(text)
    except ValueError:
        return 1.0
    return min(factor, MAX_FACTOR) if factor >= 1.0 else 1.0


_FACTOR = factor_of(os.environ.get("ACCORD_TIME_SCALE", ""))


def scaled(seconds: float) -> float:
    """A default bound multiplied by this machine's factor."""
    return seconds * _FACTOR
