"""How long a check waits for what it waited for in vain before: the whole time again, then hardly at all.

A turn that is stuck once says nothing of the next one, so that gets its full time. An agent whose turns never end is
not waited for hours: what is not waited for any more falls with the rule that was broken first.
"""

from __future__ import annotations

from collections import Counter

__all__ = ["MAX_SILENCES", "Patience"]

MAX_SILENCES = 2
"""How often something is waited for in vain with its full time."""
_SHORT_SECONDS = 0.2


class Patience:
    """Of one check; what is waited for is named by the rule that it breaks if it does not come."""

    def __init__(self) -> None:
        self._silences: Counter[str] = Counter()

    def note(self, rule: str) -> None:
        """It did not come in its full time."""
        if rule:
            self._silences[rule] += 1

    def count(self, rule: str) -> int:
        """How often it did not come."""
        return self._silences[rule]

    def is_over(self, rule: str) -> bool:
        """Whether it is not waited for any more."""
        return self._silences[rule] >= MAX_SILENCES

    def seconds(self, seconds: float, rule: str) -> float:
        """How long to wait."""
        return min(seconds, _SHORT_SECONDS) if self.is_over(rule) else seconds

    @staticmethod
    def reason() -> str:
        """Why something is not waited for."""
        return f"it is not waited for any more, since it did not come {MAX_SILENCES} times before"
