"""Values that an author reports in a turn: entries of a plan, token usage, compactions, annotations, directories."""

from __future__ import annotations

import operator
import os
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from accord.jsonrpc.plain import plain_text
from accord.protocol.model import Unknown
from accord.session.content import Annotations, Block, Blocks, blocks_of
from accord.session.event import CompactionChunk, Event, PlanEntry, TokenUsage

__all__ = [
    "Compaction",
    "absolute_directory",
    "add_tokens",
    "annotated",
    "check_entry",
    "plain_amount",
    "plain_count",
]

PLAN_STATUSES = frozenset({"pending", "in_progress", "completed", "cancelled"})
PLAN_PRIORITIES = frozenset({"high", "medium", "low"})


def check_entry(entry: PlanEntry) -> None:
    """Check that the status and priority of a plan's entry are defined.

    Raises:
        ValueError: Its status or its priority is undefined, and no extension (`_name`).
    """
    _check_word(entry.status, PLAN_STATUSES, "status")
    _check_word(entry.priority, PLAN_PRIORITIES, "priority")


def _check_word(word: str, known: frozenset[str], field: str) -> None:
    if word not in known and not word.startswith("_"):
        expected = ", ".join(sorted(known))
        raise ValueError(f"{word!r} is no {field} of a plan's entry: one of {expected}")


MAX_COUNT = 2**64 - 1


def add_tokens(usage: TokenUsage | None, added: TokenUsage) -> TokenUsage:
    """The sum of two usages; a count that only one of them has is taken from that one.

    Raises:
        TypeError: A count is no integer.
        ValueError: A count is negative, or the sum does not fit into 64 bits.
    """
    known = TokenUsage(0, 0, 0) if usage is None else usage
    return TokenUsage(
        _sum("input_tokens", known.input_tokens, added.input_tokens),
        _sum("output_tokens", known.output_tokens, added.output_tokens),
        _sum("total_tokens", known.total_tokens, added.total_tokens),
        _sum_of_known("thought_tokens", known.thought_tokens, added.thought_tokens),
        _sum_of_known("cached_read_tokens", known.cached_read_tokens, added.cached_read_tokens),
        _sum_of_known("cached_write_tokens", known.cached_write_tokens, added.cached_write_tokens),
    )


def _sum(name: str, known: int, added: int) -> int:
    # Also an integer of another library, which becomes one of Python.
    added = operator.index(added)
    total = known + added
    if added < 0 or total > MAX_COUNT:
        raise ValueError(f"{name} must be between 0 and {MAX_COUNT - known}, not {added}")
    return total


def plain_count(name: str, count: int) -> int:
    """A number of tokens as an integer of Python.

    Raises:
        TypeError: It is no integer.
        ValueError: It is negative, or does not fit into 64 bits.
    """
    return _sum(name, 0, count)


def plain_amount(amount: Any) -> Any:
    """An amount as a number of Python, also one of `decimal` or of another library; a text stays as it is."""
    return amount if isinstance(amount, int | float | str) else float(amount)


def _sum_of_known(name: str, known: int | None, added: int | None) -> int | None:
    return known if added is None else _sum(name, known or 0, added)


class Compaction:
    """A compaction of the context that goes on. Made by `Turn.compact`."""

    def __init__(self, send: Callable[[Event], Awaitable[None]], id_: str) -> None:
        self.id: str = id_
        """The id of the compaction."""
        self.blocks: list[Block] = []
        """The summary so far."""
        self._send = send

    async def say(self, content: Blocks) -> None:
        """Append to the summary."""
        for block in blocks_of(content):
            self.blocks.append(block)
            await self._send(CompactionChunk(self.id, block))


def annotated(block: Block, annotations: Annotations) -> Block:
    """The block with annotations; one of an unknown type as it is."""
    return block if isinstance(block, Unknown) else msgspec.structs.replace(block, annotations=annotations)


def absolute_directory(directory: str | None, start: str) -> str:
    """The directory by its text, as the session's paths are."""
    return os.path.normpath(os.path.join(start, plain_text(directory or "")))  # noqa: PTH118 - what is behind `..` stays unknown
