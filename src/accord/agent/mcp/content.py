"""Knows how MCP writes content blocks, and makes ours of them with nothing lost.

A kind that nobody knows yet is kept whole as `Unknown`. A known kind with a bad payload is an error.
"""

from __future__ import annotations

from typing import Any

import msgspec

from accord.protocol.model import Unknown
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["block_of"]

_PLAIN: dict[str, type[Text | Image | Audio | Link]] = {
    "text": Text,
    "image": Image,
    "audio": Audio,
    "resource_link": Link,
}
_OURS = {"mimeType": "mime_type", "lastModified": "last_modified", "_meta": "meta"}


def block_of(value: Any) -> Block:
    """Our block for one of MCP's.

    Raises:
        ValueError: This is no block.
    """
    tag = value.get("type") if isinstance(value, dict) else None
    if not isinstance(tag, str):
        raise ValueError("a content block must be an object with a type")  # noqa: TRY004 - it is the peer's value
    if tag == "resource":
        return _resource(value)
    kind = _PLAIN.get(tag)
    return Unknown(tag, value) if kind is None else msgspec.convert(_renamed(value), kind)


def _resource(value: dict[str, Any]) -> Resource:
    contents = value.get("resource")
    if not isinstance(contents, dict):
        raise ValueError("an embedded resource must have contents")  # noqa: TRY004
    inner, outer = _renamed(contents), _renamed(value)
    fields: dict[str, Any] = {key: inner[key] for key in ("uri", "text", "blob", "mime_type") if key in inner}
    fields |= {key: outer[key] for key in ("type", "annotations", "meta") if key in outer}
    resource = msgspec.convert({**fields, "contents_meta": inner.get("meta")}, Resource)
    if resource.text is None and resource.blob is None:
        raise ValueError("an embedded resource must have text or a blob")
    return resource


def _renamed(value: dict[str, Any]) -> dict[str, Any]:
    """The object in our field names. What `_meta` holds stays as it is: its keys belong to whoever wrote them."""
    renamed = {_OURS.get(key, key): held for key, held in value.items()}
    if isinstance(annotations := renamed.get("annotations"), dict):
        renamed["annotations"] = _renamed(annotations)
    if isinstance(icons := renamed.get("icons"), list):
        renamed["icons"] = [_renamed(icon) if isinstance(icon, dict) else icon for icon in icons]
    return renamed
