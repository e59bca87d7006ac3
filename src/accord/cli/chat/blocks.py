"""Blocks that are no text, in a line each: pictures, links, embedded files, and what no edition names yet."""

from __future__ import annotations

from textual.content import Content

from accord.cli.chat.plain import MUTED, count, label, one_line, pretty
from accord.protocol.model import Unknown
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["block_label"]


def block_label(block: Block) -> Content:
    """What it is, where it comes from, how large it is."""
    match block:
        case Text():
            return label((block.text, ""))
        case Image():
            return _line("▣ image", block.mime_type, _size(block.data), block.uri)
        case Audio():
            return _line("♪ audio", block.mime_type, _size(block.data))
        case Link():
            size = None if block.size is None else f"{count(block.size)}B"
            return _line(f"↗ {block.title or block.name}", block.uri, size, block.description)
        case Resource():
            size = f"{count(len(block.text))} characters" if block.text is not None else _size(block.blob or "")
            return _line(f"▤ {block.uri.rsplit('/', 1)[-1] or block.uri}", block.uri, block.mime_type, size)
        case Unknown():
            return label((f"? {block.tag}\n{pretty(block.payload)}", MUTED))


def _line(name: str, *facts: str | None) -> Content:
    rest = " · ".join(one_line(fact) for fact in facts if fact)
    return label((one_line(name), "bold"), (f"  {rest}" if rest else "", MUTED))


def _size(base64: str) -> str:
    return f"{count(len(base64) * 3 // 4)}B"
