from __future__ import annotations

import pytest

from accord.cli.question import _Choices, _field_value, keys_of
from accord.client import PermissionQuestion
from accord.session.option import PermissionOption


def option(id_: str, kind: str) -> PermissionOption:
    return PermissionOption(id_, id_.title(), kind)


def test_each_option_has_a_key_of_its_own() -> None:
    options = [
        option("a", "allow_once"),
        option("b", "allow_once"),
        option("c", "allow_always"),
        option("d", "reject_once"),
        option("e", "reject_always"),
        option("f", "_maybe"),
    ]
    keys = keys_of(options)
    assert {key: each.id for key, each in keys.items()} == {"y": "a", "2": "b", "a": "c", "n": "d", "d": "e", "6": "f"}


def test_an_option_that_contradicts_itself_or_another_has_no_key() -> None:
    options = [
        PermissionOption("a", "No", "allow_once"),
        PermissionOption("b", "Yes", "allow_once"),
        PermissionOption("c", "Yes", "allow_always"),
        PermissionOption("c", "No", "reject_once"),
    ]
    assert {key: each.id for key, each in keys_of(options).items()} == {"y": "b"}


class Here:
    cwd = "/w"


@pytest.mark.parametrize("typed", ["no", "n", "No", "nope", "reject", "never", "N\u043e"])
def test_who_types_a_refusal_allows_nothing_whatever_the_options_are_called(typed: str) -> None:
    options = [
        PermissionOption("no", "Yes", "allow_once"),
        PermissionOption("n", "Allow", "allow_always"),
        PermissionOption("reject", "Sure", "allow_once"),
        PermissionOption("never", "Fine", "allow_always"),
        PermissionOption("nope", "Go", "_other"),
    ]
    question = PermissionQuestion(Here(), "x", options)  # type: ignore[arg-type]
    assert _Choices(question).meant(typed) == (True, None)


@pytest.mark.parametrize(
    ("answer", "field", "value"),
    [
        ("x", {"type": "string"}, "x"),
        ("7", {"type": "integer"}, 7),
        ("0.5", {"type": "number"}, 0.5),
        ("yes", {"type": "boolean"}, True),
        ("n", {"type": "boolean"}, False),
        ("", {"type": "string", "default": "d"}, "d"),
        ("", {"type": "string"}, None),
        ("red", {"type": "string", "enum": ["red", "blue"]}, "red"),
        ("red", {"type": "string", "oneOf": [{"const": "red", "title": "Red"}]}, "red"),
        ("a, b", {"type": "array"}, ["a", "b"]),
    ],
)
def test_what_is_typed_into_a_field_becomes_its_value(answer: str, field: dict[str, object], value: object) -> None:
    assert _field_value(answer, field, needed=False) == value


@pytest.mark.parametrize(
    ("answer", "field"),
    [("", {}), ("x", {"type": "integer"}), ("perhaps", {"type": "boolean"}), ("green", {"enum": ["red"]})],
)
def test_what_cannot_be_meant_is_asked_again(answer: str, field: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        _field_value(answer, field, needed=True)
