"""Turns in June, which are those of v1: a prompt is answered when its turn has ended."""

from __future__ import annotations

from typing import NamedTuple

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, is_update, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_sight import (
    JUNE,
    STOP_REASONS,
    Asked,
    asked_in,
    is_extension,
    next_about,
    prompts_of,
    unending,
)
from accord.check.talk import StepFailed

__all__: list[str] = []

TOO_EARLY = "the turn ended before it was cancelled: give --cancel-prompt"
REASONS = STOP_REASONS - {"error"}


@judge("ACP-PROMPT-001", steps=("turns",), editions=JUNE)
def a_prompt_ends_with_a_known_stop_reason(case: Case) -> str:
    prompt = prompts_of(case, "turns")[0]
    if prompt.result is None:
        raise Violation("a prompt was not answered with a result", prompt.entry, prompt.answer_entry)
    reason = prompt.result.get("stopReason")
    if reason not in REASONS and not is_extension(reason):
        raise Violation(f"the stop reason is {reason!r}", prompt.entry, prompt.answer_entry)
    return str(reason)


class Cancelled(NamedTuple):
    """A prompt whose turn was stopped, and by which line of ours."""

    played: Played
    prompt: Asked
    by: Entry


def _stopped(case: Case, name: str, method: str = "session/cancel") -> Cancelled:
    """The turn of a step that was stopped while it went on.

    Raises:
        Unseen: It had ended by itself.
        StepFailed: It did not come to that.
    """
    played = case.begun(name)
    prompt = prompts_of(case, name)[0]
    by = next(
        (
            entry
            for entry in played.entries[prompt.entry.place : played.end]
            if entry.sent and isinstance(entry.message, dict) and entry.message.get("method") == method
        ),
        None,
    )
    if by is None:
        raise played.failure or Unseen("nothing was cancelled")
    if prompt.answer_entry is not None and prompt.answer_entry.place < by.place:
        raise Unseen(TOO_EARLY)
    return Cancelled(played, prompt, by)


def _ended(case: Case, name: str) -> Cancelled:
    cancelled = _stopped(case, name)
    if cancelled.prompt.answer_entry is None:
        raise StepFailed("a cancelled prompt was not answered", unending(case, "ACP-CANCEL-001"), cancelled.by)
    return cancelled


@judge("ACP-CANCEL-001", steps=("cancel",), editions=JUNE)
def a_cancelled_prompt_succeeds_with_cancelled(case: Case) -> None:
    cancelled = _ended(case, "cancel")
    if (cancelled.prompt.result or {}).get("stopReason") != "cancelled":
        raise Violation("a cancelled prompt did not succeed as cancelled", cancelled.by, cancelled.prompt.answer_entry)


@judge("ACP-CANCEL-002", steps=("cancel",), editions=JUNE)
def no_update_comes_behind_the_answer_to_a_cancelled_prompt(case: Case) -> None:
    cancelled = _ended(case, "cancel")
    answered = cancelled.prompt.answer_entry
    since = answered.place if answered is not None else 0
    for entry, _ in cancelled.played.updates(cancelled.prompt.params["sessionId"], since=since):
        raise Violation("an update came behind the answer to a cancelled prompt", answered, entry)


@judge("ACP-CANCEL-206", steps=("cancel", "cancel_with_meta"), editions=JUNE)
def a_cancellation_needs_no_more_than_the_session(case: Case) -> None:
    for name in ("cancel", "cancel_with_meta"):
        cancelled = _stopped(case, name)
        if cancelled.prompt.answer_entry is None:
            what = "with metadata" if name == "cancel_with_meta" else "with the session's id alone"
            reason = f"a cancellation {what} was not obeyed"
            raise StepFailed(reason, unending(case, "ACP-CANCEL-206"), cancelled.by)


@judge("ACP-CLOSE-002", steps=("closing",), editions=JUNE)
def closing_cancels_the_prompt(case: Case) -> None:
    # The first of two closings is about a session without work.
    played = case.begun("closing")
    prompt = prompts_of(case, "closing")[0]
    busy = next((each for each in asked_in(played, "session/close") if each.entry.place > prompt.entry.place), None)
    if busy is None:
        raise played.failure or Unseen("no session that works was closed")
    if prompt.answer_entry is not None and prompt.answer_entry.place < busy.entry.place:
        raise Unseen(TOO_EARLY)
    if prompt.answer_entry is None:
        reason = "closing a session left its prompt without an answer"
        raise StepFailed(reason, unending(case, "ACP-CLOSE-002"), busy.entry)
    if busy.result is None:
        raise Violation("a session that works could not be closed", busy.entry, busy.answer_entry)
    if (prompt.result or {}).get("stopReason") != "cancelled":
        raise Violation("closing a session did not end its prompt as cancelled", busy.entry, prompt.answer_entry)


# --- sessions from before

HISTORY = (
    "user_message",
    "agent_message",
    "agent_thought",
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call_update",
    "tool_call_content_chunk",
    "plan_update",
)


def _tried(case: Case, method: str, *names: str) -> list[Asked]:
    """The requests by a method in some steps.

    Raises:
        StepFailed: None of the steps came so far.
    """
    played = [case.begun(name) for name in names]
    found = [each for one in played for each in asked_in(one, method)]
    if not found:
        raise next((one.failure for one in played if one.failure), Unseen("it was not tried"))
    return found


def _succeeded(case: Case, method: str, *names: str) -> list[Asked]:
    found = [each for each in _tried(case, method, *names) if "result" in each.answer]
    if not found:
        raise Unseen("it did not succeed")
    return found


@judge("ACP-LOAD-001", steps=("load", "load_after_restart", "keep"), editions=JUNE)
def a_session_can_be_loaded(case: Case) -> None:
    tried = _tried(case, "session/load", "load", "load_after_restart")
    if not any("result" in each.answer for each in tried):
        raise Violation("no session could be loaded", tried[0].entry, tried[0].answer_entry)


@judge("ACP-LOAD-002", steps=("load", "load_after_restart", "keep"), editions=JUNE)
def a_loaded_session_is_replayed_before_the_answer(case: Case) -> None:
    for each in _succeeded(case, "session/load", "load", "load_after_restart"):
        since = each.answer_entry.place if each.answer_entry else 0
        # What later steps do with the session is not this replay.
        until = each.record.end if isinstance(each.record, Played) else None
        for entry, message in messages_in(each.record.entries[since:until]):
            if is_update(message, each.params["sessionId"], *HISTORY):
                raise Violation("a part of a replay came behind the answer to the load", each.answer_entry, entry)


@judge("ACP-LOAD-003", steps=("load", "load_after_restart", "keep"), editions=JUNE)
def the_answer_to_a_load_is_an_object(case: Case) -> None:
    for each in _succeeded(case, "session/load", "load", "load_after_restart"):
        if each.result is None:
            raise Violation("the result of a load is no object", each.entry, each.answer_entry)


@judge("ACP-RESUME-001", steps=("resume", "resume_after_restart", "keep"), editions=JUNE)
def a_session_can_be_resumed(case: Case) -> None:
    tried = _tried(case, "session/resume", "resume", "resume_after_restart")
    if not any(each.result is not None for each in tried):
        raise Violation("no session could be resumed", tried[0].entry, tried[0].answer_entry)


@judge("ACP-RESUME-002", steps=("resume", "resume_after_restart", "keep"), editions=JUNE)
def resuming_shows_no_history(case: Case) -> None:
    for each in _succeeded(case, "session/resume", "resume", "resume_after_restart"):
        before = next_about(each.record, each.params["sessionId"], each.entry.place + 1)
        for entry, message in messages_in(each.record.entries[each.entry.place : before]):
            if is_update(message, each.params["sessionId"], *HISTORY):
                raise Violation("a session that was resumed showed its history", each.entry, entry)
