"""Values with a JSON form become JSON types: subclasses, models, dataclasses, attrs classes, structs."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import attrs
import msgspec
import pydantic
import pytest

from accord.jsonrpc.plain import plain, plain_text, plain_value
from accord.protocol.codec import encode, encode_json
from tests.tables import rows


class Tag(str):
    """A string that says something else when it is asked."""

    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


class Count(int):
    def __int__(self) -> int:
        return 99


class Ratio(float):
    def __float__(self) -> float:
        return 99.0


class Colour(enum.StrEnum):
    RED = "red"


class OldColour(str, enum.Enum):  # noqa: UP042 - as it was written before
    RED = "red"


class Names(list[Any]):
    pass


class Table(dict[str, Any]):
    pass


class Model(pydantic.BaseModel):
    name: str
    inner: list[Model] = []


@dataclasses.dataclass
class Record:
    name: str
    model: Model


@attrs.define
class Attributes:
    name: str


class Structure(msgspec.Struct):
    name: str


MODEL = Model(name="outer", inner=[Model(name="inner")])
VALUES: list[tuple[Any, Any]] = [
    (Tag("text"), "text"),
    (Count(3), 3),
    (Ratio(2.5), 2.5),
    (Colour.RED, "red"),
    (OldColour.RED, "red"),
    (Names([Tag("a"), Count(1)]), ["a", 1]),
    (Table(a=Tag("b")), {"a": "b"}),
    ({Colour.RED: 1}, {"red": 1}),
    (MODEL, {"name": "outer", "inner": [{"name": "inner", "inner": []}]}),
    (Record("record", Model(name="m")), {"name": "record", "model": {"name": "m", "inner": []}}),
    (Attributes(Tag("a")), {"name": "a"}),
    (Structure(Tag("s")), {"name": "s"}),
    ([{"deep": [Model(name="m")]}], [{"deep": [{"name": "m", "inner": []}]}]),
]


@rows(("value", "expected"), VALUES)
def test_a_value_is_written_as_what_it_holds(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    for text in (encode(value), encode_json(value), msgspec.json.encode(value, enc_hook=plain_value)):
        assert msgspec.json.decode(text) == expected


@rows(("value", "expected"), VALUES)
def test_half_a_character_beside_it_changes_nothing(value: Any, expected: Any) -> None:
    for text in (encode([value, "\ud800"]), encode_json([value, "\ud800"])):
        assert text.endswith(b',"\\ud800"]')
        assert msgspec.json.decode(text.replace(b"\\ud800", b"x")) == [expected, "x"]


def test_a_text_of_a_subclass_is_a_plain_one_and_a_plain_one_is_itself() -> None:
    text = "text"
    assert plain_text(text) is text
    assert type(plain_text(Tag("text"))) is str
    assert plain_text(Tag("text")) == "text"


class Unwilling:
    def model_dump(self, *, mode: str) -> Any:
        raise KeyError(mode)


@rows("value", [object(), Model, Unwilling(), {"a": {1: object()}}, lambda: None])
def test_what_is_no_json_by_nature_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        plain(value)


def test_the_copy_does_not_change_when_the_model_does() -> None:
    model = Model(name="before")
    copy = plain({"model": model})
    model.name = "after"
    assert copy == {"model": {"name": "before", "inner": []}}
