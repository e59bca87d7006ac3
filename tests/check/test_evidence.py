"""The notes of steps that were not completed."""

from __future__ import annotations

import pytest

from accord.check.engine.evidence import Inconclusive, StepFailed, StepResult


def test_a_note_is_found_by_its_name() -> None:
    assert StepResult("turns", [], 0, 0, {"prompt": 7})["prompt"] == 7


def test_a_note_that_a_failed_step_did_not_write_is_the_failure_of_the_step() -> None:
    failure = StepFailed("request 4 was not answered", "ACP-PROMPT-001")
    with pytest.raises(StepFailed) as raised:
        StepResult("turns", [], 0, 0, failure=failure)["prompt"]
    assert raised.value is failure


def test_a_note_that_a_skipped_step_did_not_write_skips_the_judge_for_the_same_reason() -> None:
    with pytest.raises(Inconclusive) as raised:
        StepResult("options", [], 0, 0, skipped="the mode may loosen permission")["new"]
    assert str(raised.value) == "the mode may loosen permission"


def test_a_note_that_a_completed_step_does_not_have_skips_the_judge() -> None:
    with pytest.raises(Inconclusive):
        StepResult("options", [], 0, 0)["resume"]
