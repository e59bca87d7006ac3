"""The check of events: every value in them has the type that its field is declared with.

Structs take any value without a look. A value of another type would be kept and sent as it is: the client gets a
message that does not fit, and no process can read the session's log again. So an agent checks what its author says,
where the author still sees the line that said it.

The checks are made from the annotations of `session.event`, for each type at its first use. Most fields take a look at
the exact type of their value and nothing more.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, Union

import msgspec

from accord.protocol.model import Unknown
from accord.session.custom import Custom
from accord.session.event import Event

__all__ = ["check_event"]


class _Misfit(NamedTuple):
    path: str
    expected: str
    found: object


_Check: TypeAlias = Callable[[Any], _Misfit | None]


class _Rule(NamedTuple):
    exact: frozenset[type]
    """Values of exactly these types fit."""
    check: _Check
    """Of all other values."""
    expected: str
    struct: type | None = None
    """The struct that it is the rule of."""


def check_event(event: Event) -> None:
    """Check an event of an author.

    Raises:
        TypeError: It is no event, or a value in it has a type that its field does not take; the text names both.
    """
    kind = type(event)
    if kind not in _EVENTS:
        raise TypeError(f"a {kind.__name__} is no event of a session")
    misfit = _struct(kind)(event)
    if misfit is not None:
        found = type(misfit.found).__name__
        raise TypeError(f"{kind.__name__}{misfit.path} is a {found}: expected {misfit.expected}")


_EVENTS: frozenset[type] = frozenset(typing.get_args(Event))


@functools.cache
def _struct(kind: type[msgspec.Struct]) -> _Check:
    hints = typing.get_type_hints(kind)
    fields = [(field.name, _rule(hints[field.name])) for field in msgspec.structs.fields(kind)]
    looked_at = [(name, rule.exact, rule.check) for name, rule in fields if rule is not None]

    def check(value: Any) -> _Misfit | None:
        for name, exact, check_field in looked_at:
            inner = getattr(value, name)
            if type(inner) not in exact:
                misfit = check_field(inner)
                if misfit is not None:
                    return misfit._replace(path=f".{name}{misfit.path}")
        return None

    return check


def _rule(hint: Any) -> _Rule | None:
    """The rule of an annotation; None where any value fits."""
    if hint is Any:
        return None
    origin = typing.get_origin(hint)
    if origin is Union or origin is types.UnionType:
        members = typing.get_args(hint)
        # A word of the specification, or any other, is any text.
        is_open = str in members or Custom in members
        return _union([_rule(each) for each in members if not is_open or typing.get_origin(each) is not Literal])
    if origin is Literal:
        return _word(typing.get_args(hint))
    if origin in (list, tuple):
        return _items(_rule(typing.get_args(hint)[0]), "a list")
    if origin is dict:
        return _plain_rule((dict,), "a dict")
    if hint is Custom:
        return _LEAVES[str]
    if issubclass(hint, msgspec.Struct):
        return _struct_rule(hint)
    return _LEAVES[hint]


def _union(rules: list[_Rule | None]) -> _Rule | None:
    known = [rule for rule in rules if rule is not None]
    if len(known) < len(rules):
        return None
    structs = {rule.struct: rule.check for rule in known if rule.struct is not None}
    others = [rule.check for rule in known if rule.struct is None]
    expected = " or ".join(rule.expected for rule in known if rule.expected)

    def check(value: Any) -> _Misfit | None:
        check_struct = structs.get(type(value))
        if check_struct is not None:
            return check_struct(value)
        misfits = [check_other(value) for check_other in others]
        if None in misfits:
            return None
        # One that looked into the value knows more than those that refused it as a whole.
        return next((misfit for misfit in misfits if misfit and misfit.path), _Misfit("", expected, value))

    return _Rule(frozenset().union(*(rule.exact for rule in known)), check, expected)


def _struct_rule(kind: type[msgspec.Struct]) -> _Rule:
    def check(value: Any) -> _Misfit | None:
        found: type = type(value)
        # The exact type: encoders are found by it.
        return _struct(kind)(value) if found is kind else _Misfit("", kind.__name__, value)

    return _Rule(frozenset(), check, kind.__name__, kind)


def _items(item: _Rule | None, expected: str) -> _Rule:
    def check(value: Any) -> _Misfit | None:
        if not isinstance(value, list | tuple):
            return _Misfit("", expected, value)
        if item is None:
            return None
        for place, inner in enumerate(value):
            misfit = None if type(inner) in item.exact else item.check(inner)
            if misfit is not None:
                return misfit._replace(path=f"[{place}]{misfit.path}")
        return None

    return _Rule(frozenset(), check, expected)


def _word(words: tuple[Any, ...]) -> _Rule:
    expected = f"one of {', '.join(words)}"

    def check(value: Any) -> _Misfit | None:
        return None if isinstance(value, str) and value in words else _Misfit("", expected, value)

    return _Rule(frozenset(), check, expected)


def _plain_rule(kinds: tuple[type, ...], expected: str) -> _Rule:
    def check(value: Any) -> _Misfit | None:
        for each in (value, _as_json(value)):
            if isinstance(each, kinds) and (not isinstance(each, bool) or bool in kinds):
                return None
        return _Misfit("", expected, value)

    return _Rule(frozenset(kinds), check, expected)


def _as_json(value: Any) -> Any:
    """The value that is written for a member of an enum, an id of the module `uuid`, a date and the like."""
    if isinstance(value, bytes | bytearray | memoryview):
        return value  # as text it would be base64
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return value


_LEAVES: dict[Any, _Rule] = {
    str: _plain_rule((str,), "a str"),
    int: _plain_rule((int,), "an int"),
    float: _plain_rule((float, int), "a float"),
    bool: _plain_rule((bool,), "a bool"),
    bytes: _plain_rule((bytes, bytearray, memoryview), "bytes"),
    type(None): _plain_rule((type(None),), ""),
    msgspec.UnsetType: _plain_rule((msgspec.UnsetType,), ""),
    Unknown: _plain_rule((Unknown,), "Unknown"),
}
