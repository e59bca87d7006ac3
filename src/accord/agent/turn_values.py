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
from accord.session.content import Annotations, Block, Blocks, Role, Text, blocks_of
from accord.session.custom import check_value, known_values
from accord.session.event import (
    CompactionChanged,
    CompactionChunk,
    Cost,
    Event,
    Meta,
    PlanChanged,
    PlanEntry,
    PlanPriority,
    PlanStatus,
    StopReason,
    TokenUsage,
    UsageChanged,
)
from accord.session.event_check import check_event

__all__ = [
    "STOP_REASONS",
    "Compaction",
    "absolute_directory",
    "add_tokens",
    "annotated",
    "compacting",
    "plan_event",
    "usage_event",
]

PLAN_STATUSES = known_values(PlanStatus)
PLAN_PRIORITIES = known_values(PlanPriority)
STOP_REASONS = known_values(StopReason)
AUDIENCES = known_values(Role)


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
        check_value(entry.status, PLAN_STATUSES, "status of a plan's entry")
        check_value(entry.priority, PLAN_PRIORITIES, "priority of a plan's entry")
    return plan


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
    """The block with annotations; one of an unknown type as it is.

    Raises:
        ValueError: There is no such audience.
    """
    for each in annotations.audience or ():
        check_value(each, AUDIENCES, "audience")
    return block if isinstance(block, Unknown) else msgspec.structs.replace(block, annotations=annotations)


def absolute_directory(directory: str | None, start: str) -> str:
    """The directory by its text, as the session's paths are."""
    return os.path.normpath(os.path.join(start, plain_text(directory or "")))  # noqa: PTH118 - what is behind `..` stays unknown
