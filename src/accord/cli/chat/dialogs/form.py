"""A form that an agent asks the user to fill in, and an address that it asks the user to visit.

The fields are made from a flat JSON schema, and their values keep to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, ClassVar, Literal, TypeAlias
from urllib.parse import urlsplit

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Input, Select, SelectionList

from accord.cli.chat.dialogs.frame import ARMING_SECONDS, QuestionDialog
from accord.cli.chat.lines import Lines
from accord.cli.chat.widgets import MUTED, StaticText, announce, choice_of, choices_of, entry_of, label, styled
from accord.cli.show.question import host_text
from accord.client.question import ElicitAnswer, FormQuestion, UrlQuestion
from accord.display import EMPTY, exact, filled, json_text, own, prose, prose_line

FieldKind: TypeAlias = Literal["text", "integer", "number", "flag", "choice", "choices", "raw"]


class FieldError(ValueError):
    """A value that does not fit its field; the message names the expected form."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field; `choices` are values with their display names."""

    name: str
    kind: FieldKind
    title: str
    description: str = ""
    is_required: bool = False
    default: Any = None
    choices: tuple[tuple[str, str], ...] = ()
    schema: dict[str, Any] = field(default_factory=dict)


def form_fields(schema: dict[str, Any]) -> list[FormField]:
    """The fields in order. A schema without a matching field type is filled in as JSON."""
    properties = schema.get("properties")
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    if not isinstance(properties, dict):
        return []
    return [
        _field(name, about if isinstance(about, dict) else {}, is_required=name in names)
        for name, about in properties.items()
    ]


def _field(name: str, about: dict[str, Any], *, is_required: bool) -> FormField:
    kind, choices = _kind(about)
    title, description = about.get("title"), about.get("description")
    return FormField(
        name,
        kind,
        title if isinstance(title, str) else name,
        description if isinstance(description, str) else "",
        is_required,
        about.get("default"),
        choices,
        about,
    )


def _kind(about: dict[str, Any]) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    kinds: dict[Any, FieldKind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "flag"}
    if about.get("type") == "array":
        items = about.get("items")
        choices = tuple(_choices(items)) if isinstance(items, dict) else ()
        return ("choices", choices) if choices else ("raw", ())
    choices = tuple(_choices(about))
    if choices:
        return "choice", choices
    kind = about.get("type")
    return (kinds.get(kind, "raw") if isinstance(kind, str) else "raw"), ()


def _choices(about: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("oneOf", "anyOf"):
        for each in about.get(key) or ():
            if isinstance(each, dict) and isinstance(each.get("const"), str):
                yield each["const"], str(each.get("title") or each["const"])
    names = about.get("enumNames") or ()
    for at, value in enumerate(about.get("enum") or ()):
        if isinstance(value, str):
            yield value, str(names[at]) if at < len(names) else value


def read_field(form_field: FormField, given: Any) -> Any:
    """The value of a field's input: a text, a bool, or a list of values. None where an optional one is left empty.

    Raises:
        FieldError: It does not keep to the schema.
    """
    if given is None or given == "":
        if form_field.is_required:
            raise FieldError("is needed")
        return None
    match form_field.kind:
        case "flag" | "choice":
            return given
        case "choices":
            return _some(form_field, list(given))
        case "integer" | "number":
            return _number(form_field, str(given))
        case "raw":
            return _raw(str(given))
        case "text":
            return _text(form_field.schema, str(given))


def _some(form_field: FormField, values: list[str]) -> list[str]:
    least, most = form_field.schema.get("minItems"), form_field.schema.get("maxItems")
    if isinstance(least, int) and len(values) < least:
        raise FieldError(f"choose at least {least}")
    if isinstance(most, int) and len(values) > most:
        raise FieldError(f"choose at most {most}")
    return values


def _number(form_field: FormField, text: str) -> int | float:
    try:
        value = int(text) if form_field.kind == "integer" else float(text)
    except ValueError:
        raise FieldError("a whole number" if form_field.kind == "integer" else "a number") from None
    least, most = form_field.schema.get("minimum"), form_field.schema.get("maximum")
    if isinstance(least, int | float) and value < least:
        raise FieldError(f"at least {least}")
    if isinstance(most, int | float) and value > most:
        raise FieldError(f"at most {most}")
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - that is how NaN is known
        raise FieldError("a number")
    return value


def _raw(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise FieldError("JSON") from None


def _text(schema: dict[str, Any], text: str) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least:
        raise FieldError(f"at least {least} characters")
    if isinstance(most, int) and len(text) > most:
        raise FieldError(f"at most {most} characters")
    _check_format(schema.get("format"), text)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not _matches(pattern, text):
        raise FieldError(f"must match {pattern}")
    return text


# An agent's pattern must not hold up the screen: repeated groups and references back can take for ever, and so can many
# repetitions one after the other. Such a pattern is the agent's to check.
_SLOW = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=")
_REPEATED = re.compile(r"[*+{]")
MAX_REPETITIONS = 2
MAX_MATCHED_CHARACTERS = 500


def _matches(pattern: str, text: str) -> bool:
    if _SLOW.search(pattern) or len(_REPEATED.findall(pattern)) > MAX_REPETITIONS or len(text) > MAX_MATCHED_CHARACTERS:
        return True
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True  # another dialect of regular expressions: left to the agent to check


def _check_format(name: Any, text: str) -> None:
    match name:
        case "email" if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", text):
            raise FieldError("an e-mail address")
        case "uri" if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:\S+$", text):
            raise FieldError("an address with a scheme, like https://…")
        case "date" | "date-time":
            try:
                date.fromisoformat(text) if name == "date" else datetime.fromisoformat(text)
            except ValueError:
                example = "2026-01-31" if name == "date" else "2026-01-31T12:00:00Z"
                raise FieldError(f"a date like {example}") from None
        case _:
            pass


class FormDialog(QuestionDialog[ElicitAnswer]):
    """A form; its result is the values, None to decline, or `cancel`."""

    # Not before it is armed: keys that were meant for the prompt are no values.
    AUTO_FOCUS = ""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "submit", "Send", priority=True)]
    DEFAULT_CSS = """
    FormDialog VerticalScroll { height: auto; max-height: 1fr; }
    FormDialog .form--field { height: auto; margin-top: 1; }
    FormDialog .form--error { color: $text-error; height: auto; display: none; }
    FormDialog Input { border: none; height: 1; padding: 0 1; background: $boost; }
    FormDialog SelectionList { height: auto; max-height: 6; border: none; }
    FormDialog #buttons { height: auto; margin-top: 1; dock: bottom; }
    FormDialog Button { margin-right: 2; }
    """

    def __init__(self, question: FormQuestion, arming_seconds: float = ARMING_SECONDS) -> None:
        super().__init__(arming_seconds)
        self._question = question
        self._fields = form_fields(question.schema)
        self._inputs: list[Widget] = [_input(each) for each in self._fields]
        self._errors = [StaticText(classes="form--error") for _ in self._fields]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog--box") as box:
            box.border_title = "the agent asks"
            yield StaticText(label((prose(self._question.message), "bold")), classes="dialog--title")
            with VerticalScroll(can_focus=False):
                yield from self._rows()
            with Horizontal(id="buttons"):
                yield Button("Send (Ctrl+S)", id="submit", variant="primary", compact=True)
                yield Button("Decline", id="decline", compact=True)
                yield StaticText(own("Tab moves · Esc cancels · never give secrets here"), classes="dialog--hint")

    def _rows(self) -> Iterator[Widget]:
        for each, widget, error in zip(self._fields, self._inputs, self._errors, strict=True):
            star = (own("  *"), "$text-error") if each.is_required else (EMPTY, "")
            about = filled("  {}", prose_line(each.description, 200)) if each.description else EMPTY
            name = label((exact(each.title, 200), ""), star, (about, MUTED))
            yield Vertical(StaticText(name), widget, error, classes="form--field")
        if not self._fields:
            yield StaticText(label((json_text(self._question.schema, 2, 4_000), MUTED)))

    def _arm(self) -> None:
        """Begin with the first field."""
        super()._arm()
        if self._inputs:
            self._inputs[0].focus()

    def action_submit(self) -> None:
        """Submit the values, if they are valid."""
        if not self._is_armed:
            return
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
        if self._is_armed:
            self.dismiss("cancel")

    def on_input_submitted(self) -> None:
        """Enter goes to the next field, and in the last one it sends."""
        if self.focused is self._inputs[-1]:
            self.action_submit()
        else:
            self.focus_next()

    def on_button_pressed(self, event: Button.Pressed) -> None:
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


class UrlDialog(QuestionDialog[ElicitAnswer]):
    """An address to visit; its result is True if the user visits it, False if not, or `cancel`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o,enter", "visit", "Open"),
        Binding("c", "copy", "Copy"),
        Binding("n", "decline", "No"),
    ]

    def __init__(self, question: UrlQuestion, arming_seconds: float = ARMING_SECONDS) -> None:
        super().__init__(arming_seconds)
        self._question = question

    def compose(self) -> ComposeResult:
        """The whole address, and its host."""
        question = self._question
        with Vertical(classes="dialog--box") as box:
            box.border_title = "the agent asks you to visit an address"
            yield StaticText(label((prose(question.message), "bold")), classes="dialog--title")
            yield StaticText(label((own("at "), ""), (host_text(question.url), "bold $text-warning")))
            yield Lines([styled((exact(question.url), ""))])
            yield StaticText(own("o opens it · c copies it · n declines · Esc leaves"), classes="dialog--hint")

    def action_visit(self) -> None:
        """Open it, where it is an address of the web."""
        if not self._is_armed:
            return
        if is_web_address(self._question.url):
            self.app.open_url(self._question.url)
            self.dismiss(True)  # noqa: FBT003 - the answer
        else:
            announce(self.app, own("Only http and https are opened from here; c copies it."), severity="warning")

    def action_copy(self) -> None:
        """Copy the address, for a browser on another machine, as over SSH."""
        if not self._is_armed:
            return
        self.app.copy_to_clipboard(self._question.url)
        announce(self.app, own("Copied. Press o when you have been there, or n."))

    def action_decline(self) -> None:
        if self._is_armed:
            self.dismiss(False)  # noqa: FBT003 - the answer

    def action_leave(self) -> None:
        if self._is_armed:
            self.dismiss("cancel")


def is_web_address(url: str) -> bool:
    """Whether a browser may open it: an http or https address of a host, without invisible characters."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "\\" not in url and exact(url) == url
