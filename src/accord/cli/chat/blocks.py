"""Blocks that are no text, in a line each: pictures, links, embedded files, and what no edition names yet."""

from __future__ import annotations

from textual.content import Content

from accord.cli.chat.widgets import MUTED, count, label
from accord.display import EMPTY, SafeText, exact, filled, joined, json_text, own, prose
from accord.protocol.model import Unknown
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["block_label"]


def block_label(block: Block) -> Content:
    """What it is, where it comes from, how large it is."""
    match block:
        case Text():
            return label((prose(block.text), ""))
        case Image():
            return _line(own("▣ image"), block.mime_type, _size(block.data), block.uri)
        case Audio():
            return _line(own("♪ audio"), block.mime_type, _size(block.data))
        case Link():
            size = None if block.size is None else filled("{}B", count(block.size))
            return _line(filled("↗ {}", exact(block.title or block.name, 200)), block.uri, size, block.description)
        case Resource():
            size = (
                filled("{} characters", count(len(block.text))) if block.text is not None else _size(block.blob or "")
            )
            return _line(
                filled("▤ {}", exact(block.uri.rsplit("/", 1)[-1] or block.uri, 200)), block.uri, block.mime_type, size
            )
        case Unknown():
            return label((filled("? {}\n{}", block.tag, json_text(block.payload, 2, 4000)), MUTED))


def _line(name: SafeText, *facts: str | None) -> Content:
    rest = joined((exact(fact, 200) if not isinstance(fact, SafeText) else fact for fact in facts if fact), own(" · "))
    return label((name, "bold"), (filled("  {}", rest) if rest else EMPTY, MUTED))


def _size(base64: str) -> SafeText:
    return filled("{}B", count(len(base64) * 3 // 4))
