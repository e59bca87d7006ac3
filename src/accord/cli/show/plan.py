"""A plan as lines: one where it fits, otherwise a line for each step."""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.show.line import Line, Span, line_of, width
from accord.display import filled, joined, own, prose_line
from accord.session.event import PlanEntry

__all__ = ["plan_lines"]

MARKS = {"completed": own("✓"), "cancelled": own("\N{MULTIPLICATION SIGN}")}
OPEN = own("▸")


def plan_lines(entries: Sequence[PlanEntry], columns: int) -> list[Line]:
    """The lines."""
    steps = [filled("{} {}", MARKS.get(entry.status, OPEN), prose_line(entry.content)) for entry in entries]
    head = line_of(own("  "), Span(own("plan "), "cyan"))
    if not steps:
        return [[*head, Span(own(" none"), "dim")]]
    one = filled(" {}", joined(steps, own("  ")))
    if width(one) + 7 <= columns:
        return [[*head, Span(one)]]
    return [head, *(line_of(own("    "), step) for step in steps)]
