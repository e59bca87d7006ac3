"""Sessions in v1: made, found again, listed, deleted, closed."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.judge import judge
from accord.check.judges.v1_turns import TOO_SHORT, TURN_KINDS, ended_before, until_asked
from accord.check.shape import Piece, shape_of
from accord.check.talk import StepFailed

__all__: list[str] = []


def _session_id(case: Case, which: int) -> str:
    """The id of one of the two sessions of the first meeting."""
    meet = case.begun("meet")
    if case.blocked_by_version:
        raise Unseen("VERSION-MISMATCH: the agent chose another version")
    if case.blocked_by_auth:
        raise Unseen("AUTH-GATED: give --auth-method")
    if len(meet.get("new") or []) <= which:
        raise meet.failure or StepFailed("no session was asked for", "ACP-INIT-001")
    new = meet["new"][which]
    result = meet.result(new)
    session = result.get("sessionId") if isinstance(result, dict) else None
    if not isinstance(session, str) or not session:
        raise Violation("a new session has no id", meet.request_entry(new), meet.answer_entry(new))
    return session


@judge("ACP-SESSION-001", steps=("meet",), editions=("v1",))
def a_session_has_an_id(case: Case) -> None:
    _session_id(case, 0)


@judge("ACP-SESSION-002", steps=("meet",), editions=("v1",))
def two_sessions_have_two_ids(case: Case) -> None:
    try:
        first = _session_id(case, 0)
    except Violation as violation:
        raise StepFailed(violation.message, "ACP-SESSION-001", *violation.evidence) from None
    meet = case.begun("meet")
    if not any("result" in answer for _, answer in meet.answers(meet["new"][1])):
        raise Unseen("there was no second session")
    if first == _session_id(case, 1):
        raise Violation("two sessions have the same id", *(meet.answer_entry(new) for new in meet["new"]))


# --- sessions from before


def _succeeds(step: Played, id_: Any) -> Any:
    """The result of a request; an empty answer may be null, as the text shows it in places."""
    result = step.result(id_)
    if result is not None and not isinstance(result, dict):
        raise Violation("the result is no object", step.request_entry(id_), step.answer_entry(id_))
    return result


def _done(step: Played, id_: Any, what: str) -> Played:
    """A step of which one request succeeded; whether it does is another rule's business."""
    if not any("result" in answer for _, answer in step.answers(id_)):
        raise Unseen(f"the session was not {what}")
    return step


def _reopened(case: Case, name: str, note: str) -> Played:
    """The step in which a session was opened again: in the same process, or in the next if it could not be closed."""
    step = case.step(name)
    return step if note in step.notes else case.step(f"{name}_after_restart")


@judge("ACP-LOAD-001", steps=("load", "load_after_restart", "keep"), editions=("v1",))
def a_session_can_be_loaded(case: Case) -> None:
    step = _reopened(case, "load", "load")
    result = _succeeds(step, step["load"])
    answer = step.answer_entry(step["load"])
    if result is not None:
        shape = shape_of("v1", Piece(answer, "session/load", result, is_result=True))
        if shape.problem:
            raise Violation(f"{shape.field or 'the result'} does not fit: expected {shape.problem}", answer)


@judge("ACP-LOAD-002", steps=("load", "load_after_restart", "keep"), editions=("v1",))
def a_loaded_session_is_replayed_before_the_answer(case: Case) -> str:
    step = _reopened(case, "load", "load")
    _done(step, step["load"], "loaded")
    request, answer = step.request_entry(step["load"]), step.answer_entry(step["load"])
    asked = request.place if request else 0
    after = until_asked(step, answer.place)
    late = step.updates(step["session"], *TURN_KINDS, since=answer.place + 1, before=after)
    if late:
        raise Violation("a part of the history comes behind the answer to the load", answer, late[0][0])
    replayed = step.updates(step["session"], *TURN_KINDS, since=asked, before=answer.place)
    told = step.updates(step["session"], *TURN_KINDS, before=asked)
    if step.name == "load_after_restart":
        told = case.step("keep").updates(step["session"], *TURN_KINDS)
    if told and not replayed:
        raise Violation("nothing of the conversation is replayed", told[0][0], answer)
    return f"{len(replayed)} updates"


@judge("ACP-LOAD-003", steps=("load", "load_after_restart", "keep"), editions=("v1",))
def the_answer_to_a_load_is_an_object(case: Case) -> None:
    step = _reopened(case, "load", "load")
    _done(step, step["load"], "loaded")
    if step.result(step["load"]) is None:
        request, answer = step.request_entry(step["load"]), step.answer_entry(step["load"])
        raise Violation("the answer to a load is null, not an empty object", request, answer)


@judge("ACP-RESUME-001", steps=("resume", "resume_after_restart", "keep"), editions=("v1",))
def a_session_can_be_resumed(case: Case) -> None:
    step = _reopened(case, "resume", "plain")
    _succeeds(step, step["plain"])


@judge("ACP-RESUME-002", steps=("resume", "resume_after_restart", "keep"), editions=("v1",))
def resuming_shows_no_history(case: Case) -> None:
    step = _reopened(case, "resume", "plain")
    _done(step, step["plain"], "resumed")
    request = step.request_entry(step["plain"])
    asked = request.place if request else 0
    shown = step.updates(step["session"], *TURN_KINDS, since=asked, before=until_asked(step, asked))
    if shown:
        raise Violation("resuming shows a part of the history", request, shown[0][0])


# --- managing


def _listed(step: Played, id_: Any) -> list[Any]:
    result = step.result(id_)
    sessions = result.get("sessions") if isinstance(result, dict) else None
    if not isinstance(sessions, list):
        raise Violation("the answer has no list of sessions", step.request_entry(id_), step.answer_entry(id_))
    return sessions


@judge("ACP-LIST-001", steps=("listing",), editions=("v1",))
def sessions_can_be_listed(case: Case) -> str:
    step = case.step("listing")
    return f"{len(_listed(step, step['all']))} sessions"


@judge("ACP-LIST-002", steps=("listing",), editions=("v1",))
def a_folder_without_sessions_has_an_empty_list(case: Case) -> None:
    step = case.step("listing")
    if _listed(step, step["none"]):
        request, answer = step.request_entry(step["none"]), step.answer_entry(step["none"])
        raise Violation("sessions are listed for a folder that has none", request, answer)


@judge("ACP-DELETE-001", steps=("deleting",), editions=("v1",))
def a_session_can_be_deleted(case: Case) -> None:
    step = case.step("deleting")
    _succeeds(step, step["delete"])


@judge("ACP-DELETE-002", steps=("deleting",), editions=("v1",))
def deleting_what_is_not_there_succeeds(case: Case) -> None:
    step = case.step("deleting")
    _succeeds(step, step["unknown"])
    if any("result" in answer for _, answer in step.answers(step["delete"])):
        _succeeds(step, step["again"])


@judge("ACP-CLOSE-001", steps=("closing",), editions=("v1",))
def an_idle_session_can_be_closed(case: Case) -> None:
    step = case.step("closing")
    _succeeds(step, step["idle"])


@judge("ACP-CLOSE-002", steps=("closing",), editions=("v1",))
def closing_cancels_the_prompt(case: Case) -> None:
    step = case.step("closing")
    request = step.request_entry(step["busy"])
    if request is not None and ended_before(step, step["prompt"], request.place):
        raise Unseen(TOO_SHORT)
    _succeeds(step, step["busy"])
    result = step.result(step["prompt"])
    reason = result.get("stopReason") if isinstance(result, dict) else None
    if reason != "cancelled":
        raise Violation(
            f"the prompt of a closed session ends with {reason!r}, not with 'cancelled'",
            request,
            step.answer_entry(step["prompt"]),
        )


@judge("ACP-ADDDIRS-001", steps=("additional_directories",), editions=("v1",))
def a_session_may_have_a_further_root(case: Case) -> None:
    step = case.step("additional_directories")
    _succeeds(step, step["new"])
