"""Content blocks, the parts of prompts, messages and tool calls. All editions have the same five kinds."""

from typing import Any, Literal, TypeAlias

import msgspec

from accord.jsonrpc.plain import plain_text
from accord.protocol.model import Unknown
from accord.session.custom import Custom

__all__ = [
    "Annotations",
    "Audio",
    "Block",
    "Blocks",
    "Icon",
    "Image",
    "Link",
    "Part",
    "Resource",
    "Role",
    "Text",
    "block_text",
    "blocks_of",
]


class Part(msgspec.Struct, omit_defaults=True, repr_omit_defaults=True, gc=False):
    """The base of every part of a conversation; also the form in which a store keeps it."""


Role: TypeAlias = Literal["user", "assistant"] | Custom
"""The reader that a block is meant for."""


class Annotations(Part):
    """Hints for the presentation of a block; `priority` is between 0 and 1."""

    audience: list[Role] | None = None
    last_modified: str | None = None
    priority: float | None = None
    meta: dict[str, Any] | None = None


class Text(Part, tag_field="type", tag="text"):
    """Plain text or Markdown."""

    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


class Image(Part, tag_field="type", tag="image"):
    """A picture, its bytes in base64."""

    data: str
    mime_type: str
    uri: str | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


class Audio(Part, tag_field="type", tag="audio"):
    """A recording, its bytes in base64."""

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


class Icon(Part):
    """A picture for a link; `sizes` are like `48x48`, or `any`."""

    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: str | None = None
    meta: dict[str, Any] | None = None


class Link(Part, tag_field="type", tag="resource_link"):
    """A reference to a resource that the other side may be able to read by itself."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


class Resource(Part, tag_field="type", tag="resource"):
    """An embedded resource: `text`, or `blob` in base64. The block and its contents have separate metadata."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None
    contents_meta: dict[str, Any] | None = None


Block: TypeAlias = Text | Image | Audio | Link | Resource | Unknown
"""One block; `Unknown` keeps a kind that no edition defines."""

Blocks: TypeAlias = str | Block | list[Block]
"""Anything that stands for content blocks: a text, a block, or several."""


def blocks_of(content: Blocks) -> list[Block]:
    """A list of blocks from any of the forms that an author may pass."""
    if isinstance(content, str):
        return [Text(plain_text(content))]
    return list(content) if isinstance(content, list) else [content]


def block_text(block: Block) -> str:
    """The text of a block for a model that takes only text; "" for pictures, recordings and bytes."""
    match block:
        case Text(text=text) | Resource(text=str(text)):
            return text
        case Link(uri=uri, name=name):
            return f"[{name}]({uri})"
        case _:
            return ""
