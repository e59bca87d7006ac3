"""The box that all dialogs share, and the dialog for long texts: a diff, what a command printed, the keys."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget

from accord.cli.chat.lines import DiffView, Lines
from accord.cli.chat.widgets import StaticText, label, styled
from accord.display import SafeText, clip, exact, filled, own

__all__ = ["Dialog", "ReadingDialog", "help_view"]

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A box. Escape leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave")]
    DEFAULT_CSS = """
    Dialog { align: center middle; background: $background 60%; }
    Dialog > .dialog--box {
        width: 90%; max-width: 120; height: auto; max-height: 95%; border: round $primary; background: $surface;
        padding: 0 1;
    }
    Dialog .dialog--title { text-style: bold; width: 1fr; }
    Dialog .dialog--hint { color: $text-muted; width: 1fr; height: auto; }
    Dialog OptionList { border: none; padding: 0; background: $surface; }
    """

    is_retired = False

    def action_leave(self) -> None:
        self.dismiss(None)

    def retire(self) -> None:
        """It is not needed any more: away with it, now or as soon as it is on top."""
        self.is_retired = True
        if self.is_current:
            self.dismiss(None)

    def on_screen_resume(self) -> None:
        """Back on top, and perhaps too late."""
        if self.is_retired:
            self.dismiss(None)


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
            yield StaticText(label((clip(self._heading, 200), "bold")), classes="dialog--title")
            with VerticalScroll():
                yield self._view
            yield StaticText(own("↑ ↓ PgUp PgDn scroll · Ctrl+T side by side · Esc leaves"), classes="dialog--hint")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_lay_out(self) -> None:
        """Diffs inline or side by side."""
        for view in self.query(DiffView):
            view.show_layout("inline" if view.diff_layout == "side" else "side")


_KEYS = (
    ("Enter", "send; while the agent works, it waits for its turn"),
    ("Ctrl+J", "a new line (also Alt+Enter)"),
    ("Esc, Ctrl+C", "cancel; what waits comes back into the prompt"),
    ("Ctrl+C twice, Ctrl+Q", "leave"),
    ("/", "the agent's commands; Tab completes"),
    ("@", "files, sent along; also a pasted path of a picture"),
    ("Up, Down", "what you said before"),
    ("PgUp, PgDn", "scroll the conversation"),
    ("Tab", "to its parts: Enter unfolds one, Esc comes back"),
    ("Ctrl+G", "unfold everything, or fold it"),
    ("Ctrl+T", "diffs side by side if there is room, or inline"),
    ("Ctrl+L", "the whole plan, or one line of it"),
    ("Ctrl+O", "options: model, mode, and others"),
    ("Shift+Tab", "the next mode"),
    ("Ctrl+R", "sessions of this directory"),
    ("Ctrl+N", "a new session"),
    ("y a n x, 1-9", "answer a permission question"),
    ("Shift+drag", "select text as in any terminal"),
)


def help_view() -> Lines:
    """All keys, a line each."""
    return Lines([styled((filled("{:<22}", keys), "bold"), (exact(meaning), "")) for keys, meaning in _KEYS])
