"""The time of one operation that is far shorter than a clock's resolution."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["microseconds"]

_AT_LEAST_SECONDS = 0.02


def microseconds(operation: Callable[[], object]) -> float:
    """Per operation, repeated for a fiftieth of a second."""
    count = 1
    while True:
        began = time.perf_counter()
        for _ in range(count):
            operation()
        passed = time.perf_counter() - began
        if passed >= _AT_LEAST_SECONDS:
            return passed / count * 1e6
        count = max(2 * count, int(count * _AT_LEAST_SECONDS / max(passed, 1e-6)))
