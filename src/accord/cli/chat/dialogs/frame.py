"""The box that all dialogs share, the dialog for long texts, and the picker.

Long texts are a diff, the output of a command, the keys. The picker chooses one of several by arrows, mouse, or a part
of a name: options, their values, sessions, logins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, OptionList

from accord.cli.chat.lines import DiffView
from accord.cli.chat.widgets import MUTED, StaticText, entry_of, label, option_of
from accord.display import EMPTY, SafeText, clip, filled, own, prose_line

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """The base of all dialogs: a box that Escape closes."""

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
        """Close the dialog because its question was withdrawn, now or as soon as it is on top."""
        self.is_retired = True
        if self.is_current:
            self.dismiss(None)

    def on_screen_resume(self) -> None:
        if self.is_retired:
            self.dismiss(None)


# A user who is typing when a question appears must not answer it by accident.
ARMING_SECONDS = 0.5


class QuestionDialog(Dialog[Answer]):
    """A question of the agent. It takes no answer in its first moment: those keys were meant for the prompt."""

    def __init__(self, arming_seconds: float = ARMING_SECONDS) -> None:
        super().__init__()
        self._arming_seconds = arming_seconds
        self._is_armed = False

    def on_mount(self) -> None:
        if self._arming_seconds > 0:
            self.set_timer(self._arming_seconds, self._arm)
        else:
            self._arm()

    def _arm(self) -> None:
        """From now on it takes an answer."""
        self._is_armed = True


class ReadingDialog(Dialog[None]):
    """One view that fills the dialog."""

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


@dataclass(frozen=True, slots=True)
class Item:
    """One choice of a picker; `id` is the result."""

    id: str
    name: SafeText
    detail: str = ""


class Picker(Dialog[str]):
    """A list to choose from; its result is the id of the chosen item, or None."""

    DEFAULT_CSS = """
    Picker OptionList { height: auto; max-height: 14; }
    Picker Input { border: none; height: 1; padding: 0; background: $boost; }
    """

    def __init__(
        self, title: SafeText, items: Sequence[Item], *, chosen: str | None = None, empty: SafeText = EMPTY
    ) -> None:
        super().__init__()
        self._heading = title
        self._items = list(items)
        self._chosen = chosen
        self._empty = empty
        self._matching: list[Item] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog--box"):
            yield StaticText(label((self._heading, "bold")), classes="dialog--title")
            yield entry_of(placeholder=own("type to find"))
            yield OptionList(markup=False, compact=True)
            yield StaticText(own("Enter chooses · Esc leaves"), classes="dialog--hint")

    def on_mount(self) -> None:
        """Show all items, the current one selected."""
        self.query_one(OptionList).can_focus = False
        self._show("")
        at = next((at for at, item in enumerate(self._matching) if item.id == self._chosen), 0)
        if self._matching:
            self.query_one(OptionList).highlighted = at

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def on_input_submitted(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and self._matching:
            self.dismiss(self._matching[at].id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._matching:
            self.dismiss(self._matching[event.option_index].id)

    def on_key(self, event: Key) -> None:
        """Arrow keys move in the list, letters go into the search line."""
        moves = {"up": "cursor_up", "down": "cursor_down", "pageup": "page_up", "pagedown": "page_down"}
        if event.key in moves:
            event.stop()
            getattr(self.query_one(OptionList), f"action_{moves[event.key]}")()

    def _show(self, wanted: str) -> None:
        terms = wanted.lower().split()
        self._matching = [
            item for item in self._items if all(term in f"{item.name} {item.detail}".lower() for term in terms)
        ]
        options = self.query_one(OptionList)
        options.clear_options()
        if not self._matching:
            options.add_option(option_of(own("nothing matches") if self._items else self._empty, disabled=True))
            return
        options.add_options([option_of(_line(item, marked=item.id == self._chosen)) for item in self._matching])
        options.highlighted = 0


def _line(item: Item, *, marked: bool) -> Content:
    mark = own("● ") if marked else own("  ")
    detail = filled("  {}", prose_line(item.detail, 120)) if item.detail else EMPTY
    return label((mark, "$text-success"), (clip(item.name, 80), "bold" if marked else ""), (detail, MUTED))
