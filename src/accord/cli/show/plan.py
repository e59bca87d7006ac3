"""A plan as lines: one where it fits, otherwise a line for each step."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.show.line import Line, Span, line_of, width
from accord.cli.show.safe import safe_line
from accord.session.event import PlanEntry

__all__ = ["plan_lines"]

MARKS = {"completed": "✓", "cancelled": "\N{MULTIPLICATION SIGN}"}


def plan_lines(entries: Sequence[PlanEntry], columns: int) -> list[Line]:
    """The lines."""
    steps = [f"{MARKS.get(entry.status, '▸')} {safe_line(entry.content)}" for entry in entries]
    head = line_of("  ", Span("plan ", "cyan"))
    if not steps:
        return [[*head, Span(" none", "dim")]]
    one = " " + "  ".join(steps)
    if width(one) + 7 <= columns:
        return [[*head, Span(one)]]
    return [head, *(line_of(f"    {step}") for step in steps)]
