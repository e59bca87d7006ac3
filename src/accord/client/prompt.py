"""The content blocks of a prompt, from texts, paths and blocks; files are embedded or linked by capability."""

from __future__ import annotations

import base64
import mimetypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from accord.errors import LocalProtocolError
from accord.jsonrpc.plain import plain_text
from accord.protocol.model import Unknown
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["Promptable", "prompt_blocks"]

Promptable: TypeAlias = str | os.PathLike[str] | Block
"""A text, the path of a file (a `pathlib.Path`, never a string), or a content block."""

# More than this is linked, not embedded: a prompt is read by a model.
EMBED_BYTES = 1024 * 1024
MEDIA_BYTES = 20 * 1024 * 1024


def prompt_blocks(content: Iterable[Promptable], cwd: str, kinds: frozenset[str]) -> list[Block]:
    """The blocks; `kinds` are those that the agent takes beside text and links.

    Raises:
        ValueError: The prompt is empty.
        TypeError: Something is no text, path or block.
        LocalProtocolError: The agent does not take such a block.
        OSError: A file cannot be read.
    """
    blocks = [_block(item, cwd, kinds) for item in content]
    if not blocks:
        raise ValueError("a prompt must not be empty")
    for block in blocks:
        kind = _needs(block)
        if kind is not None and kind not in kinds:
            raise LocalProtocolError(f"this agent takes no {kind} in prompts", field="prompt", expected="text, links")
    return blocks


def _block(item: Promptable, cwd: str, kinds: frozenset[str]) -> Block:
    if isinstance(item, str):
        return Text(plain_text(item))
    if isinstance(item, os.PathLike):
        return file_block(Path(cwd, item), kinds)
    if not isinstance(item, Block):
        what = type(item).__name__
        raise TypeError(f"a prompt is made of texts, paths and content blocks, not of {what}")
    return item


def file_block(path: Path, kinds: frozenset[str]) -> Block:
    """A file as the richest block that the agent takes: image, audio, embedded text, or a link; a directory as a link.

    Raises:
        ValueError: It is neither: a FIFO, a device, a socket.
        OSError: It cannot be read.
    """
    mime_type, _ = mimetypes.guess_type(path.name)
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        return Link(path.absolute().as_uri(), path.name or str(path))
    if not stat.S_ISREG(found.st_mode):
        # Reading it could block for ever.
        raise ValueError(f"{path} is neither a file nor a directory")
    size = found.st_size
    media = (mime_type or "").partition("/")[0]
    if media in {"image", "audio"} and media in kinds and size <= MEDIA_BYTES and mime_type is not None:
        data = base64.b64encode(path.read_bytes()).decode()
        uri = path.absolute().as_uri()
        return Image(data, mime_type, uri) if media == "image" else Audio(data, mime_type)
    if "resource" in kinds and size <= EMBED_BYTES:
        data_bytes = path.read_bytes()
        try:
            return Resource(path.absolute().as_uri(), text=data_bytes.decode(), mime_type=mime_type)
        except UnicodeDecodeError:
            blob = base64.b64encode(data_bytes).decode()
            return Resource(path.absolute().as_uri(), blob=blob, mime_type=mime_type)
    return Link(path.absolute().as_uri(), path.name, mime_type=mime_type, size=size)


def _needs(block: Block) -> str | None:
    match block:
        case Image():
            return "image"
        case Audio():
            return "audio"
        case Resource():
            return "resource"
        case Unknown():
            return block.tag
        case _:
            return None
