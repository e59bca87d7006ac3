"""Counting the tokens of a turn: reports of single model calls, added up."""

from __future__ import annotations

import operator

from accord.session.event import TokenUsage

__all__ = ["add_tokens"]

MAX_COUNT = 2**64 - 1


def add_tokens(usage: TokenUsage | None, added: TokenUsage) -> TokenUsage:
    """The sum; a count that only one of the two has is that one's.

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


def _sum_of_known(name: str, known: int | None, added: int | None) -> int | None:
    return known if added is None else _sum(name, known or 0, added)
