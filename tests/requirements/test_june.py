"""The rules about batches for the draft of June, which has them; `rules.py` has the sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.requirements import batches, scenes
from tests.requirements.rules import shows
from tests.requirements.stage import Subject

# A second judge of the same agents, by other means: `tests/check/test_own.py` judges them every day.
pytestmark = pytest.mark.long

EDITION = "v2_june"

Recorder = Any  # pytest has no name for the type of its `record_property`


def by_id(array: Any) -> dict[Any, dict[str, Any]]:
    """The answers in an array by their ids; those without one must be left out before."""
    assert isinstance(array, list)
    assert len({answer["id"] for answer in array}) == len(array)
    return {answer["id"]: answer for answer in array}


@shows("ACP-BATCH-201")
def test_an_empty_array_is_refused(subject: Subject) -> None:
    (answer,) = subject.take(batches.arrays)["after"]["empty"]
    assert isinstance(answer, dict)
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@shows("ACP-BATCH-202")
def test_an_array_of_notifications_is_not_answered(subject: Subject) -> None:
    take = subject.take(batches.notifications_alone)
    (alive,) = (entry.message for entry in take.record.entries[take["since"] :] if not entry.sent)
    assert alive["error"]["code"] == -32601


@shows("ACP-BATCH-203")
def test_a_bad_entry_gets_its_own_error_and_the_others_run(subject: Subject) -> None:
    (array,) = subject.take(batches.arrays)["after"]["bad entries"]
    bad = [answer for answer in array if answer["id"] is None]
    assert [answer["error"]["code"] for answer in bad] == [-32600, -32600]
    assert by_id([answer for answer in array if answer["id"] is not None])["valid"]["error"]["code"] == -32601


@shows("ACP-BATCH-204")
def test_the_answers_come_as_one_array_when_all_are_there(subject: Subject) -> None:
    take = subject.take(batches.work_in_a_batch)
    assert take["early"] == []
    answers = by_id(take["last"])
    assert set(answers) == {"work", "quick"}
    assert answers["work"]["result"]["stopReason"] == "cancelled"


@shows("ACP-BATCH-205")
def test_answers_in_an_array_are_found_by_their_ids(subject: Subject) -> None:
    (array,) = subject.take(batches.arrays)["after"]["calls"]
    answers = by_id(array)
    assert set(answers) == {"one", "two", 3}
    assert answers["one"]["error"]["code"] == -32601
    assert isinstance(answers["two"]["result"]["sessions"], list)
    assert answers[3]["error"]["code"] == -32601


@shows("ACP-BATCH-206")
def test_whether_entries_run_side_by_side(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(batches.work_in_a_batch)
    record_property("order", [answer["id"] for answer in take["last"]])
    assert take["alive"]


@shows("ACP-BATCH-207")
def test_whether_the_agent_says_arrays(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.turns)
    record_property("arrays", len([entry for entry in take.heard if isinstance(entry.message, list)]))
    assert take["alive"]


@shows("ACP-BATCH-208")
def test_what_a_handshake_in_an_array_does(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(batches.arrays)
    record_property("answer", json.dumps(take["after"]["lifecycle"]))
    assert take["alive"]


@shows("ACP-INFO-BATCH-201")
def test_what_happens_after_an_array_that_is_broken_off(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.bad_lines)
    record_property("answer", take["reactions"]["a broken array"])
    assert take["alive"]


@shows("ACP-INFO-BATCH-202")
def test_what_happens_after_an_array_of_calls_and_answers(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(batches.arrays)
    record_property("answer", json.dumps(take["after"]["answers too"]))
    assert take["alive"]
