"""Absent, null and a value: how fields that are absent or there meet the core's fields that are None or there."""

from collections.abc import Callable
from typing import TypeVar

from accord.protocol.model import UNSET, Maybe, UnsetType

__all__ = ["given", "lasting", "mapped", "told"]

T = TypeVar("T")
S = TypeVar("S")


def given(value: T | None) -> T | UnsetType:
    """For the wire: what is None is not written."""
    return UNSET if value is None else value


def told(value: Maybe[T]) -> T | None:
    """From the wire: what is not written is None."""
    return None if value is UNSET else value


def lasting(value: Maybe[T]) -> T | UnsetType:
    """From an edition in which null changes nothing (v1 rule 28)."""
    return UNSET if value is None else value


def mapped(function: Callable[[T], S], value: Maybe[T]) -> Maybe[S]:
    """The value in other words, where there is one; absent and null stay what they are."""
    return value if value is UNSET or value is None else function(value)
