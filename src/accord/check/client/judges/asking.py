"""How a client answers questions: permissions, forms, what it does not know and what it did not offer."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.client.parts.unoffered import MODES
from accord.check.entry import Entry, Record, is_answer, messages_in
from accord.check.judge import judge

__all__: list[str] = []

NO_METHOD, INVALID_REQUEST, INVALID_PARAMS, CANCELLED = -32601, -32600, -32602, -32800


# --- permissions


def _outcome(played: Played, id_: Any) -> Any:
    """What was decided.

    Raises:
        Violation: Nothing was.
    """
    entry = played.answer_entry(id_)
    result = played.result(id_)
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if not isinstance(outcome, dict) or not isinstance(outcome.get("outcome"), str):
        raise Violation("the answer has no outcome", played.request_entry(id_), entry)
    if outcome["outcome"] == "selected" and not isinstance(outcome.get("optionId"), str):
        raise Violation("the answer does not say which option was selected", played.request_entry(id_), entry)
    return outcome


@judge("ACCORD-CLIENT-PERM-001", steps=("permissions",))
def every_question_is_answered_with_an_outcome(case: Case) -> None:
    played = case.step("permissions")
    for id_ in played["ids"]:
        outcome = _outcome(played, id_)
        if outcome["outcome"] not in {"selected", "cancelled"} and case.edition != "v2":
            raise Violation(f"there is no outcome {outcome['outcome']!r}", played.answer_entry(id_))


@judge("ACCORD-CLIENT-PERM-002", steps=("permissions",))
def only_what_was_offered_is_selected(case: Case) -> str:
    played = case.step("permissions")
    chosen = []
    for id_ in played["ids"]:
        answer = played.answer(id_).get("result")
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        if isinstance(outcome, dict) and outcome.get("outcome") == "selected":
            asked = played.request_entry(id_)
            offered = [option["optionId"] for option in asked.message["params"]["options"]] if asked else []
            if outcome.get("optionId") not in offered:
                raise Violation(f"{outcome.get('optionId')!r} was not offered", asked, played.answer_entry(id_))
            chosen.append(outcome["optionId"])
    return f"selected: {', '.join(chosen) or 'nothing'}"


@judge("ACCORD-CLIENT-PERM-003", steps=("hold",), editions=("v1", "v2_june"))
def what_is_open_at_a_cancel_is_cancelled(case: Case) -> None:
    pending = [found for record in case.records for found in _pending_at_cancel(record)]
    if not pending:
        raise Unseen("no question was open when the client cancelled")
    for record, cancel, asked in pending:
        id_ = asked.message["id"]
        answers = [(entry, each) for entry, each in messages_in(record.entries) if is_answer(each, id_)]
        if not answers:
            raise Violation("a question that was open at the cancel was never answered", asked, cancel)
        result = answers[0][1].get("result")
        outcome = result.get("outcome") if isinstance(result, dict) else None
        if not isinstance(outcome, dict) or outcome.get("outcome") != "cancelled":
            raise Violation(
                "a question that was open at the cancel was not answered `cancelled`", cancel, answers[0][0]
            )


def _pending_at_cancel(record: Record) -> list[tuple[Record, Entry, Entry]]:
    """The cancels of turns, each with a question of that turn that was open then."""
    found = []
    for cancel, message in messages_in(record.entries):
        if message.get("method") != "session/cancel":
            continue
        session = message["params"].get("sessionId") if isinstance(message.get("params"), dict) else None
        turn = record.entries[_last_prompt(record, session, cancel.place) : cancel.place]
        for asked, question in messages_in(turn, sent=True):
            is_one = (
                question.get("method") == "session/request_permission" and question["params"]["sessionId"] == session
            )
            if is_one and not any(is_answer(each, question["id"]) for _, each in messages_in(turn)):
                found.append((record, cancel, asked))
    return found


def _last_prompt(record: Record, session: Any, before: int) -> int:
    places = [
        entry.place
        for entry, each in messages_in(record.entries[:before])
        if each.get("method") == "session/prompt" and isinstance(each.get("params"), dict)
        if each["params"].get("sessionId") == session
    ]
    return places[-1] if places else 0


@judge("ACCORD-CLIENT-PERM-004", steps=("hold",), editions=("v2",))
def a_question_of_cancelled_work_is_not_approved(case: Case) -> None:
    _need_no_approval(case.step("hold"), "id")


@judge("ACCORD-CLIENT-PERM-005", steps=("strange_permission",))
def nothing_is_approved_for_a_session_of_nobody(case: Case) -> None:
    _need_no_approval(case.step("strange_permission"), "id")


def _need_no_approval(played: Played, note: str) -> None:
    answer = played.answer(played[note])
    result = answer.get("result")
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if isinstance(outcome, dict) and outcome.get("optionId") in {"yes", "always"}:
        raise Violation("it was approved", played.request_entry(played[note]), played.answer_entry(played[note]))


@judge("ACCORD-CLIENT-PERM-006", steps=("open_permissions",), editions=("v2_june", "v2"))
def unknown_options_and_subjects_do_no_harm(case: Case) -> None:
    played = case.step("open_permissions")
    for id_ in played["ids"]:
        _outcome(played, id_)


@judge("ACCORD-CLIENT-CANCEL-001", steps=("taken_back",), editions=("v1", "v2"))
def a_request_that_is_taken_back_is_answered(case: Case) -> str:
    played = case.step("taken_back")
    answer = played.answer(played["id"])
    if "error" in answer:
        if played.error(played["id"]).get("code") != CANCELLED:
            entry = played.answer_entry(played["id"])
            raise Violation("it was answered with another error than -32800", played.request_entry(played["id"]), entry)
        return "it was given up"
    return f"it was answered: {_outcome(played, played['id'])['outcome']}"


# --- what it does not know


@judge("ACCORD-CLIENT-EXT-001", steps=("extensions",))
def an_unknown_request_is_refused(case: Case) -> None:
    played = case.step("extensions")
    for id_ in played["ids"]:
        if played.error(id_).get("code") != NO_METHOD:
            raise Violation("the error is not -32601", played.request_entry(id_), played.answer_entry(id_))


@judge("ACCORD-CLIENT-REQUEST-001", steps=("bad_request",))
def a_bad_request_is_refused(case: Case) -> None:
    played = case.step("bad_request")
    if played.error(played["id"]).get("code") != INVALID_PARAMS:
        asked = played.request_entry(played["id"])
        raise Violation("the error is not -32602", asked, played.answer_entry(played["id"]))


@judge("ACCORD-CLIENT-RUDE-003", steps=("array",), editions=("v1", "v2"))
def an_array_is_refused_whole(case: Case) -> None:
    played = case.step("array")
    sent = played.entries[played["place"]]
    if played.answers(played["id"]):
        raise Violation("what stood in an array was served", sent, played.answer_entry(played["id"]))
    told = [
        entry
        for entry, each in messages_in(played.entries[played["place"] : played["end"]])
        if "method" not in each and each.get("id") is None and "error" in each
    ]
    if case.edition == "v2" and len(told) != 1:
        raise Violation("an array was not answered with exactly one error without an id", sent, *told[1:])
    for entry in told:
        if entry.message["error"].get("code") != INVALID_REQUEST:
            raise Violation("the error is not -32600", sent, entry)


@judge("ACCORD-CLIENT-BATCH-001", steps=("batch",), editions=("v2_june",))
def a_batch_is_served(case: Case) -> None:
    played = case.step("batch")
    if not played["answers"]:
        raise Violation("a request in a batch was not answered", played.entries[played["place"]])


# --- what it did not offer


@judge("ACCORD-CLIENT-HONEST-001", steps=("unoffered_read",))
def no_file_is_read_that_was_not_offered(case: Case) -> None:
    played = case.step("unoffered_read")
    played.error(played["id"])


@judge("ACCORD-CLIENT-HONEST-002", steps=("unoffered_write",))
def no_file_is_written_that_was_not_offered(case: Case) -> None:
    _refused_and_not_done(case.step("unoffered_write"))


@judge("ACCORD-CLIENT-HONEST-003", steps=("unoffered_terminal",))
def no_command_is_run_that_was_not_offered(case: Case) -> None:
    _refused_and_not_done(case.step("unoffered_terminal"))


def _refused_and_not_done(played: Played) -> None:
    played.error(played["id"])
    if played["done"]:
        raise Violation(
            "it was refused, and done", played.request_entry(played["id"]), played.answer_entry(played["id"])
        )


# --- forms and addresses


@judge("ACCORD-CLIENT-ELICIT-001", steps=("form",), editions=("v1", "v2"))
def a_form_is_answered(case: Case) -> str:
    return _action(case.step("form"))


@judge("ACCORD-CLIENT-ELICIT-002", steps=("address",), editions=("v1", "v2"))
def an_address_is_answered(case: Case) -> str:
    return _action(case.step("address"))


def _action(played: Played) -> str:
    result = played.result(played["id"])
    action = result.get("action") if isinstance(result, dict) else None
    if action not in {"accept", "decline", "cancel"}:
        asked = played.request_entry(played["id"])
        raise Violation(f"the action is {action!r}", asked, played.answer_entry(played["id"]))
    return str(action)


@judge("ACCORD-CLIENT-ELICIT-003", steps=("unoffered_elicitation",), editions=("v1", "v2"))
def a_mode_that_was_not_offered_is_refused(case: Case) -> None:
    played = case.step("unoffered_elicitation")
    # Who offers no mode at all need not know the method.
    codes = {INVALID_PARAMS, NO_METHOD} if len(played["ids"]) == len(MODES) else {INVALID_PARAMS}
    for id_ in played["ids"]:
        if played.error(id_).get("code") not in codes:
            raise Violation("the error is not -32602", played.request_entry(id_), played.answer_entry(id_))


FORM = {"name": str, "age": int, "agrees": bool}


@judge("ACCORD-CLIENT-ELICIT-005", steps=("form",), editions=("v1", "v2"))
def a_form_is_filled_in_as_it_asks(case: Case) -> None:
    played = case.step("form")
    result = played.answer(played["id"]).get("result")
    if not isinstance(result, dict) or result.get("action") != "accept":
        raise Unseen("the form was not filled in")
    asked, entry = played.request_entry(played["id"]), played.answer_entry(played["id"])
    content = result.get("content")
    if not isinstance(content, dict) or "name" not in content:
        raise Violation("what is required was not filled in", asked, entry)
    for name, value in content.items():
        if not isinstance(value, FORM.get(name, object)):
            raise Violation(f"`{name}` is {value!r}", asked, entry)
