"""A prompt's blocks as the one string that the page knows."""

from __future__ import annotations

from typing import Any

__all__ = ["prompt_text"]


def prompt_text(blocks: Any) -> Any:
    """The blocks, a line apart: texts as they are, and for the others a few words that stand for them."""
    if not isinstance(blocks, list):
        return blocks
    return "\n".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource_link":
            return f"[{block.get('title') or block.get('name')}]({block.get('uri')})"
        case "resource":
            return _resource(block.get("resource"))
        case kind:
            return "[" + " ".join(str(part) for part in (kind, block.get("mimeType"), block.get("uri")) if part) + "]"


def _resource(resource: Any) -> str:
    if not isinstance(resource, dict):
        return "[resource]"
    uri, text = resource.get("uri"), resource.get("text")
    # A text can be said in a string: the agent gets all of it.
    return f"[resource {uri}]" if text is None else f"[resource {uri}]\n{text}"
