"""The originals of downgraded values, carried in `_meta`.

An encoder that downgrades a value keeps the original under one key. Our decoder restores it and removes the key; any
other client ignores it. Originals of a peer are decoded as typed values: one that does not fit counts as absent.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from accord.jsonrpc.plain import plain
from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.content import Part
from accord.session.event import TokenUsage

__all__ = [
    "ORIGINAL",
    "ChangeOriginal",
    "DiffOriginal",
    "EndOriginal",
    "EntryOriginal",
    "ItemOriginal",
    "MessageOriginal",
    "NoticeOriginal",
    "PlanOriginal",
    "TextsOriginal",
    "ToolOriginal",
    "UnknownOriginal",
    "keep",
    "present",
    "recall",
]

ORIGINAL = "accord/original"

O = TypeVar("O", bound=Part)  # noqa: E741 - an original of some kind


class NoticeOriginal(Part):
    """A notice that was sent as a message of the agent."""

    severity: str
    title: str
    description: str | None = None


class MessageOriginal(Part):
    """The message a chunk belongs to; `replaces` marks the first chunk of a corrected one.

    `separated` marks a text that begins with a blank line which is none of its own.
    """

    id: str | None = None
    replaces: bool = False
    separated: bool = False
    notice: NoticeOriginal | None = None


class UnknownOriginal(Part):
    """A variant that was sent as a line of text."""

    tag: str
    payload: dict[str, Any]


class ChangeOriginal(Part):
    """The parts of a file change beyond a path and two texts; `gone` means that there is no new text.

    `path` and `old` are there only where the change was sent as a line.
    """

    path: str | None = None
    operation: str | None = None
    old_path: str | None = None
    file_type: str | None = None
    mime_type: str | None = None
    old: str | None = None
    gone: bool = False
    payload: dict[str, Any] | None = None


class ItemOriginal(Part):
    """The original of an item of a tool call; `aside` is a line that only explains the next item."""

    aside: bool = False
    change: ChangeOriginal | None = None
    unknown: UnknownOriginal | None = None


class ToolOriginal(Part):
    """Fields of a tool call that were downgraded or left out. None means cleared."""

    title: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    kind: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    raw_input: UnsetType | None = UNSET
    raw_output: UnsetType | None = UNSET
    meta: UnsetType | None = UNSET


class EntryOriginal(Part):
    """Fields of a plan's entry that were downgraded."""

    content: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    priority: str | UnsetType = UNSET


class EndOriginal(Part):
    """The parts of a turn's end that an edition has no field for: a stop reason of another name, the token usage."""

    stop_reason: str | None = None
    token_usage: TokenUsage | None = None

    @classmethod
    def of(cls, stop_reason: str | None, token_usage: TokenUsage | None) -> EndOriginal | None:
        """None where there is nothing to carry."""
        return None if stop_reason is None and token_usage is None else cls(stop_reason, token_usage)


class PlanOriginal(Part):
    """Which plan changed, and where its entries are among those of all plans."""

    id: str
    start: int
    count: int


class TextsOriginal(Part):
    """A file before and after, beside a patch."""

    old: str | None = None
    new: str | None = None


class DiffOriginal(Part):
    """`made` says that the patch was made from the texts."""

    made: bool = False


def keep(meta: Maybe[dict[str, Any]], original: Part | None) -> dict[str, Any] | None:
    """Metadata that also carries the original, if there is one to carry."""
    if original is None:
        return meta or None
    return {**(meta or {}), ORIGINAL: plain(original)}


def recall(meta: Maybe[dict[str, Any]], kind: type[O]) -> tuple[dict[str, Any] | None, O | None]:
    """The metadata without the original, and the original if there is one that can be read."""
    if not meta:
        return None, None
    if ORIGINAL not in meta:
        return meta, None
    rest = {key: value for key, value in meta.items() if key != ORIGINAL}
    try:
        return rest or None, msgspec.convert(meta[ORIGINAL], kind)
    except msgspec.ValidationError:
        return rest or None, None


def present(value: Part) -> dict[str, Any]:
    """The fields that carry something, by name; None counts."""
    return {name: field for name in value.__struct_fields__ if (field := getattr(value, name)) is not UNSET}
