"""The fields of a form that an agent asks for: from a flat JSON schema, and back to a value that keeps to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, TypeAlias

__all__ = ["FieldError", "FormField", "form_fields", "read_field"]

FieldKind: TypeAlias = Literal["text", "integer", "number", "flag", "choice", "choices", "raw"]


class FieldError(ValueError):
    """What was filled in cannot be taken; says what is expected."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field; `choices` are values with what they are called."""

    name: str
    kind: FieldKind
    title: str
    description: str = ""
    is_required: bool = False
    default: Any = None
    choices: tuple[tuple[str, str], ...] = ()
    schema: dict[str, Any] = field(default_factory=dict)


def form_fields(schema: dict[str, Any]) -> list[FormField]:
    """The fields in order. What no field is known for is filled in as JSON."""
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
    """The value of what was filled in: a text, a bool, or a list of values. None where an optional one is left empty.

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
    except ValueError:
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
        return True  # another dialect of expressions: the agent will see for itself


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
