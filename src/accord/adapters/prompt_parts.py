"""A prompt in the form that frameworks take: texts, and media with their bytes, in the order of the blocks."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from accord.agent.session_paths import name_of_uri
from accord.errors import InvalidParams
from accord.session.content import Audio, Block, Image, Link, Resource, Text

__all__ = ["Media", "MediaKind", "PromptPart", "plain_prompt", "prompt_parts"]

MediaKind: TypeAlias = Literal["image", "audio", "video", "file"]
"""The kind of a medium, by its MIME type."""
BINARY = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, a recording or another file of a prompt; `data` is base64, as the client sent it."""

    data: str
    mime_type: str
    name: str | None = None
    """The name of the file, where the client gave one."""

    @property
    def content(self) -> bytes:
        """The bytes.

        Raises:
            InvalidParams: The data is no base64.
        """
        try:
            return base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError):
            expected = {"field": "prompt", "expected": "data in base64"}
            raise InvalidParams("A file of the prompt cannot be read", expected) from None

    @property
    def kind(self) -> MediaKind:
        """The kind by the MIME type."""
        family = self.mime_type.partition("/")[0]
        return family if family in {"image", "audio", "video"} else "file"  # type: ignore[return-value]

    @property
    def data_uri(self) -> str:
        """The whole as a `data:` address."""
        return f"data:{self.mime_type};base64,{self.data}"


PromptPart: TypeAlias = str | Media
"""One part of a prompt."""


def prompt_parts(blocks: Sequence[Block], cwd: str) -> list[PromptPart]:
    """The parts of a prompt. Texts that follow each other are one part.

    A link to a file is named by its path in `cwd`, so that the agent's own tools find the file. The text of an embedded
    resource stands where the resource stands, under its name.
    """
    parts: list[PromptPart] = []
    for block in blocks:
        part = _part(block, cwd)
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] = f"{parts[-1]}{_space(parts[-1], part)}{part}"
        elif part is not None:
            parts.append(part)
    return parts


def plain_prompt(parts: Sequence[PromptPart], *, takes: frozenset[MediaKind] = frozenset()) -> list[PromptPart]:
    """The same parts, if all of them can be taken.

    Raises:
        InvalidParams: One is of a kind that is not in `takes`; the message names the kind.
    """
    for part in parts:
        if isinstance(part, Media) and part.kind not in takes:
            known = ", ".join(["text", *sorted(takes)])
            raise InvalidParams(
                f"This agent cannot take {_NOUNS[part.kind]}", {"field": "prompt", "expected": f"only {known}"}
            )
    return list(parts)


_NOUNS: dict[MediaKind, str] = {"image": "pictures", "audio": "recordings", "video": "videos", "file": "such files"}


def _part(block: Block, cwd: str) -> PromptPart | None:
    match block:
        case Text(text=text):
            return text
        case Image(data=data, mime_type=mime_type) | Audio(data=data, mime_type=mime_type):
            return Media(data, mime_type)
        case Link(uri=uri, name=name):
            place = name_of_uri(uri, cwd)
            return place if place != uri or not name else f"[{name}]({uri})"
        case Resource(uri=uri, text=str(text)):
            return f'\n<resource uri="{name_of_uri(uri, cwd)}">\n{text}\n</resource>\n'
        case Resource(uri=uri, blob=str(blob), mime_type=mime_type):
            return Media(blob, mime_type or BINARY, os.path.basename(name_of_uri(uri, cwd)) or None)  # noqa: PTH119
        case _:
            return None


def _space(before: str, after: str) -> str:
    return "" if before[-1:].isspace() or after[:1].isspace() or not before else " "
