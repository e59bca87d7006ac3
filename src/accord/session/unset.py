"""Conversions between the absent, null and unknown values of the wire and the None and `UnknownUpdate` of the core."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from accord.protocol.model import UNSET, Maybe, Unknown, UnsetType
from accord.session.event import UnknownUpdate

__all__ = ["mapped", "or_none", "or_unset", "payload_of", "unknown_update", "unless_null"]

T = TypeVar("T")
S = TypeVar("S")


def or_unset(value: T | None) -> T | UnsetType:
    """For the wire: None becomes absent."""
    return UNSET if value is None else value


def or_none(value: Maybe[T]) -> T | None:
    """From the wire: absent becomes None."""
    return None if value is UNSET else value


def unless_null(value: Maybe[T]) -> T | UnsetType:
    """From an edition in which null changes nothing (v1 rule 28)."""
    return UNSET if value is None else value


def mapped(function: Callable[[T], S], value: Maybe[T]) -> Maybe[S]:
    """The converted value; absent and null stay unchanged."""
    return value if value is UNSET or value is None else function(value)


def unknown_update(update: Any) -> UnknownUpdate:
    """The update with its raw payload; also for an update that only an edition's draft defines."""
    if isinstance(update, Unknown):
        return UnknownUpdate(update.tag, update.payload)
    return UnknownUpdate(str(type(update).__struct_config__.tag), payload_of(update))


def payload_of(value: Any) -> dict[str, Any]:
    """A typed value as the object it is on the wire."""
    payload: dict[str, Any] = msgspec.to_builtins(value, enc_hook=lambda unknown: unknown.payload)
    return payload
