"""Content blocks in v2: with icons, and with bounds that are new; what has no name passes as it is."""

from typing import assert_never

from accord.protocol import v2
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.content import Annotations, Audio, Block, Icon, Image, Link, Resource, Text
from accord.session.presence import given, told

__all__ = ["block_in", "block_out", "blocks_in", "blocks_out"]

PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/!$&'()*+,;=:@")
"""What stands in the path of a URI as it is (RFC 3986)."""


def blocks_out(blocks: list[Block]) -> list[v2.ContentBlock]:
    """The blocks as this edition writes them."""
    return [block_out(block) for block in blocks]


def blocks_in(blocks: list[v2.ContentBlock]) -> list[Block]:
    """The blocks as this edition meant them."""
    return [block_in(block) for block in blocks]


def block_out(block: Block) -> v2.ContentBlock:
    """One block as this edition writes it."""
    if type(block) is Text and block.annotations is None and not block.meta:
        return v2.TextContent(block.text)
    match block:
        case Text():
            return v2.TextContent(block.text, annotations=_annotations_out(block.annotations), meta=block.meta or UNSET)
        case Image():
            return v2.ImageContent(
                block.data,
                block.mime_type,
                uri=UNSET if block.uri is None else _uri(block.uri),
                annotations=_annotations_out(block.annotations),
                meta=block.meta or UNSET,
            )
        case Audio():
            return v2.AudioContent(
                block.data,
                block.mime_type,
                annotations=_annotations_out(block.annotations),
                meta=block.meta or UNSET,
            )
        case Link():
            return v2.ResourceLink(
                block.name,
                _uri(block.uri),
                title=given(block.title),
                description=given(block.description),
                mime_type=given(block.mime_type),
                icons=UNSET if block.icons is None else [_icon_out(icon) for icon in block.icons],
                size=block.size if block.size is not None and block.size >= 0 else UNSET,
                annotations=_annotations_out(block.annotations),
                meta=block.meta or UNSET,
            )
        case Resource():
            return v2.EmbeddedResource(
                _contents_out(block), annotations=_annotations_out(block.annotations), meta=block.meta or UNSET
            )
        case Unknown():
            return block
        case _:
            assert_never(block)


def _uri(uri: str) -> str:
    # Agents of v1 put bare paths where a URI belongs.
    if not uri.startswith("/"):
        return uri
    return "file://" + "".join(
        chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in uri.encode("utf-8", "replace")
    )


def _icon_out(icon: Icon) -> v2.Icon:
    return v2.Icon(icon.src, given(icon.mime_type), given(icon.sizes), given(icon.theme), icon.meta or UNSET)


def _icon_in(icon: v2.Icon) -> Icon:
    return Icon(icon.src, told(icon.mime_type), told(icon.sizes), told(icon.theme), icon.meta or None)


def _annotations_out(annotations: Annotations | None) -> Maybe[v2.Annotations]:
    if annotations is None:
        return UNSET
    return v2.Annotations(
        audience=given(annotations.audience),
        last_modified=given(annotations.last_modified),
        priority=UNSET if annotations.priority is None else min(max(annotations.priority, 0), 1),
        meta=annotations.meta or UNSET,
    )


def _contents_out(block: Resource) -> v2.TextResourceContents | v2.BlobResourceContents:
    uri, mime_type, meta = _uri(block.uri), given(block.mime_type), block.contents_meta or UNSET
    if block.text is None and block.blob is not None:
        return v2.BlobResourceContents(block.blob, uri, mime_type, meta)
    return v2.TextResourceContents(block.text or "", uri, mime_type, meta)


def block_in(block: v2.ContentBlock) -> Block:
    """One block as this edition meant it."""
    match block:
        case v2.TextContent():
            return Text(block.text, _annotations_in(block.annotations), block.meta or None)
        case v2.ImageContent():
            uri, annotations = told(block.uri), _annotations_in(block.annotations)
            return Image(block.data, block.mime_type, uri, annotations, block.meta or None)
        case v2.AudioContent():
            return Audio(block.data, block.mime_type, _annotations_in(block.annotations), block.meta or None)
        case v2.ResourceLink():
            return Link(
                block.uri,
                block.name,
                told(block.title),
                told(block.description),
                told(block.mime_type),
                told(block.size),
                [_icon_in(icon) for icon in block.icons] if block.icons else None,
                annotations=_annotations_in(block.annotations),
                meta=block.meta or None,
            )
        case v2.EmbeddedResource():
            return _resource_in(block)
        case Unknown():
            return block
        case _:
            assert_never(block)


def _annotations_in(annotations: Maybe[v2.Annotations]) -> Annotations | None:
    if not annotations:
        return None
    return Annotations(
        told(annotations.audience),
        told(annotations.last_modified),
        told(annotations.priority),
        annotations.meta or None,
    )


def _resource_in(block: v2.EmbeddedResource) -> Resource:
    contents = block.resource
    return Resource(
        contents.uri,
        contents.text if isinstance(contents, v2.TextResourceContents) else None,
        contents.blob if isinstance(contents, v2.BlobResourceContents) else None,
        told(contents.mime_type),
        _annotations_in(block.annotations),
        block.meta or None,
        contents.meta or None,
    )
