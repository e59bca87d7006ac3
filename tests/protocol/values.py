"""Hypothesis strategies for the Python types of every edition: known and unknown variants, every state of a field."""

from __future__ import annotations

import functools
import types
import typing
from typing import Any, Literal, Union

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import Meta, UnsetType

from accord.protocol import v1, v2, v2_june
from accord.protocol.model import Mark, Unknown, Untagged, UntaggedLists, Wire
from accord.protocol.v1 import draft as v1_draft
from accord.protocol.v2 import draft as v2_draft

EDITIONS = {
    "v1": (v1,),
    "v1.draft": (v1, v1_draft),
    "v2": (v2,),
    "v2.draft": (v2, v2_draft),
    "v2_june": (v2_june,),
}

# Half of an emoji, as it comes from peers that cut a string by UTF-16 units.
CUT = "\ud83d"
WHOLE_TEXTS = st.text(max_size=4)
CUT_TEXTS = st.text(max_size=2).map(lambda text: text + CUT)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
BIG = 2**70


def structs_of(package: str) -> list[type[Wire]]:
    """The structs that a package defines itself, by name."""
    prefix = f"accord.protocol.{package}."
    found: dict[str, type[Wire]] = {}
    for module in EDITIONS[package]:
        for name, kind in vars(module).items():
            is_struct = isinstance(kind, type) and issubclass(kind, Wire)
            if is_struct and kind.__module__.removeprefix(prefix).count(".") == 0:
                found[name] = kind
    return list(found.values())


def json_values(texts: SearchStrategy[str]) -> SearchStrategy[Any]:
    """Any JSON value, integers beyond 64 bits included."""
    leaves = st.none() | st.booleans() | st.integers(-BIG, BIG) | FINITE | texts
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
        max_leaves=3,
    )


class Values:
    """Strategies by type; `texts` is what strings are made of."""

    def __init__(self, texts: SearchStrategy[str] = WHOLE_TEXTS) -> None:
        self.texts = texts
        self.json = json_values(texts)
        self.of = functools.cache(self._of)

    def _of(self, kind: Any) -> SearchStrategy[Any]:
        marks: tuple[Any, ...] = ()
        if typing.get_origin(kind) is typing.Annotated:
            marks, kind = kind.__metadata__, kind.__origin__
        origin = typing.get_origin(kind)
        if origin is Union or origin is types.UnionType:
            return self._union(kind, marks)
        if origin is list:
            least = max((mark.min_length or 0 for mark in marks if isinstance(mark, Meta)), default=0)
            return st.lists(self.of(typing.get_args(kind)[0]), min_size=least, max_size=max(2, least))
        if origin is dict:
            return st.dictionaries(self.texts, self.of(typing.get_args(kind)[1]), max_size=2)
        if origin is Literal:
            return st.sampled_from(typing.get_args(kind))
        if isinstance(kind, type) and issubclass(kind, Wire | Untagged | UntaggedLists):
            return self._shaped(kind, marks)
        return self._leaf(kind, marks)

    def _union(self, kind: Any, marks: tuple[Any, ...]) -> SearchStrategy[Any]:
        members = [member for member in typing.get_args(kind) if member is not UnsetType]
        # What is private nobody sends: it only makes a tag required.
        public = [member for member in members if not getattr(member, "__name__", "").startswith("_")]
        strategies = [self.of(member) for member in public]
        if Mark.OPEN in marks:
            strategies.append(self._unknown(members))
        return st.one_of(strategies)

    def _unknown(self, members: list[type[Wire]]) -> SearchStrategy[Unknown]:
        tag_field = str(members[0].__struct_config__.tag_field)
        known = [member.__struct_config__.tag for member in members]
        unknown = self._payload(tag_field, known)
        for member in members:
            # An update of a state that nobody knows: two tags, of which only the second is new.
            subtag = getattr(member, "subtag", None)
            if subtag is not None:
                states = typing.get_args(typing.get_type_hints(member)[subtag])
                tag = {tag_field: member.__struct_config__.tag}
                unknown |= self._payload(subtag, states).map(
                    lambda found, tag=tag: Unknown(found.tag, found.payload | tag)  # type: ignore[misc]
                )
        return unknown

    def _payload(self, tag_field: str, known: typing.Collection[Any]) -> SearchStrategy[Unknown]:
        tags = self.texts.filter(lambda tag: tag not in known)
        further = st.dictionaries(self.texts, self.json, max_size=2)
        return st.builds(lambda tag, payload: Unknown(tag, payload | {tag_field: tag}), tags, further)

    def _shaped(self, kind: Any, marks: tuple[Any, ...]) -> SearchStrategy[Any]:
        if issubclass(kind, UntaggedLists):
            return st.one_of([st.lists(self.of(item), max_size=2) for item in kind.by_key.values()])
        if issubclass(kind, Untagged):
            members = st.one_of([self.of(member) for member in {*kind.tagged.values(), *kind.plain}])
            return members | self._payload(kind.tag_field, kind.tagged) if kind.tag_field else members
        if Mark.OPEN in marks:
            return self._struct(kind) | self._unknown([kind])
        return self._struct(kind)

    def _struct(self, kind: type[Wire]) -> SearchStrategy[Any]:
        hints = typing.get_type_hints(kind, include_extras=True)
        required = {field.name: self.of(hints[field.name]) for field in msgspec.structs.fields(kind) if field.required}
        optional = {name: self.of(hint) for name, hint in self._hints(kind).items() if name not in required}
        made = [
            st.fixed_dictionaries(required | forced, optional={n: s for n, s in optional.items() if n not in left_out})
            for forced, left_out in self._shapes(kind)
        ]
        return st.one_of(made).map(lambda values: kind(**values))

    def _hints(self, kind: type[Wire]) -> dict[str, Any]:
        hints = typing.get_type_hints(kind, include_extras=True)
        return {field.name: hints[field.name] for field in msgspec.structs.fields(kind)}

    def _shapes(self, kind: type[Wire]) -> list[tuple[dict[str, SearchStrategy[Any]], set[str]]]:
        """What a struct whose fields depend on each other may look like: the fields that are fixed or left out."""
        names = {field.name for field in msgspec.structs.fields(kind)}
        if kind.__name__ == "SetSessionConfigOptionRequest" and "type" in names:
            ids: dict[str, SearchStrategy[Any]] = {"value": self.texts}
            if "id" in typing.get_args(typing.get_args(self._hints(kind)["type"])[0]):
                ids["type"] = st.just("id")
            booleans = {"type": st.just("boolean"), "value": st.booleans()}
            return [(ids, set(ids) | {"type"}), (booleans, set(booleans))]
        if {"message", "session_id", "request_id"} <= names:
            hints = self._hints(kind)
            by_session = {"session_id": self.of(hints["session_id"])}
            by_request = {"request_id": self.of(hints["request_id"])}
            return [
                (by_session, {"session_id", "request_id"}),
                (by_request, {"session_id", "request_id", "tool_call_id"}),
            ]
        return [({}, set())]

    def _leaf(self, kind: Any, marks: tuple[Any, ...]) -> SearchStrategy[Any]:
        bounds = next((mark for mark in marks if isinstance(mark, Meta)), Meta())
        if kind is str:
            return self.texts.filter(bool) if bounds.min_length else self.texts
        if kind is bool:
            return st.booleans()
        if kind is int:
            return st.integers(int(bounds.ge) if bounds.ge is not None else None, int(bounds.le or BIG))
        if kind is float:
            return st.floats(bounds.ge, bounds.le, allow_nan=False, allow_infinity=False)
        return st.none() if kind is types.NoneType else self.json
