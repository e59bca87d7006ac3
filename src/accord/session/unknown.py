"""Updates and values that no edition names, as they are on the wire."""

from typing import Any

import msgspec

from accord.protocol.model import Unknown
from accord.session.event import UnknownUpdate

__all__ = ["payload_of", "unknown_update"]


def unknown_update(update: Any) -> UnknownUpdate:
    """The update as it came; also one that only an edition's draft names."""
    if isinstance(update, Unknown):
        return UnknownUpdate(update.tag, update.payload)
    return UnknownUpdate(str(type(update).__struct_config__.tag), payload_of(update))


def payload_of(value: Any) -> dict[str, Any]:
    """A typed value as the object it is on the wire."""
    payload: dict[str, Any] = msgspec.to_builtins(value, enc_hook=lambda unknown: unknown.payload)
    return payload
