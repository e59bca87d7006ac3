"""The slow path of decoding: reads values that the fast decode refused, as tolerantly as the schema's marks allow.

It walks a value that `json` has read and a type side by side. Unknown variants become `Unknown` with their payload,
lenient fields fall back to absent, bad items of sieved lists are dropped, and each drop is counted. A bad value
without a mark is a `Misfit`, which has the path and the expected type and quotes nothing of the received value.

With `strict` the marks are ignored, and unknown keys, unknown variants and unknown values are a `Misfit` too.
"""

from __future__ import annotations

import functools
import types
import typing
from typing import Any, Literal, Union

import msgspec
from msgspec import Meta, UnsetType

from accord.protocol.model import DROPPED, Mark, Unknown, Untagged, UntaggedLists, Wire

__all__ = ["Misfit", "Salvage"]


# Fields that say nothing about what is done.
_LABELS = frozenset({"meta", "line", "annotations"})


class Misfit(Exception):
    """A value that does not fit its type; `field` is a dotted path from the params or the result."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field or 'the value'}: expected {expected}")
        self.field = field
        self.expected = expected


class _Field(msgspec.Struct, frozen=True):
    name: str
    key: str
    kind: Any
    lenient: bool
    required: bool


class Salvage:
    """One reading of one value; `dropped` and `unknown` count dropped values and values kept unread."""

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.dropped = 0
        self.unknown = 0
        self._lost = 0
        """Of the dropped values those that said something: neither null nor a label."""

    def read(self, kind: Any, value: Any, path: str = "") -> Any:
        """The value as `kind`.

        Raises:
            Misfit: It cannot be read so.
        """
        marks, kind = _marks(kind)
        if Mark.NULL_IS_EMPTY in marks and value is None and not self.strict:
            return {} if typing.get_origin(kind) is dict else []
        origin = typing.get_origin(kind)
        if origin is Union or origin is types.UnionType:
            return self._union(kind, marks, value, path)
        if origin is list:
            return self._list(kind, marks, value, path)
        if origin is dict:
            return self._dict(kind, value, path)
        if isinstance(kind, type):
            if issubclass(kind, Wire):
                # A union that has one variant so far is open all the same.
                return self._tagged([kind], value, path) if Mark.OPEN in marks else self._struct(kind, value, path)
            if issubclass(kind, Untagged | UntaggedLists):
                return self._chosen(kind, value, path)
        return _leaf(kind, marks, value, path)

    def _union(self, kind: Any, marks: list[Any], value: Any, path: str) -> Any:
        members = [member for member in typing.get_args(kind) if member is not UnsetType]
        if value is None and types.NoneType in members:
            return None
        members = [member for member in members if member is not types.NoneType]
        if len(members) == 1:
            return self.read(_marked(members[0], marks), value, path)
        if all(isinstance(member, type) and issubclass(member, Wire) for member in members):
            return self._tagged(members, value, path)
        literals = [member for member in members if typing.get_origin(member) is Literal]
        if literals and str in members:
            return self._enum(typing.get_args(literals[0]), marks, value, path)
        return _leaf(Union[tuple(members)], marks, value, path)  # noqa: UP007 - built at run time

    def _enum(self, known: tuple[Any, ...], marks: list[Any], value: Any, path: str) -> Any:
        if not isinstance(value, str):
            raise Misfit(path, "a string")
        if value not in known:
            self.unknown += 1
            if self.strict and (Mark.CLOSED in marks or not value.startswith("_")):
                raise Misfit(path, "one of " + ", ".join(known))
        return value

    def _tagged(self, members: list[type[Wire]], value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise Misfit(path, "an object")
        tag_field = str(members[0].__struct_config__.tag_field)
        if len(members) == 1 and tag_field not in value and not self.strict:
            return self._struct(members[0], value, path)  # as the fast decode does
        tag = value.get(tag_field)
        if not isinstance(tag, str):
            raise Misfit(_join(path, tag_field), "a string")
        for member in members:
            if member.__struct_config__.tag == tag:
                if self._unknown_inside(member, value):
                    return self._keep(str(value[member.subtag]), value, path)  # type: ignore[attr-defined]
                return self._struct(member, value, path)
        return self._keep(tag, value, _join(path, tag_field))

    def _unknown_inside(self, member: type[Wire], value: dict[str, Any]) -> bool:
        """Whether the second tag of a variant that has one is unknown."""
        subtag = getattr(member, "subtag", None)
        if subtag is None or not isinstance(value.get(subtag), str):
            return False
        known = next(field.kind for field in _fields(member) if field.key == subtag)
        return value[subtag] not in typing.get_args(known)

    def _keep(self, tag: str, value: dict[str, Any], path: str) -> Unknown:
        self.unknown += 1
        if self.strict and not tag.startswith("_"):
            raise Misfit(path, "a variant that this edition names")
        return Unknown(tag, value)

    def _chosen(self, kind: Any, value: Any, path: str) -> Any:
        chosen = kind.choose(value)
        if chosen is None:
            raise Misfit(path, "an array" if issubclass(kind, UntaggedLists) else "an object of a known shape")
        if chosen is Unknown:
            return self._keep(value[kind.tag_field], value, path)
        return self.read(chosen, value, path)

    def _list(self, kind: Any, marks: list[Any], value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise Misfit(path, "an array")
        (item_kind,) = typing.get_args(kind)
        sieved = Mark.SIEVED in marks and not self.strict
        items = []
        for index, item in enumerate(value):
            try:
                items.append(self.read(item_kind, item, f"{path}[{index}]"))
            except Misfit:
                if not sieved:
                    raise
                self.dropped += 1
                self._lost += 1
        _bounds(marks, items, path)
        return items

    def _dict(self, kind: Any, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise Misfit(path, "an object")
        _, item_kind = typing.get_args(kind)
        if item_kind is Any:
            return value
        # The keys were received: a path does not quote them.
        inside = _join(path, "*")
        return {key: self.read(item_kind, item, inside) for key, item in value.items()}

    def _struct(self, kind: type[Wire], value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise Misfit(path, "an object")
        fields = _fields(kind)
        if self.strict:
            self._no_further_keys(kind, fields, value, path)
        values: dict[str, Any] = {}
        is_noted = False
        for field in fields:
            if field.key in value:
                lost = self._lost
                self._field(field, value[field.key], _join(path, field.key), values)
                is_noted |= self._lost > lost and field.name in kind.noted
            elif field.required:
                raise Misfit(_join(path, field.key), "a value: it is required")
        if is_noted:
            values["meta"] = {**(values.get("meta") or {}), DROPPED: True}
        try:
            return kind(**values)
        except ValueError as error:
            # The message of `__post_init__` names the expectation without quoting a value.
            raise Misfit(path, str(error)) from None

    def _field(self, field: _Field, value: Any, path: str, values: dict[str, Any]) -> None:
        try:
            values[field.name] = self.read(field.kind, value, path)
        except Misfit:
            if self.strict or not field.lenient:
                raise
            self.dropped += 1
            self._lost += value is not None and field.name not in _LABELS
            if field.required:
                values[field.name] = []  # only lists are both required and lenient

    @staticmethod
    def _no_further_keys(kind: type[Wire], fields: list[_Field], value: dict[str, Any], path: str) -> None:
        known = {field.key for field in fields} | {kind.__struct_config__.tag_field}
        if not value.keys() <= known:
            raise Misfit(path, "no keys beyond those of this edition; further data belongs in _meta")


def _marks(kind: Any) -> tuple[list[Any], Any]:
    marks: list[Any] = []
    while typing.get_origin(kind) is typing.Annotated:
        marks += kind.__metadata__
        kind = kind.__origin__
    return marks, kind


def _marked(kind: Any, marks: list[Any]) -> Any:
    return typing.Annotated[(kind, *marks)] if marks else kind


@functools.cache
def _fields(kind: type[Wire]) -> list[_Field]:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = []
    for field in msgspec.structs.fields(kind):
        hint = hints[field.name]
        marks, _ = _marks(hint)
        fields.append(_Field(field.name, field.encode_name, hint, Mark.LENIENT in marks, field.required))
    return fields


def _leaf(kind: Any, marks: list[Any], value: Any, path: str) -> Any:
    try:
        return msgspec.convert(value, _marked(kind, [mark for mark in marks if isinstance(mark, Meta)]), strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError, OverflowError):
        # The second where msgspec cannot quote half an emoji in its own message.
        raise Misfit(path, _words(kind, marks)) from None


def _bounds(marks: list[Any], items: list[Any], path: str) -> None:
    for mark in marks:
        if isinstance(mark, Meta) and mark.min_length is not None and len(items) < mark.min_length:
            raise Misfit(path, f"at least {mark.min_length} item")


_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def _words(kind: Any, marks: list[Any]) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(kind)))
    words = _NAMES.get(kind) or " or ".join(
        _NAMES.get(_marks(member)[1], "another shape") for member in typing.get_args(kind)
    )
    for mark in marks:
        if isinstance(mark, Meta):
            if mark.ge is not None:
                words += f" of at least {mark.ge}"
            if mark.le is not None:
                words += f" and at most {mark.le}"
            if mark.min_length is not None:
                words += " that is not empty"
    return words


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
