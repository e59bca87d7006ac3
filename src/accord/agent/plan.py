"""What the entries of a plan may say of themselves."""

from __future__ import annotations

from accord.session.event import PlanEntry

__all__ = ["check_entry"]

PLAN_STATUSES = frozenset({"pending", "in_progress", "completed", "cancelled"})
PLAN_PRIORITIES = frozenset({"high", "medium", "low"})


def check_entry(entry: PlanEntry) -> None:
    """See whether a plan's entry has words that clients know.

    Raises:
        ValueError: Its status or its priority is another word, and not one of the author's own (`_name`).
    """
    _check_word(entry.status, PLAN_STATUSES, "status")
    _check_word(entry.priority, PLAN_PRIORITIES, "priority")


def _check_word(word: str, known: frozenset[str], field: str) -> None:
    if word not in known and not word.startswith("_"):
        expected = ", ".join(sorted(known))
        raise ValueError(f"{word!r} is no {field} of a plan's entry: one of {expected}")
