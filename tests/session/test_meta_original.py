from __future__ import annotations

from typing import Any

from accord.protocol.model import UNSET
from accord.session.meta_original import ORIGINAL, PlanOriginal, ToolOriginal, keep, present, recall
from tests.tables import rows

PLAN = PlanOriginal("p", 1, 2)


@rows("meta", [None, UNSET, {}])
def test_an_original_is_kept_where_there_was_no_metadata(meta: Any) -> None:
    kept = keep(meta, PLAN)
    assert kept == {ORIGINAL: {"id": "p", "start": 1, "count": 2}}
    assert recall(kept, PlanOriginal) == (None, PLAN)


def test_an_original_is_kept_beside_other_metadata() -> None:
    meta = {"trace": 1}
    kept = keep(meta, PLAN)
    assert recall(kept, PlanOriginal) == ({"trace": 1}, PLAN)
    assert meta == {"trace": 1}


def test_where_there_is_no_original_metadata_stay_as_they_are() -> None:
    assert keep({"trace": 1}, None) == {"trace": 1}
    assert keep(UNSET, None) is None
    assert recall({"trace": 1}, PlanOriginal) == ({"trace": 1}, None)
    assert recall(UNSET, PlanOriginal) == (None, None)


@rows("claim", [None, 7, "p", {"id": 7, "start": 1, "count": 2}, {"id": "p"}, []])
def test_an_original_that_does_not_fit_counts_as_none(claim: Any) -> None:
    assert recall({ORIGINAL: claim}, PlanOriginal) == (None, None)


def test_cleared_fields_are_present_and_absent_ones_are_not() -> None:
    assert present(ToolOriginal(title=None, status="paused")) == {"title": None, "status": "paused"}
