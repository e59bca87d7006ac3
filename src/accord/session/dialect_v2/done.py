"""Answers of v2 that say no more than that it was done."""

from collections.abc import Callable
from typing import Any, TypeVar

from accord.protocol.model import UNSET, Maybe
from accord.session.ask import Done
from accord.session.event import Meta

__all__ = ["done_in", "done_out"]

R = TypeVar("R")


def done_out(kind: Callable[[Maybe[Meta]], R]) -> Callable[[Done], R]:
    """How a result of that kind, which has `_meta` and nothing else, says it."""

    def say(answer: Done) -> R:
        return kind(answer.meta or UNSET)

    return say


def done_in(result: Any, _: object) -> Done:
    """It was done."""
    return Done(result.meta or None)
