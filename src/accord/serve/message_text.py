"""Messages as texts that a host changes on their way: other members, an advertisement."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MOVED_METHOD", "RESUME", "advertise", "changed", "params_of"]

RESUME = "accord/resume"
MOVED_METHOD = "_accord-fleet/moved"
"""A notification between nodes: a session was released, and may be opened elsewhere."""


def changed(text: bytes, **members: Any) -> bytes:
    """A message with other members."""
    return _encode({**json.loads(text), **members})


def params_of(text: bytes) -> dict[str, Any]:
    """The params of a message, empty if they are no object."""
    params = json.loads(text).get("params")
    return params if isinstance(params, dict) else {}


def advertise(text: bytes, connection_id: str, grace_seconds: float) -> bytes:
    """The answer to `initialize` with the advertisement of docs/remote-wire.md in the `_meta` of the capabilities."""
    message = json.loads(text)
    result = message.get("result")
    if not isinstance(result, dict):
        return text
    place = result
    for key in ("agentCapabilities", "capabilities"):
        if isinstance(result.get(key), dict):
            place = result[key]
            break
    meta = place.get("_meta")
    place["_meta"] = {
        **(meta if isinstance(meta, dict) else {}),
        RESUME: {"connectionId": connection_id, "graceSeconds": grace_seconds},
    }
    return _encode(message)


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")
