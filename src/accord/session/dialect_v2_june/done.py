"""The answers of the June draft that say no more than that it was done."""

from collections.abc import Callable
from typing import Any, TypeVar

from accord.protocol.model import UNSET, Wire
from accord.session.ask import Done

__all__ = ["done_in", "done_out"]

W = TypeVar("W", bound=Wire)


def done_out(kind: Callable[..., W]) -> Callable[[Done], W]:
    """How to say it in an answer of that kind, which has `_meta` and nothing else."""
    return lambda answer: kind(meta=answer.meta or UNSET)


def done_in(result: Any, _: Any) -> Done:
    """It was done."""
    return Done(result.meta or None)
