"""A check of a hostile agent always ends with a report."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from accord.check import Options, check_agent
from accord.check.rule import EditionName
from tests.check.faults import FULL
from tests.client.clock import timeless

NONSENSE: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], {}, [None], [{}], {"a": 1}, 10**30, [[]], {"sessionId": 5}]


def garbled(value: Any, chance: float, dice: random.Random) -> Any:
    """A value in which something is nonsense, and something is missing."""
    if dice.random() < chance:
        return copy.deepcopy(dice.choice(NONSENSE))
    if isinstance(value, dict):
        return {key: garbled(each, chance, dice) for key, each in value.items() if dice.random() > chance / 2}
    return [garbled(each, chance, dice) for each in value] if isinstance(value, list) else value


def hostile(edition: EditionName, seed: int) -> Callable[[], Any]:
    """An agent with everything that garbles what it says; every other one keeps to JSON-RPC."""
    dice = random.Random(seed)
    chance = (0.01, 0.05, 0.2)[seed % 3]

    full: Any = FULL[edition]

    class Hostile(full):  # type: ignore[misc]
        def say(self, message: Any) -> None:
            if seed % 2:
                shapes = ("result", "error", "params")
                message = {k: garbled(v, chance, dice) if k in shapes else v for k, v in message.items()}
            else:
                message = garbled(message, chance, dice)
            super().say(message)

    return Hostile


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
@pytest.mark.parametrize("edition", list(FULL))
@timeless
async def test_a_check_of_nonsense_ends_with_a_report(edition: EditionName, seed: int) -> None:
    options = Options(
        edition=edition,
        cancel_prompt="__hang__",
        timeout_seconds=0.1,
        turn_seconds=0.1,
        start_seconds=0.2,
        grace_seconds=0.05,
        quiet_seconds=0.02,
        jobs=4,
        auth_method="token",
        allow_logout=True,
    )
    report = await check_agent(hostile(edition, seed), options)
    assert not report.conformant
    assert {outcome.status for outcome in report.outcomes} <= {"PASS", "FAIL", "SKIPPED", "SUPERSEDED"}
