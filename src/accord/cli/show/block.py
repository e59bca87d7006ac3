"""Blocks as text: what is text is shown, and of everything else it is said what it is."""

from __future__ import annotations

from collections.abc import Iterable

from accord.cli.show.quantity import size
from accord.display import SafeText, filled, joined, json_text, own, prose
from accord.protocol.model import Unknown
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["block_text", "blocks_text"]


def block_text(block: Block) -> SafeText:
    """One block."""
    match block:
        case Text():
            return prose(block.text)
        case Image() | Audio():
            kind = own("image") if isinstance(block, Image) else own("audio")
            return filled("[{} {}, {}]", kind, block.mime_type, size(len(block.data) * 3 // 4))
        case Link():
            return filled("[{}]({})", block.title or block.name, block.uri)
        case Resource():
            return filled("[{}, embedded]", block.uri)
        case Unknown():
            return json_text(block.payload)


def blocks_text(blocks: Iterable[Block]) -> SafeText:
    """Several, one after the other."""
    return joined(block_text(block) for block in blocks)
