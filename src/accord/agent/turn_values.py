"""Values that an author reports in a turn: entries of a plan, token usage, compactions, annotations, directories."""

from __future__ import annotations

import asyncio
import contextlib
import operator
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import msgspec

from accord.jsonrpc.plain import plain_text
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.content import Annotations, Block, Blocks, Text, blocks_of
from accord.session.event import (
    CompactionChanged,
    CompactionChunk,
    Cost,
    Event,
    Meta,
    PlanChanged,
    PlanEntry,
    TokenUsage,
    UsageChanged,
)
from accord.session.event_check import check_event

__all__ = [
    "Compaction",
    "absolute_directory",
    "add_tokens",
    "annotated",
    "check_stop_reason",
    "compacting",
    "plan_event",
    "usage_event",
]

PLAN_STATUSES = frozenset({"pending", "in_progress", "completed", "cancelled"})
PLAN_PRIORITIES = frozenset({"high", "medium", "low"})


STOP_REASONS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})


def check_stop_reason(reason: object) -> None:
    """Check that a turn can end so.

    Raises:
        ValueError: There is no such stop reason.
    """
    if reason not in STOP_REASONS and not (isinstance(reason, str) and reason.startswith("_")):
        known = ", ".join(sorted(STOP_REASONS))
        raise ValueError(f"a turn ends with one of {known}, or with a reason that starts with _")


def plan_event(entries: Iterable[PlanEntry | str], plan_id: str, meta: Meta | None) -> PlanChanged:
    """A plan of entries and texts.

    Raises:
        TypeError: An entry is neither a text nor a `PlanEntry`.
        ValueError: The status or the priority of an entry is undefined, and no extension (`_name`).
    """
    if isinstance(entries, str):
        raise TypeError("a plan is a list of entries, not a text")
    plan = PlanChanged([PlanEntry(each) if isinstance(each, str) else each for each in entries], plan_id, meta)
    check_event(plan)
    for entry in plan.entries:
        _check_word(entry.status, PLAN_STATUSES, "status")
        _check_word(entry.priority, PLAN_PRIORITIES, "priority")
    return plan


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


def usage_event(used: int, size: int, cost: Any, currency: str) -> UsageChanged:
    """How full the context is; numbers may be those of another library, such as `decimal`.

    Raises:
        TypeError: A count is no integer.
        ValueError: A count is negative, or does not fit into 64 bits.
    """
    total_cost: Maybe[Cost] = UNSET
    if cost is not None:
        amount: Any = cost if isinstance(cost, int | float | str) else float(cost)
        total_cost = Cost(amount, currency)
    return UsageChanged(_sum("used", 0, used), _sum("size", 0, size), total_cost)


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


@contextlib.asynccontextmanager
async def compacting(send: Callable[[Event], Awaitable[None]], compaction_id: str) -> AsyncIterator[Compaction]:
    """A compaction that is reported from its beginning to its end."""
    compaction = Compaction(send, compaction_id)
    await send(CompactionChanged(compaction_id, "in_progress"))
    try:
        yield compaction
    except asyncio.CancelledError:
        await send(CompactionChanged(compaction_id, "cancelled"))
        raise
    except Exception:
        await send(CompactionChanged(compaction_id, "failed", error="The context could not be compacted"))
        raise
    summary: Maybe[list[Block]] = compaction.blocks or [Text("The context was compacted")]
    await send(CompactionChanged(compaction_id, "completed", summary=summary))


def annotated(block: Block, annotations: Annotations) -> Block:
    """The block with annotations; one of an unknown type as it is."""
    return block if isinstance(block, Unknown) else msgspec.structs.replace(block, annotations=annotations)


def absolute_directory(directory: str | None, start: str) -> str:
    """The directory by its text, as the session's paths are."""
    return os.path.normpath(os.path.join(start, plain_text(directory or "")))  # noqa: PTH118 - what is behind `..` stays unknown
