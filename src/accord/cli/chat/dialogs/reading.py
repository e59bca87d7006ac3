"""Something long, whole: a diff, what a command printed, what the keys do."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from accord.cli.chat.dialogs.frame import Dialog
from accord.cli.chat.diff_view import DiffView
from accord.cli.chat.plain import label, one_line

__all__ = ["ReadingDialog"]


class ReadingDialog(Dialog[None]):
    """One view with all the room there is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,enter", "leave", show=False),
        Binding("ctrl+t", "lay_out", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    ReadingDialog > .dialog--box { width: 96%; max-width: 200; height: 95%; }
    """

    def __init__(self, title: str, view: Widget) -> None:
        super().__init__()
        self._heading = title
        self._view = view

    def compose(self) -> ComposeResult:
        """The view, to be scrolled."""
        with Vertical(classes="dialog--box"):
            yield Static(label((one_line(self._heading), "bold")), markup=False, classes="dialog--title")
            with VerticalScroll():
                yield self._view
            yield Static(
                "↑ ↓ PgUp PgDn scroll · Ctrl+T side by side · Esc leaves", classes="dialog--hint", markup=False
            )

    def on_mount(self) -> None:
        """The keys scroll."""
        self.query_one(VerticalScroll).focus()

    def action_lay_out(self) -> None:
        """Diffs inline or side by side."""
        for view in self.query(DiffView):
            view.show_layout("inline" if view.diff_layout == "side" else "side")
