"""What all dialogs share: a box over the conversation that can be taken away, also when it is not on top."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

__all__ = ["Dialog"]

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
        """Go without an answer."""
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
