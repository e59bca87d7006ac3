"""What a client does with an agent, in small steps that share one process as far as they can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from accord.check.rule import EDITIONS, EditionName
from accord.check.talk import Talk

__all__ = ["STEPS", "Company", "Notes", "Play", "Step", "step"]

Notes: TypeAlias = dict[str, Any]
"""What a step tells those who judge it: ids of sessions and requests, places in the record."""
Play: TypeAlias = Callable[[Talk], Awaitable[Notes]]
Company: TypeAlias = Literal["bare", "able", "own", "again"]
"""With whom a step shares its process.

`bare`: one process whose client offers nothing; `able`: one whose client offers everything; `own`: a process for the
step alone, which shakes hands itself; `again`: one that is started when the `bare` one has ended.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a client does."""

    name: str
    play: Play
    company: Company
    editions: tuple[EditionName, ...]
    gate: dict[EditionName, str]
    """By edition what the agent has to advertise for the step to make sense; see `Rule.gate`."""
    order: int
    """Within a process, what disturbs others comes late."""


STEPS: dict[str, Step] = {}
"""By name."""


def step(
    company: Company = "bare",
    *,
    editions: tuple[EditionName, ...] = EDITIONS,
    gate: dict[EditionName, str] | None = None,
    order: int = 50,
) -> Callable[[Play], Play]:
    """Make a function a step, named like it. It gives its notes; a `StepFailed` says why it could not."""

    def add(play: Play) -> Play:
        name = play.__name__
        if name in STEPS:
            message = f"there are two steps {name!r}"
            raise ValueError(message)
        STEPS[name] = Step(name, play, company, editions, gate or {}, order)
        return play

    return add
