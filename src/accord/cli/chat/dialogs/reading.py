"""Something long, whole: a diff, what a command printed, what the keys do."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget

from accord.cli.chat.dialogs.frame import Dialog
from accord.cli.chat.diff_view import DiffView
from accord.cli.chat.plain import label
from accord.cli.chat.widgets import Words
from accord.display import SafeText, clip, own

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

    def __init__(self, title: SafeText, view: Widget) -> None:
        super().__init__()
        self._heading = title
        self._view = view

    def compose(self) -> ComposeResult:
        """The view, to be scrolled."""
        with Vertical(classes="dialog--box"):
            yield Words(label((clip(self._heading, 200), "bold")), classes="dialog--title")
            with VerticalScroll():
                yield self._view
            yield Words(own("↑ ↓ PgUp PgDn scroll · Ctrl+T side by side · Esc leaves"), classes="dialog--hint")

    def on_mount(self) -> None:
        """The keys scroll."""
        self.query_one(VerticalScroll).focus()

    def action_lay_out(self) -> None:
        """Diffs inline or side by side."""
        for view in self.query(DiffView):
            view.show_layout("inline" if view.diff_layout == "side" else "side")
