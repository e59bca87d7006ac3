"""Who judges which rule: functions that look at a case and say nothing, note something, or find a violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from accord.check.case import Case
from accord.check.rule import EDITIONS, EditionName

__all__ = ["JUDGES", "Judge", "judge", "judges_of"]

Verdict: TypeAlias = Callable[[Case], str | None]
"""Gives a note for the report, or None; raises `Violation`, `Unseen`, or lets the `StepFailed` of a step through."""
V = TypeVar("V", bound=Callable[..., str | None])


class Judge(NamedTuple):
    """A function that judges some rules by some steps."""

    ids: tuple[str, ...]
    editions: tuple[EditionName, ...]
    steps: tuple[str, ...]
    verdict: Verdict


JUDGES: list[Judge] = []


def judge(*ids: str, steps: tuple[str, ...], editions: tuple[EditionName, ...] = EDITIONS) -> Callable[[V], V]:
    """Let a function judge the rules with these ids; `steps` are what has to be played for it.

    Everything that was played is there to be looked at, whoever asked for it.
    """

    def add(verdict: V) -> V:
        JUDGES.append(Judge(ids, editions, steps, verdict))
        return verdict

    return add


def judges_of(edition: EditionName, id_: str) -> list[Judge]:
    """Whoever judges a rule."""
    return [each for each in JUDGES if edition in each.editions and id_ in each.ids]
