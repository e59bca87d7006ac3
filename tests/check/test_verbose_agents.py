"""Agents that say much, little by little: more than a check keeps is not judged, and not held against them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from accord.check import check_agent
from accord.check.engine.evidence import MAX_START_BYTES, MAX_TOTAL_BYTES, NOT_KEPT, RecordBudget
from accord.check.rule import EditionName
from tests.check.faults import FULL
from tests.check.test_faults import failures, options
from tests.client.clock import timeless

BIG_ID = 2**53 + 1
FILLING = "x" * 20_000


def verbose(edition: EditionName) -> Any:
    full: Any = FULL[edition]

    class Verbose(full):  # type: ignore[misc]
        def say(self, message: Any) -> None:
            result = message.get("result") if isinstance(message, dict) else None
            if isinstance(result, dict) and "sessionId" in result:
                message = {**message, "result": {**result, "_meta": {"example.com/filling": FILLING}}}
            super().say(message)

    return Verbose


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", list(FULL))
@pytest.mark.parametrize(
    ("start_bytes", "total_bytes"), [(600_000, MAX_TOTAL_BYTES), (MAX_START_BYTES, 5_000_000)], ids=["start", "all"]
)
@timeless
async def test_what_is_not_kept_is_not_judged_and_blames_nobody(
    edition: EditionName, start_bytes: int, total_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = partial(RecordBudget, total_bytes=total_bytes, start_bytes=start_bytes)
    monkeypatch.setattr("accord.check.agent.runner.RecordBudget", budget)
    report = await check_agent(verbose(edition), options(edition))
    assert failures(report) == {}
    assert report.conformant
    assert [outcome for outcome in report.outcomes if outcome.deciding and outcome.deciding.message == NOT_KEPT]


# --- answers under another id


REFERENCE: Any = FULL["v1"]


class RoundsIds(REFERENCE):  # type: ignore[misc]
    """A peer whose numbers are those of JavaScript."""

    def take_request(self, message: Any) -> Any:
        id_ = message["id"]
        return super().take_request({**message, "id": int(float(id_))} if type(id_) is int else message)


@timeless
async def test_an_answer_under_another_id_is_shown_as_that() -> None:
    report = await check_agent(RoundsIds, options("v1", only=("ACCORD-WIRE-005",)))
    (outcome,) = report.outcomes
    assert outcome.status == "FAIL"
    assert outcome.deciding is not None
    assert str(BIG_ID - 1) in outcome.deciding.message
    assert outcome.deciding.evidence[-1].message["id"] == BIG_ID - 1
