"""Answers in v1 that say no more than that it was done: an empty object each, under many names."""

from collections.abc import Callable
from typing import Any

from accord.protocol.model import UNSET
from accord.session.ask import Done

__all__ = ["done_in", "done_out"]


def done_out(kind: type[Any]) -> Callable[[Done], Any]:
    """How `kind`, a result that has nothing but metadata, is said."""
    return lambda answer: kind(meta=answer.meta or UNSET)


def done_in(result: Any, _: object) -> Done:
    """It was done."""
    return Done(result.meta or None)
