"""Content blocks in the June draft: those of v1, and what has no name passes as it is."""

from typing import assert_never

from accord.protocol import v2_june
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.content import Annotations, Audio, Block, Image, Link, Resource, Text
from accord.session.presence import given, told

__all__ = ["block_in", "block_out", "blocks_in", "blocks_out"]


def blocks_out(blocks: list[Block]) -> list[v2_june.ContentBlock]:
    """The blocks as this edition writes them."""
    return [block_out(block) for block in blocks]


def blocks_in(blocks: list[v2_june.ContentBlock]) -> list[Block]:
    """The blocks as this edition meant them."""
    return [block_in(block) for block in blocks]


def block_out(block: Block) -> v2_june.ContentBlock:
    """One block as this edition writes it. A link's icons have no place."""
    if type(block) is Text and block.annotations is None and not block.meta:
        return v2_june.TextContent(block.text)
    match block:
        case Text():
            return v2_june.TextContent(
                block.text, annotations=_annotations_out(block.annotations), meta=block.meta or UNSET
            )
        case Image():
            return v2_june.ImageContent(
                block.data,
                block.mime_type,
                uri=given(block.uri),
                annotations=_annotations_out(block.annotations),
                meta=block.meta or UNSET,
            )
        case Audio():
            return v2_june.AudioContent(
                block.data,
                block.mime_type,
                annotations=_annotations_out(block.annotations),
                meta=block.meta or UNSET,
            )
        case Link():
            return v2_june.ResourceLink(
                block.name,
                block.uri,
                title=given(block.title),
                description=given(block.description),
                mime_type=given(block.mime_type),
                size=given(block.size),
                annotations=_annotations_out(block.annotations),
                meta=block.meta or UNSET,
            )
        case Resource():
            return v2_june.EmbeddedResource(
                _contents_out(block), annotations=_annotations_out(block.annotations), meta=block.meta or UNSET
            )
        case Unknown():
            return block
        case _:
            assert_never(block)


def _annotations_out(annotations: Annotations | None) -> Maybe[v2_june.Annotations]:
    if annotations is None:
        return UNSET
    return v2_june.Annotations(
        audience=given(annotations.audience),
        last_modified=given(annotations.last_modified),
        priority=given(annotations.priority),
        meta=annotations.meta or UNSET,
    )


def _contents_out(block: Resource) -> v2_june.TextResourceContents | v2_june.BlobResourceContents:
    mime_type, meta = given(block.mime_type), block.contents_meta or UNSET
    if block.text is None and block.blob is not None:
        return v2_june.BlobResourceContents(block.blob, block.uri, mime_type, meta)
    return v2_june.TextResourceContents(block.text or "", block.uri, mime_type, meta)


def block_in(block: v2_june.ContentBlock) -> Block:
    """One block as this edition meant it."""
    match block:
        case v2_june.TextContent():
            return Text(block.text, _annotations_in(block.annotations), block.meta or None)
        case v2_june.ImageContent():
            uri, annotations = told(block.uri), _annotations_in(block.annotations)
            return Image(block.data, block.mime_type, uri, annotations, block.meta or None)
        case v2_june.AudioContent():
            return Audio(block.data, block.mime_type, _annotations_in(block.annotations), block.meta or None)
        case v2_june.ResourceLink():
            return Link(
                block.uri,
                block.name,
                told(block.title),
                told(block.description),
                told(block.mime_type),
                told(block.size),
                annotations=_annotations_in(block.annotations),
                meta=block.meta or None,
            )
        case v2_june.EmbeddedResource():
            return _resource_in(block)
        case Unknown():
            return block
        case _:
            assert_never(block)


def _annotations_in(annotations: Maybe[v2_june.Annotations]) -> Annotations | None:
    if not annotations:
        return None
    return Annotations(
        told(annotations.audience),
        told(annotations.last_modified),
        told(annotations.priority),
        annotations.meta or None,
    )


def _resource_in(block: v2_june.EmbeddedResource) -> Resource:
    contents = block.resource
    return Resource(
        contents.uri,
        contents.text if isinstance(contents, v2_june.TextResourceContents) else None,
        contents.blob if isinstance(contents, v2_june.BlobResourceContents) else None,
        told(contents.mime_type),
        _annotations_in(block.annotations),
        block.meta or None,
        contents.meta or None,
    )
