"""The type of JSON values in signatures."""

from typing import Any, TypeAlias

__all__ = ["JsonValue"]

JsonValue: TypeAlias = Any
"""A JSON value: None, a bool, a number, a string, a list, or a dict with strings as keys.

Where an author gives one, it may also be what becomes one: a dataclass, a pydantic model, a subclass of `str` or of a
number. Type checkers take it for `Any`, so that a part of it can be read without a cast.
"""
