"""Blocks as text: what is text is shown, and of everything else it is said what it is."""

from __future__ import annotations

import json
from collections.abc import Iterable

from accord.cli.show.line import size
from accord.protocol.model import Unknown
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["block_text", "blocks_text", "raw"]


def block_text(block: Block) -> str:
    """One block."""
    match block:
        case Text():
            return block.text
        case Image() | Audio():
            kind = "image" if isinstance(block, Image) else "audio"
            return f"[{kind} {block.mime_type}, {size(len(block.data) * 3 // 4)}]"
        case Link():
            return f"[{block.title or block.name}]({block.uri})"
        case Resource():
            return f"[{block.uri}, embedded]"
        case Unknown():
            return raw(block.payload)


def blocks_text(blocks: Iterable[Block]) -> str:
    """Several, one after the other."""
    return "".join(block_text(block) for block in blocks)


def raw(value: object) -> str:
    """What nobody here has words for, as it came."""
    return json.dumps(value, ensure_ascii=False, default=repr)
