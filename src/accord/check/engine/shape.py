"""The schema check of payloads: whether they fit the types of their edition, and their unknown keys.

Payloads are read strictly as the types of the edition: a value that a receiver would tolerate is a misfit here. Unknown
enum values are no misfit where the schema is open, and neither are unknown keys, which are reported apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.check.engine.evidence import Entry, Record, messages_in
from accord.check.rule import EditionName
from accord.protocol.codec import Misfit
from accord.protocol.edition import EDITIONS, Edition
from accord.protocol.model import Mark, Unknown
from accord.protocol.salvage import Salvage

_EDITIONS: dict[str, Edition] = {edition.name: edition for edition in EDITIONS}


class Payload(NamedTuple):
    """Params of a call by the agent, or the result of a call by us, with the method they belong to."""

    entry: Entry
    method: str
    value: Any
    is_result: bool


class Shape(NamedTuple):
    """The result of reading a payload; `field` is a dotted path to the misfit, "" for the whole."""

    problem: str
    """The expected type, or ""."""
    field: str
    further: tuple[str, ...]
    """The keys at the root of the payload that the edition does not name."""


def payloads(record: Record) -> Iterator[Payload]:
    """The params and results of an agent in one process; absent params count as empty."""
    # An id may be used again when its request was answered: the latest request counts.
    asked: dict[tuple[type, Any], str] = {}
    for entry in record.entries:
        for _, message in messages_in([entry], sent=entry.sent):
            method = message.get("method")
            if entry.sent and isinstance(method, str) and "id" in message:
                asked[_key(message)] = method
            elif not entry.sent and isinstance(method, str):
                yield Payload(entry, method, message.get("params", {}), is_result=False)
            elif not entry.sent and "result" in message and "method" not in message and _key(message) in asked:
                yield Payload(entry, asked[_key(message)], message["result"], is_result=True)


def _key(message: dict[str, Any]) -> tuple[type, Any]:
    id_ = message.get("id")
    return (type(id_), id_) if isinstance(id_, int | float | str) else (type(id_), None)


def shape_of(edition: EditionName, payload: Payload, *, is_root: bool = False) -> Shape:
    """The result for a payload; extension methods have no shape, other methods have to be the edition's.

    With `is_root` only the keys at the root are looked at.
    """
    if payload.method.startswith("_"):
        return Shape("", "", ())
    kind = _type_of(_EDITIONS[edition], payload)
    if kind is None:
        return Shape("a method of the protocol", "", ())
    reading = _Reading(is_closed=edition == "v1", is_root=is_root)
    value, reading.further = _without_2025(edition, payload)
    try:
        reading.read(kind, value)
    except Misfit as misfit:
        return Shape(misfit.expected, misfit.field, tuple(reading.further))
    return Shape("", "", tuple(reading.further))


def _without_2025(edition: EditionName, payload: Payload) -> tuple[Any, list[str]]:
    """The value without the one key that our types of v1 still read and its schema does not name any more; that key."""
    if edition != "v1" or not isinstance(payload.value, dict) or payload.method not in {"session/new", "session/load"}:
        return payload.value, []
    kept = {key: each for key, each in payload.value.items() if key != "models"}
    return kept, ["models"] if "models" in payload.value else []


def _type_of(edition: Edition, payload: Payload) -> Any:
    # A method of the unstable text is no vendor extension.
    for known in (edition, edition.draft):
        if payload.is_result:
            served = known.request("agent", payload.method)
            if served is not None:
                return served.result
        else:
            asked = known.request("client", payload.method) or known.notification("client", payload.method)
            if asked is not None:
                return asked.params
    return None


class _Reading(Salvage):
    """Strict, but for unknown enum values and keys; unknown keys at the root are collected in `further`."""

    def __init__(self, *, is_closed: bool, is_root: bool) -> None:
        super().__init__(strict=True)
        self._is_closed, self._is_root = is_closed, is_root
        self.further: list[str] = []

    def _enum(self, known: tuple[Any, ...], marks: list[Any], value: Any, path: str) -> Any:
        # Open enums take any string; other rules judge the values.
        if isinstance(value, str) and Mark.CLOSED not in marks:
            return value
        return super()._enum(known, marks, value, path)

    def _keep(self, tag: str, value: dict[str, Any], path: str) -> Any:
        if self._is_closed:
            raise Misfit(path, "a variant that this edition names")
        return Unknown(tag, value)

    def _chosen(self, kind: Any, value: Any, path: str) -> Any:
        if self._is_closed and kind.choose(value) is Unknown:
            # v1's schema neither demands nor forbids a tag of the plain member of a union: a login method of an unknown
            # type fits as one that the agent does itself.
            for plain in kind.plain[:1]:
                return self.read(plain, value, path)
        return super()._chosen(kind, value, path)

    def _no_further_keys(self, kind: Any, fields: Any, value: dict[str, Any], path: str) -> None:  # type: ignore[override]
        if not path:
            known = {field.key for field in fields} | {kind.__struct_config__.tag_field}
            self.further += [key for key in value if key not in known]
            if self._is_root:
                raise Misfit("", "")
