"""Cancellation in v2: how a cancelled turn ends, and what is said of it."""

from __future__ import annotations

from typing import NamedTuple

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, is_answer, is_state, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_sight import (
    BOTH,
    STOP_REASONS,
    V2,
    Asked,
    asked_in,
    is_extension,
    prompts_of,
    recorded,
    unending,
)
from accord.check.talk import StepFailed

__all__: list[str] = []

TOO_EARLY = "the turn ended before it was cancelled: give --cancel-prompt"
AT_ONCE_SECONDS = 0.25


class Cancelled(NamedTuple):
    """A turn that was stopped: by which line of ours, and how it ended."""

    played: Played
    prompt: Asked
    by: Entry
    idle: Entry | None

    @property
    def session(self) -> str:
        """The session."""
        return str(self.prompt.params["sessionId"])

    @property
    def reason(self) -> object:
        """The stop reason, if one was told."""
        for _, message in messages_in([self.idle] if self.idle else []):
            if is_state(message, self.session, "idle"):
                reason: object = message["params"]["update"].get("stopReason")
                return reason
        return None


def _stopped(case: Case, name: str, method: str = "session/cancel") -> Cancelled:
    """The turn of a step that was stopped while it went on.

    Raises:
        Unseen: It had ended by itself.
        StepFailed: It did not come to that.
    """
    played = case.begun(name)
    prompt = prompts_of(case, name)[0]
    session = prompt.params["sessionId"]
    by = next(
        (
            entry
            for entry in played.entries[prompt.entry.place : played.end]
            if entry.sent
            and entry.message.get("method") == method
            and entry.message["params"].get("sessionId") == session
        ),
        None,
    )
    if by is None:
        raise played.failure or Unseen("nothing was cancelled")
    if prompt.answer_entry is None:
        raise StepFailed("a prompt was not answered", "ACP-PROMPT-201", prompt.entry)
    if prompt.result is None and prompt.answer_entry.place < by.place:
        raise StepFailed("a prompt was answered with an error", "ACP-PROMPT-201", prompt.entry, prompt.answer_entry)
    idle = played.first(lambda message: is_state(message, session, "idle"), prompt.entry.place)
    if idle is not None and idle.place < by.place:
        raise Unseen(TOO_EARLY)
    return Cancelled(played, prompt, by, idle)


def _ended(case: Case, name: str) -> Cancelled:
    cancelled = _stopped(case, name)
    if cancelled.idle is None:
        raise StepFailed("a cancelled turn never became idle", unending(case, "ACP-CANCEL-201"), cancelled.by)
    return cancelled


@judge("ACP-CANCEL-201", steps=("cancel",), editions=V2)
def a_cancelled_turn_ends_with_cancelled(case: Case) -> None:
    cancelled = _ended(case, "cancel")
    if cancelled.reason != "cancelled":
        raise Violation(f"a cancelled turn ended with {cancelled.reason!r}", cancelled.by, cancelled.idle)


@judge("ACP-CANCEL-202", steps=("cancel",), editions=V2)
def no_other_state_is_told_behind_the_end(case: Case) -> None:
    cancelled = _ended(case, "cancel")
    idle = cancelled.idle
    since = idle.place + 1 if idle is not None else 0
    for entry, update in cancelled.played.updates(cancelled.session, "state_update", since=since):
        # A state is a snapshot: to say the same again changes nothing.
        if update.get("state") != "idle" or update.get("stopReason") not in {None, cancelled.reason}:
            raise Violation("a state was told behind the end of a cancelled turn", cancelled.idle, entry)


@judge("ACP-CANCEL-203", steps=("cancel",), editions=V2)
def a_cancellation_is_no_error_and_no_other_known_reason(case: Case) -> None:
    cancelled = _stopped(case, "cancel")
    for entry, message in cancelled.played.answers(cancelled.prompt.entry.message["id"]):
        if "error" in message:
            raise Violation("a cancellation was told as an error", cancelled.by, entry)
    if cancelled.reason in STOP_REASONS - {"cancelled"}:
        raise Violation(f"a cancelled turn ended with {cancelled.reason!r}", cancelled.by, cancelled.idle)


@judge("ACP-CANCEL-204", steps=("cancel",), editions=V2)
def how_soon_work_stops(case: Case) -> str:
    failure = case.begun("cancel").failure
    if failure is not None and failure.blame != "ACP-CANCEL-201":
        recorded(case, "cancel")
    cancelled = _stopped(case, "cancel")
    if cancelled.idle is None:
        return "it never stopped"
    seconds = cancelled.idle.seconds - cancelled.by.seconds
    return "at once" if seconds < AT_ONCE_SECONDS else f"after {seconds:.2f} s"


@judge("ACP-CANCEL-205", steps=("cancel",), editions=BOTH)
def nothing_answers_a_cancellation(case: Case) -> None:
    played = case.begun("cancel")
    by = next((entry for entry in played.entries[played.start : played.end] if _is_cancel(entry)), None)
    if by is None:
        raise played.failure or Unseen("nothing was cancelled")
    asked = [entry.message["id"] for entry in played.entries if entry.sent and _has_id(entry)]
    for entry, message in messages_in(played.entries[by.place : played.end]):
        if "method" not in message and "id" in message and not any(is_answer(message, id_) for id_ in asked):
            raise Violation("a cancellation was answered", by, entry)


def _is_cancel(entry: Entry) -> bool:
    return entry.sent and isinstance(entry.message, dict) and entry.message.get("method") == "session/cancel"


def _has_id(entry: Entry) -> bool:
    return isinstance(entry.message, dict) and entry.message.get("id") is not None


@judge("ACP-CANCEL-206", steps=("cancel", "cancel_with_meta"), editions=V2)
def a_cancellation_needs_no_more_than_the_session(case: Case) -> None:
    for name in ("cancel", "cancel_with_meta"):
        cancelled = _stopped(case, name)
        if cancelled.idle is None:
            what = "with metadata" if name == "cancel_with_meta" else "with the session's id alone"
            raise StepFailed(f"a cancellation {what} was not obeyed", unending(case, "ACP-CANCEL-206"), cancelled.by)


@judge("ACP-CANCEL-207", steps=("cancel",), editions=V2)
def no_word_of_the_agents_own_stands_in_for_cancelled(case: Case) -> None:
    cancelled = _stopped(case, "cancel")
    reason = cancelled.reason
    if reason is not None and reason not in STOP_REASONS and not is_extension(reason):
        raise Violation(f"a cancelled turn ended with {reason!r}", cancelled.by, cancelled.idle)


def _closed(case: Case) -> tuple[Cancelled, Asked]:
    """The turn whose session was closed, and the request for that."""
    closed = _stopped(case, "closing", "session/close")
    (busy,) = [each for each in asked_in(closed.played, "session/close") if each.entry is closed.by]
    return closed, busy


@judge("ACP-CLOSE-202", steps=("closing",), editions=V2)
def closing_ends_the_work(case: Case) -> None:
    closed, busy = _closed(case)
    if busy.result is None:
        raise Violation("a session that works could not be closed", busy.entry, busy.answer_entry)
    if closed.idle is None:
        raise StepFailed("closing a session did not end its work", unending(case, "ACP-CLOSE-202"), busy.entry)


@judge("ACP-CANCEL-208", steps=("closing",), editions=V2)
def closing_is_a_cancellation(case: Case) -> None:
    closed, busy = _closed(case)
    if closed.idle is None:
        raise Unseen("closing the session did not end its work")
    if closed.reason != "cancelled":
        raise Violation(f"closing a session ended its work with {closed.reason!r}", busy.entry, closed.idle)


# --- what is only recorded


def _said_behind(played: Played, place: int, session: str) -> str:
    """What came of a cancellation, up to the next sign of life."""
    kinds = [
        str(update.get("state") or update.get("sessionUpdate")) for _, update in played.updates(session, since=place)
    ]
    answered = [each for _, each in messages_in(played.entries[place : played.end]) if each.get("id", 0) is None]
    return ", ".join([*kinds, *("an error" for _ in answered)]) or "nothing"


@judge("ACP-INFO-CANCEL-201", steps=("unknown_session", "unanswered_permission"), editions=BOTH)
def what_a_cancellation_of_nothing_does(case: Case) -> str:
    unknown, idle = recorded(case, "unknown_session"), recorded(case, "unanswered_permission")
    return (
        f"unknown session: {_said_behind(unknown, unknown['cancel'], 'nobody')}; "
        f"idle session: {_said_behind(idle, idle['idle_cancel'], idle['session'])}"
    )


@judge("ACP-INFO-CANCEL-202", steps=("unanswered_permission",), editions=V2)
def whether_the_agent_takes_its_questions_back(case: Case) -> str:
    played = recorded(case, "unanswered_permission")
    if not played["asked"]:
        raise Unseen("the agent asked for no permission")
    back = [entry for entry, _ in played.calls("$/cancel_request") if entry.place > played["cancel"]]
    return "taken back" if back else "left open"


@judge("ACP-INFO-CONCURRENT-201", steps=("two_prompts",), editions=BOTH)
def what_happens_to_a_second_prompt(case: Case) -> str:
    played = recorded(case, "two_prompts")
    answers = played.answers(played["second"])
    if not answers:
        return "not answered"
    entry, answer = answers[0]
    error = answer.get("error")
    what = f"refused with {error.get('code')}" if isinstance(error, dict) else "accepted"
    return f"{what} {'before' if entry.place < played['cancel'] else 'after'} the first was cancelled"
