"""Updates that no ear knows, kept as they came."""

from typing import Any

import msgspec

from accord.protocol.model import Unknown
from accord.session.event import UnknownUpdate

__all__ = ["payload_of", "unheard"]


def unheard(update: Any) -> UnknownUpdate:
    """The update as it came; also one that an edition's draft names and the core does not."""
    if isinstance(update, Unknown):
        return UnknownUpdate(update.tag, update.payload)
    return UnknownUpdate(str(type(update).__struct_config__.tag), payload_of(update))


def payload_of(value: Any) -> dict[str, Any]:
    """A typed value as the object it is on the wire."""
    payload: dict[str, Any] = msgspec.to_builtins(value, enc_hook=lambda unknown: unknown.payload)
    return payload
