"""Conversion of values that have a JSON form but no JSON type: subclasses of strings and numbers, models, dataclasses.

`plain_value` is a hook for msgspec, which calls it for types that it cannot encode itself: the exact types, enums,
dataclasses, attrs classes and structs never come here.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["plain", "plain_text", "plain_value"]


def plain_value(value: Any) -> Any:
    """The same value as a type that msgspec encodes.

    Raises:
        TypeError: It has no form in JSON.
    """
    # Not by `str(value)` and the like: a subclass may override `__str__`.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump(mode="json")  # pydantic's, without importing it
        except Exception as error:
            message = f"a {type(value).__name__} does not give itself as JSON"
            raise TypeError(message) from error
    message = f"a {type(value).__name__} cannot be written as JSON"
    raise TypeError(message)


def plain_text(text: str) -> str:
    """The text as an exact `str`: methods of a subclass could behave differently."""
    return text if type(text) is str else str.__str__(text)


def plain(value: Any) -> Any:
    """A copy that holds nothing but dicts, lists, tuples, strings, numbers, booleans and None.

    Raises:
        TypeError, ValueError, RecursionError: It is no JSON value.
    """
    return msgspec.to_builtins(value, enc_hook=plain_value, str_keys=True)
