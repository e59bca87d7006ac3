"""The plan on the screen: a panel beside the conversation, or one line above the prompt where there is no room."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widgets import Static

from accord.cli.chat.plain import MUTED, label, one_line
from accord.session.entry import Plan
from accord.session.event import PlanEntry

__all__ = ["PlanLine", "PlanPanel"]

MARKS = {
    "pending": ("○", ""),
    "in_progress": ("▸", "bold $warning"),
    "completed": ("✓", MUTED),
    "cancelled": ("⊘", f"{MUTED} strike"),
}


class PlanPanel(Static):
    """All steps."""

    DEFAULT_CSS = """
    PlanPanel { width: 1fr; height: auto; padding: 0 1; }
    """

    def follow(self, plans: Iterable[Plan]) -> None:
        """Show the plans as they are now."""
        shown = [plan for plan in plans if plan.entries]
        lines: list[Content] = []
        for plan in shown:
            if len(shown) > 1:
                lines.append(label((one_line(plan.id), "underline")))
            lines += [_step(entry) for entry in plan.entries]
        self.update(Content("\n").join(lines))


class PlanLine(Static):
    """How far it is, and what is done now."""

    DEFAULT_CSS = """
    PlanLine { width: 1fr; height: 1; padding: 0 1; color: $text; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def follow(self, plans: Iterable[Plan]) -> None:
        """Show the plans as they are now."""
        entries = [entry for plan in plans for entry in plan.entries]
        done = sum(entry.status == "completed" for entry in entries)
        now = next((entry for entry in entries if entry.status == "in_progress"), None)
        now = now or next((entry for entry in entries if entry.status == "pending"), None)
        step = [] if now is None else [("▸ ", "$warning"), (one_line(now.content), "")]
        self.update(label((f"plan {done}/{len(entries)}  ", MUTED), *step))


def _step(entry: PlanEntry) -> Content:
    mark, style = MARKS.get(entry.status, ("◌", ""))
    words = one_line(entry.content, 400)
    odd = "" if entry.status in MARKS else f" ({one_line(entry.status, 40)})"
    urgent = " !" if entry.priority == "high" and entry.status not in {"completed", "cancelled"} else ""
    return label((f"{mark} ", style), (words + odd, style), (urgent, "bold $error"))
