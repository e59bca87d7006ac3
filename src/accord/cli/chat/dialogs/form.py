"""A form that an agent asks the user to fill in, and an address that it asks the user to visit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import urlsplit

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Input, Select, SelectionList

from accord.cli.chat.dialogs.frame import Dialog
from accord.cli.chat.form_fields import FieldError, FormField, form_fields, read_field
from accord.cli.chat.lines import Lines
from accord.cli.chat.plain import MUTED, label, styled
from accord.cli.chat.widgets import Words, announce, choice_of, choices_of, entry_of
from accord.client.question import ElicitAnswer, FormQuestion, UrlQuestion
from accord.display import EMPTY, exact, filled, json_text, own, prose, prose_line

__all__ = ["FormDialog", "UrlDialog", "is_web_address"]


class FormDialog(Dialog[ElicitAnswer]):
    """Gives the values, None to decline, or `cancel`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "submit", "Send", priority=True)]
    DEFAULT_CSS = """
    FormDialog VerticalScroll { height: auto; max-height: 1fr; }
    FormDialog .form--field { height: auto; margin-top: 1; }
    FormDialog .form--error { color: $error; height: auto; display: none; }
    FormDialog Input { border: none; height: 1; padding: 0 1; background: $boost; }
    FormDialog SelectionList { height: auto; max-height: 6; border: none; }
    FormDialog #buttons { height: auto; margin-top: 1; dock: bottom; }
    FormDialog Button { margin-right: 2; }
    """

    def __init__(self, question: FormQuestion) -> None:
        super().__init__()
        self._question = question
        self._fields = form_fields(question.schema)
        self._inputs: list[Widget] = [_input(each) for each in self._fields]
        self._errors = [Words(classes="form--error") for _ in self._fields]

    def compose(self) -> ComposeResult:
        """Message, fields, buttons."""
        with Vertical(classes="dialog--box") as box:
            box.border_title = "the agent asks"
            yield Words(label((prose(self._question.message), "bold")), classes="dialog--title")
            with VerticalScroll(can_focus=False):
                yield from self._rows()
            with Horizontal(id="buttons"):
                yield Button("Send (Ctrl+S)", id="submit", variant="primary", compact=True)
                yield Button("Decline", id="decline", compact=True)
                yield Words(own("Tab moves · Esc cancels · never give secrets here"), classes="dialog--hint")

    def _rows(self) -> Iterator[Widget]:
        for each, widget, error in zip(self._fields, self._inputs, self._errors, strict=True):
            star = (own("  *"), "$error") if each.is_required else (EMPTY, "")
            about = filled("  {}", prose_line(each.description, 200)) if each.description else EMPTY
            name = label((exact(each.title, 200), ""), star, (about, MUTED))
            yield Vertical(Words(name), widget, error, classes="form--field")
        if not self._fields:
            yield Words(label((json_text(self._question.schema, 2, 4_000), MUTED)))

    def on_mount(self) -> None:
        """Begin with the first field."""
        if self._inputs:
            self._inputs[0].focus()

    def action_submit(self) -> None:
        """Take what was filled in, if it can be taken."""
        values: dict[str, Any] = {}
        wrong: list[Widget] = []
        for each, widget, error in zip(self._fields, self._inputs, self._errors, strict=True):
            error.display = False
            try:
                value = read_field(each, _given(widget))
            except FieldError as refusal:
                error.update(exact(str(refusal), 400))
                error.display = True
                wrong.append(widget)
                continue
            if value is not None:
                values[each.name] = value
        if wrong:
            wrong[0].focus()
        else:
            self.dismiss(values)

    def action_leave(self) -> None:
        """Neither filled in nor declined."""
        self.dismiss("cancel")

    def on_input_submitted(self) -> None:
        """Enter goes to the next field, and in the last one it sends."""
        if self.focused is self._inputs[-1]:
            self.action_submit()
        else:
            self.focus_next()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """By mouse, or by Enter on a button."""
        if event.button.id == "submit":
            self.action_submit()
        else:
            self.dismiss(False)  # noqa: FBT003 - the answer


def _input(each: FormField) -> Widget:
    default = each.default
    match each.kind:
        case "flag":
            return Checkbox("yes", value=default is True, compact=True)
        case "choice":
            known = [value for value, _ in each.choices]
            chosen = default if default in known else (known[0] if each.is_required else Select.NULL)
            named = [(exact(name, 80), value) for value, name in each.choices]
            return choice_of(named, value=chosen, allow_blank=not each.is_required)
        case "choices":
            chosen = default if isinstance(default, list) else []
            return choices_of([(exact(name, 80), value, value in chosen) for value, name in each.choices])
        case _:
            if default is None:
                return entry_of()
            return entry_of(prose_line(default) if isinstance(default, str) else json_text(default))


def _given(widget: Widget) -> Any:
    match widget:
        case Input() | Checkbox():
            return widget.value
        case SelectionList():
            return list(widget.selected)
        case Select():
            return None if widget.is_blank() else widget.value
        case _:
            return None


class UrlDialog(Dialog[ElicitAnswer]):
    """Gives True if the user goes there, False if not, or `cancel`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o,enter", "visit", "Open"),
        Binding("c", "copy", "Copy"),
        Binding("n", "decline", "No"),
    ]

    def __init__(self, question: UrlQuestion) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The whole address, and where it leads."""
        question = self._question
        with Vertical(classes="dialog--box") as box:
            box.border_title = "the agent asks you to visit an address"
            yield Words(label((prose(question.message), "bold")), classes="dialog--title")
            yield Words(label((own("at "), ""), (exact(_host(question.url)), "bold $warning")))
            yield Lines([styled((exact(question.url), ""))])
            yield Words(own("o opens it · c copies it · n declines · Esc leaves"), classes="dialog--hint")

    def action_visit(self) -> None:
        """Open it, where it is an address of the web."""
        if is_web_address(self._question.url):
            self.app.open_url(self._question.url)
            self.dismiss(True)  # noqa: FBT003 - the answer
        else:
            announce(self.app, own("Only http and https are opened from here; c copies it."), severity="warning")

    def action_copy(self) -> None:
        """For a browser elsewhere, as over SSH."""
        self.app.copy_to_clipboard(self._question.url)
        announce(self.app, own("Copied. Press o when you have been there, or n."))

    def action_decline(self) -> None:
        """Not there."""
        self.dismiss(False)  # noqa: FBT003 - the answer

    def action_leave(self) -> None:
        """Neither."""
        self.dismiss("cancel")


def is_web_address(url: str) -> bool:
    """Whether a browser may be given it: an address of the web, and nothing in it that cannot be seen."""
    try:
        return urlsplit(url).scheme in {"http", "https"} and "\\" not in url and exact(url) == url
    except ValueError:
        return False


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "?"
    except ValueError:
        return "?"
