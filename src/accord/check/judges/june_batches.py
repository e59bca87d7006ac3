"""Batches, which only June has."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v2_sight import JUNE
from accord.check.judges.v2_wire import INVALID_REQUEST, reactions
from accord.check.steps.batches import answers_an_array

__all__: list[str] = []


def _code(answer: Any) -> Any:
    error = answer.get("error") if isinstance(answer, dict) else None
    return error.get("code") if isinstance(error, dict) else None


def _answers(said: list[Entry]) -> list[Any]:
    """Everything in the answers to an array, one by one, whether they came together or not."""
    return [each for entry in said for each in (entry.message if isinstance(entry.message, list) else [entry.message])]


@judge("ACP-BATCH-202", steps=("arrays",), editions=JUNE)
def an_array_of_notifications_is_not_answered(case: Case) -> None:
    _, array, said = reactions(case, "notifications")
    if said:
        raise Violation("an array of notifications was answered", array, said[0])


@judge("ACP-BATCH-203", steps=("arrays",), editions=JUNE)
def a_bad_entry_gets_its_own_error_and_the_others_run(case: Case) -> None:
    _, array, said = reactions(case, "bad entries")
    answers = [each for each in _answers(said) if isinstance(each, dict)]
    bad = [each for each in answers if each.get("id", 0) is None]
    if [_code(each) for each in bad] != [INVALID_REQUEST, INVALID_REQUEST]:
        raise Violation("two bad entries did not get an error -32600 each", array, *said[:1])
    if not any(each.get("id") == "valid" for each in answers):
        raise Violation("a good entry beside bad ones was not answered", array, *said[:1])


@judge("ACP-BATCH-204", steps=("arrays",), editions=JUNE)
def the_answers_come_as_one_array_when_all_are_there(case: Case) -> None:
    _, array, said = reactions(case, "calls")
    said = [entry for entry in said if not _is_nobodys(entry)]
    if len(said) != 1 or not isinstance(said[0].message, list):
        raise Violation("an array of calls was not answered with one array", array, *said[:1])
    played = case.step("arrays")
    if played.get("work") is None:
        return
    since, before = played["work"]
    answers = [each for each in played.entries[since:before] if not each.sent and _is_about(each, "work", "quick")]
    if len(answers) != 1 or not isinstance(answers[0].message, list):
        raise Violation(
            "work and a quick call in one array were not answered together", played.entries[since], *answers[:1]
        )


def _is_nobodys(entry: Entry) -> bool:
    """Whether a line is an answer without an id: that one is no answer to a call."""
    return isinstance(entry.message, dict) and entry.message.get("id", 0) is None


def _is_about(entry: Entry, *ids: str) -> bool:
    """Whether a line answers one of some requests."""
    answers = [each for each in _answers([entry]) if isinstance(each, dict) and "method" not in each]
    return any(each.get("id") in ids for each in answers)


@judge("ACP-BATCH-205", steps=("arrays",), editions=JUNE)
def answers_in_an_array_are_found_by_their_ids(case: Case) -> None:
    _, array, said = reactions(case, "calls")
    ids = [each["id"] for each in _answers(said) if isinstance(each, dict) and each.get("id") is not None]
    wanted = ["one", "two", 3_000_003]
    if sorted(map(repr, ids)) != sorted(map(repr, wanted)):
        raise Violation(f"the answers to {wanted} have the ids {ids}", array, *said[:1])


@judge("ACP-BATCH-206", steps=("arrays",), editions=JUNE)
def whether_entries_run_side_by_side(case: Case) -> str:
    played = case.step("arrays")
    if played.get("work") is None:
        raise Unseen("there was no work in an array")
    since, before = played["work"]
    for entry in played.entries[since:before]:
        if not entry.sent and answers_an_array(entry):
            ids = [each.get("id") for each in _answers([entry]) if isinstance(each, dict)]
            return f"answered together, in the order {', '.join(map(str, ids))}"
    return "not answered together"


@judge("ACP-BATCH-208", steps=("arrays",), editions=JUNE)
def what_a_handshake_in_an_array_does(case: Case) -> str:
    played, _, said = reactions(case, "lifecycle")
    answers = [each for each in _answers(said) if isinstance(each, dict)]
    told = [f"{each.get('id')}: {_code(each) if 'error' in each else 'a result'}" for each in answers]
    ended = ", and the agent ended" if played["ended"] == "lifecycle" else ""
    return (", ".join(told) or "nothing") + ended
