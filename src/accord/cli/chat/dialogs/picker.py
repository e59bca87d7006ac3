"""Choose one of several by arrows, mouse, or by typing a part of its name: options, their values, sessions, logins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, OptionList

from accord.cli.chat.dialogs.frame import Dialog
from accord.cli.chat.widgets import MUTED, StaticText, entry_of, label, option_of
from accord.display import EMPTY, SafeText, clip, filled, own, prose_line

__all__ = ["Item", "Picker"]


@dataclass(frozen=True, slots=True)
class Item:
    """One of them; `id` is what is answered."""

    id: str
    name: SafeText
    detail: str = ""


class Picker(Dialog[str]):
    """Gives the id of what was chosen, or None."""

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
        """Title, what to look for, the list."""
        with Vertical(classes="dialog--box"):
            yield StaticText(label((self._heading, "bold")), classes="dialog--title")
            yield entry_of(placeholder=own("type to find"))
            yield OptionList(markup=False, compact=True)
            yield StaticText(own("Enter chooses · Esc leaves"), classes="dialog--hint")

    def on_mount(self) -> None:
        """Show all of them, the present one chosen."""
        self.query_one(OptionList).can_focus = False
        self._show("")
        at = next((at for at, item in enumerate(self._matching) if item.id == self._chosen), 0)
        if self._matching:
            self.query_one(OptionList).highlighted = at

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def on_input_submitted(self) -> None:
        """Take the one that is chosen."""
        at = self.query_one(OptionList).highlighted
        if at is not None and self._matching:
            self.dismiss(self._matching[at].id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._matching:
            self.dismiss(self._matching[event.option_index].id)

    def on_key(self, event: Key) -> None:
        """The arrows are the list's, the letters go into the line above it."""
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
    return label((mark, "$success"), (clip(item.name, 80), "bold" if marked else ""), (detail, MUTED))
