from __future__ import annotations

from typing import Any

import pytest

from accord.cli.chat.dialogs.form import FieldError, form_fields, read_field


def field(about: dict[str, Any], *, required: bool = True) -> Any:
    (found,) = form_fields({"properties": {"it": about}, "required": ["it"] if required else []})
    return found


@pytest.mark.parametrize(
    ("about", "given", "value"),
    [
        ({"type": "string"}, "text", "text"),
        ({"type": "integer"}, "3", 3),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, False, False),
        ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a"], ["a"]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "string", "format": "date"}, "2026-01-31", "2026-01-31"),
        ({"type": "string", "pattern": "(?<bad"}, "x", "x"),
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 40 + "b", "a" * 40 + "b"),
        ({"type": "string", "pattern": "^a*a*a*a*a*a*a*a*$"}, "a" * 400 + "b", "a" * 400 + "b"),
    ],
)
def test_what_keeps_to_the_schema_is_taken(about: dict[str, Any], given: Any, value: Any) -> None:
    assert read_field(field(about), given) == value


@pytest.mark.parametrize(
    ("about", "given"),
    [
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 3}, "ab"),
        ({"type": "string", "maxLength": 1}, "ab"),
        ({"type": "string", "pattern": "^a"}, "b"),
        ({"type": "string", "format": "email"}, "nobody"),
        ({"type": "string", "format": "uri"}, "nowhere"),
        ({"type": "string", "format": "date-time"}, "soon"),
        ({"type": "integer"}, "1.5"),
        ({"type": "integer", "minimum": 1}, "0"),
        ({"type": "number", "maximum": 1}, "2"),
        ({"type": "number"}, "nan"),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 1}, []),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, ["a", "b"]),
        ({"type": "object"}, "{"),
    ],
)
def test_what_does_not_is_refused(about: dict[str, Any], given: Any) -> None:
    with pytest.raises(FieldError):
        read_field(field(about), given)


def test_an_optional_field_that_is_empty_is_left_out() -> None:
    assert read_field(field({"type": "integer"}, required=False), "") is None


def test_choices_have_names() -> None:
    titled = field({"type": "string", "oneOf": [{"const": "a", "title": "The first"}, {"const": "b"}]})
    named = field({"type": "string", "enum": ["a", "b"], "enumNames": ["One"]})
    assert titled.choices == (("a", "The first"), ("b", "b"))
    assert named.choices == (("a", "One"), ("b", "b"))


@pytest.mark.parametrize("schema", [{}, {"properties": 3}, {"properties": {"a": 5}}, {"properties": {}, "required": 1}])
def test_a_schema_that_is_none_breaks_nothing(schema: dict[str, Any]) -> None:
    assert all(each.kind == "raw" for each in form_fields(schema))
