"""The user's prompt as a message for models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from accord.coder.model import Picture, UserMessage
from accord.session.content import Block, Image, Link, Resource, Text

__all__ = ["message_of"]


def message_of(blocks: Sequence[Block], cwd: str) -> UserMessage:
    """A prompt as models take it: links and files by name in their place, what was embedded behind the text."""
    texts: list[str] = []
    behind: list[str] = []
    pictures: list[Picture] = []
    for block in blocks:
        match block:
            case Text(text=text):
                texts.append(text)
            case Link(uri=uri):
                texts.append(_named(uri, cwd))
            case Resource(uri=uri, text=str(text)):
                texts.append(_named(uri, cwd))
                behind.append(f"{_named(uri, cwd)}:\n{text}")
            case Image(data=data, mime_type=mime_type):
                pictures.append(Picture(data, mime_type))
            case _:
                continue
    return UserMessage("".join(_spaced(texts)), pictures, "\n\n".join(behind))


def _spaced(texts: Sequence[str]) -> list[str]:
    """Pieces that were not written with a space between them get one."""
    return [
        text if n == 0 or texts[n - 1][-1:].isspace() or text[:1].isspace() else f" {text}"
        for n, text in enumerate(texts)
    ]


def _named(uri: str, cwd: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:  # brackets that hold no address
        return uri
    path = unquote(parts.path)
    if parts.scheme != "file" or not path:
        return uri
    inside = os.path.relpath(path, cwd)
    return path if inside.startswith("..") else inside
