"""The memory that the records of one check may take: estimated before a line is parsed, per start and in total."""

from __future__ import annotations

__all__ = ["MAX_START_BYTES", "MAX_TOTAL_BYTES", "Allowance", "Budget", "cost_of"]

MAX_START_BYTES = 40 * 1024 * 1024
"""For one start of a program. A start that is judged in full was seen to take less than a tenth of it."""
MAX_TOTAL_BYTES = 100 * 1024 * 1024
"""For all starts of one check."""

# A parsed container or member takes up to this much; measured with CPython 3.11 to 3.14 on session updates.
_VALUE_BYTES = 130
_LINE_BYTES = 300
_LEAST_BYTES = 4 * 1024 * 1024


def cost_of(line: bytes) -> int:
    """What a line takes when it is kept, raw and parsed; an upper estimate that needs no parsing."""
    return _LINE_BYTES + 2 * len(line) + _VALUE_BYTES * (line.count(b"{") + line.count(b"[") + line.count(b","))


class Budget:
    """What is left for all starts."""

    def __init__(self, total_bytes: int = MAX_TOTAL_BYTES, start_bytes: int = MAX_START_BYTES) -> None:
        self.left = total_bytes
        self._start_bytes = start_bytes

    @property
    def is_spent(self) -> bool:
        """Whether another start could keep next to nothing."""
        return self.left < _LEAST_BYTES

    def start(self) -> Allowance:
        """The part of one start."""
        return Allowance(self, self._start_bytes)


class Allowance:
    """What is left for one start."""

    def __init__(self, budget: Budget, left: int) -> None:
        self._budget = budget
        self._left = left

    def has(self, cost: int) -> bool:
        """Whether something can still be kept."""
        return cost <= min(self._left, self._budget.left)

    def spend(self, cost: int) -> None:
        """Something is kept."""
        self._left -= cost
        self._budget.left -= cost

    def spend_all(self) -> None:
        """Nothing more is kept of this start."""
        self._left = 0
