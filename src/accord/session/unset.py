"""Conversions between the wire's absent, null and value, and the core's None and value."""

from collections.abc import Callable
from typing import TypeVar

from accord.protocol.model import UNSET, Maybe, UnsetType

__all__ = ["mapped", "or_none", "or_unset", "unless_null"]

T = TypeVar("T")
S = TypeVar("S")


def or_unset(value: T | None) -> T | UnsetType:
    """For the wire: what is None is not written."""
    return UNSET if value is None else value


def or_none(value: Maybe[T]) -> T | None:
    """From the wire: what is not written is None."""
    return None if value is UNSET else value


def unless_null(value: Maybe[T]) -> T | UnsetType:
    """From an edition in which null changes nothing (v1 rule 28)."""
    return UNSET if value is None else value


def mapped(function: Callable[[T], S], value: Maybe[T]) -> Maybe[S]:
    """The value converted, where there is one; absent and null stay what they are."""
    return value if value is UNSET or value is None else function(value)
