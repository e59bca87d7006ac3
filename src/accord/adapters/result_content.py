"""Results of tools as content of their calls: editors show content, and not the raw output."""

from __future__ import annotations

import base64
import json
from typing import Any

from accord.adapters.prompt_parts import Media
from accord.agent import McpResult, Showable
from accord.jsonrpc.plain import plain, plain_text
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["json_text", "media_block", "result_content", "text_of"]

BLOCKS = (Text, Image, Audio, Link, Resource)


def json_text(value: Any) -> str:
    """Any value as readable JSON; what has no form in JSON is named by its type."""
    return json.dumps(json_value(value), ensure_ascii=False, indent=2)


def json_value(value: Any) -> Any:
    """Any value as plain JSON; what has no form in JSON is named by its type."""
    try:
        return plain(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    # Only the parts that are no JSON lose their form.
    if isinstance(value, dict):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(inner) for inner in value]
    return f"[{type(value).__name__}]"


def media_block(data: str | bytes, mime_type: str, uri: str = "") -> Block:
    """A picture, a recording or any other bytes as a block."""
    text = base64.b64encode(data).decode("ascii") if isinstance(data, bytes) else plain_text(data)
    match Media(text, mime_type).kind:
        case "image":
            return Image(text, mime_type)
        case "audio":
            return Audio(text, mime_type)
        case _:
            return Resource(uri or "data:", blob=text, mime_type=mime_type)


def result_content(value: Any) -> list[Showable]:
    """The content that shows a result: text as text, blocks unchanged, any other value as JSON."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [plain_text(value)]
    if isinstance(value, BLOCKS):
        return [value]
    if isinstance(value, McpResult):
        return list(value.content) or ([] if value.structured is None else [json_text(value.structured)])
    if isinstance(value, Media):
        return [media_block(value.data, value.mime_type)]
    if isinstance(value, list | tuple) and any(isinstance(item, (*BLOCKS, Media)) for item in value):
        return [shown for item in value for shown in result_content(item)]
    return [json_text(value)]


def text_of(blocks: list[Block], structured: Any = None) -> str:
    """Blocks as a text for models that take only text."""
    texts = [text for block in blocks if (text := _block_text(block))]
    if not texts and structured is not None:
        return json_text(structured)
    return "\n".join(texts)


def _block_text(block: Block) -> str:
    match block:
        case Text(text=text) | Resource(text=str(text)):
            return text
        case Link(uri=uri, name=name):
            return f"[{name}]({uri})"
        case Image(mime_type=mime_type) | Audio(mime_type=mime_type):
            return f"[{mime_type}]"
        case _:
            return ""
