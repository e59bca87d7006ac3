"""The plan on the screen: a panel beside the conversation, or one line above the prompt where there is no room."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from accord.cli.chat.plain import BREAK, MUTED, label
from accord.cli.chat.widgets import Words
from accord.display import EMPTY, exact, filled, joined, own, prose_line
from accord.session.entry import Plan
from accord.session.event import PlanEntry

__all__ = ["PlanLine", "PlanPanel"]

MARKS = {
    "pending": (own("○"), ""),
    "in_progress": (own("▸"), "bold $warning"),
    "completed": (own("✓"), MUTED),
    "cancelled": (own("⊘"), f"{MUTED} strike"),
}


class PlanPanel(Words):
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
                lines.append(label((exact(plan.id, 200), "underline")))
            lines += [_step(entry) for entry in plan.entries]
        self.update(BREAK.join(lines))


class PlanLine(Words):
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
        step = [] if now is None else [(own("▸ "), "$warning"), (prose_line(now.content, 200), "")]
        self.update(label((filled("plan {}/{}  ", done, len(entries)), MUTED), *step))


def _step(entry: PlanEntry) -> Content:
    mark, style = MARKS.get(entry.status, (own("◌"), ""))
    words = prose_line(entry.content, 400)
    odd = EMPTY if entry.status in MARKS else filled(" ({})", exact(entry.status, 40))
    urgent = own(" !") if entry.priority == "high" and entry.status not in {"completed", "cancelled"} else EMPTY
    return label((filled("{} ", mark), style), (joined([words, odd]), style), (urgent, "bold $error"))
