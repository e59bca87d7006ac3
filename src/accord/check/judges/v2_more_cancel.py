"""Work of v2 that is cancelled, whole or in pieces: what is dropped, what is left alone, what must not come back."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, is_state
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import FINAL, key_of, must_be_refused, needed

__all__: list[str] = []

_INVALID_PARAMS, _CANCELLED = -32602, -32800
_ECHOES = ("user_message", "user_message_chunk")
_WORK = ("agent_message", "agent_message_chunk", "agent_thought", "agent_thought_chunk")
_CANCELLING = ("v2_prompt_taken_back", "v2_cancelled_question", "v2_stopped_alone")


def _echo_place(played: Played, id_: Any) -> int | None:
    """Where the message of a prompt was told; None if it was not."""
    result = played.answer(id_).get("result")
    message_id = result.get("messageId") if isinstance(result, dict) else None
    for entry, update in played.updates(played["session"], *_ECHOES):
        if message_id is not None and update.get("messageId") == message_id:
            return entry.place
    return None


@judge("ACCORD-CANCEL-201", steps=("v2_prompts_and_cancel",), editions=("v2",))
def a_held_prompt_is_dropped(case: Case) -> None:
    played = case.step("v2_prompts_and_cancel")
    if "result" in played.answer(played["before"]):
        place, end = _echo_place(played, played["before"]), _end_of_cancelled_work(played)
        # Only what comes behind the end of the cancelled work was surely held when the cancellation arrived.
        if place is None or end is None or place < end.place:
            raise Unseen("no prompt was held: it was inserted at once")
        raise Violation("it was inserted after the cancellation", end, played.entries[place])
    must_be_refused(played, played["before"], _CANCELLED)


def _end_of_cancelled_work(played: Played) -> Entry | None:
    for entry, update in played.updates(played["session"], "state_update", since=played["cancelled"]):
        if update.get("state") == "idle" and update.get("stopReason") == "cancelled":
            return entry
    return None


@judge("ACCORD-CANCEL-202", steps=("v2_prompts_and_cancel",), editions=("v2",))
def a_later_prompt_is_not_touched(case: Case) -> None:
    played = case.step("v2_prompts_and_cancel")
    played.result(played["after"])
    place = _echo_place(played, played["after"])
    if place is None:
        raise Unseen("the prompt was not told as a message")
    states = played.updates(played["session"], "state_update", since=place)
    idles = [(entry, update) for entry, update in states if update.get("state") == "idle"]
    needed(idles, "the session never was idle again")
    if all(update.get("stopReason") == "cancelled" for _, update in idles):
        raise Violation("its work was cancelled", played.entries[played["cancelled"]], idles[-1][0])


# --- questions that are still open


def _asked(case: Case) -> Played:
    played = case.step("v2_cancelled_question")
    if played.get("asked") is None:
        raise Unseen("no permission was asked for")
    return played


@judge("ACCORD-CANCEL-203", steps=("v2_cancelled_question", "v2_prompt_taken_back"), editions=("v2",))
def a_cancellation_does_not_wait(case: Case) -> None:
    played = _asked(case)
    needed(case.step("v2_prompt_taken_back").get("idle"), "cancelling has no effect at all")
    if played["idle"] is None:
        raise Violation(
            "the session was not idle before the permission was answered",
            played["asked"],
            played.entries[played["cancelled"]],
        )


@judge("ACCORD-CANCEL-204", steps=("v2_cancelled_question",), editions=("v2",))
def an_open_question_is_taken_back(case: Case) -> None:
    played = _asked(case)
    needed(played["idle"], "the work was not cancelled")
    _must_be_taken_back(played, played["late"])


@judge("ACCORD-ELICIT-205", steps=("v2_cancelled_form",), editions=("v2",))
def an_open_form_is_taken_back(case: Case) -> None:
    played = case.step("v2_cancelled_form")
    needed(played.get("asked"), "the agent asked no question")
    needed(played["idle"], "the work was not cancelled")
    _must_be_taken_back(played, played.end)


def _must_be_taken_back(played: Played, before: int) -> None:
    """There was a `$/cancel_request` for the question of a step, after its cancellation and before a place."""
    id_ = key_of(played["asked"].message["id"])
    for entry, call in played.calls("$/cancel_request"):
        params = call.get("params")
        is_this = isinstance(params, dict) and key_of(params.get("requestId")) == id_
        if is_this and played["cancelled"] < entry.place < before:
            return
    raise Violation("there was no $/cancel_request for it", played["asked"], played["idle"])


@judge("ACCORD-CANCEL-205", steps=("v2_cancelled_question",), editions=("v2",))
def a_late_answer_revives_nothing(case: Case) -> None:
    played = _asked(case)
    needed(played["idle"], "the work was not cancelled")

    def is_working(message: Any) -> bool:
        return is_state(message, played["session"], "running", "requires_action")

    revived = played.first(is_working, played["late"])
    if revived is not None:
        raise Violation("there was work again", played.entries[played["late"]], revived)


@judge("ACCORD-CANCEL-206", steps=("v2_cancelled_question",), editions=("v2",))
def what_was_not_permitted_is_not_done(case: Case) -> None:
    played = _asked(case)
    needed(played["idle"], "the work was not cancelled")
    tool = _tool_of(played["asked"])
    needed(tool, "the permission was not for a tool call")
    for entry, update in played.updates(played["session"], "tool_call_update", since=played["cancelled"]):
        if update.get("toolCallId") == tool and update.get("status") == "completed":
            raise Violation("the tool call was completed", played["asked"], entry)


def _tool_of(asked: Entry) -> Any:
    """The id of the tool call that a permission is about."""
    params = asked.message.get("params")
    subject = params.get("subject") if isinstance(params, dict) else None
    if not isinstance(subject, dict):
        return None
    tool = subject.get("toolCall")
    return tool.get("toolCallId") if isinstance(tool, dict) else subject.get("toolCallId")


@judge("ACCORD-CANCEL-207", steps=_CANCELLING, editions=("v2",))
def nothing_comes_after_the_end(case: Case) -> None:
    ends = 0
    for name in _CANCELLING:
        played = case.step(name)
        for entry, update in played.updates(played["session"], "state_update"):
            if update.get("stopReason") == "cancelled" and not update.get("background"):
                ends += 1
                _look_behind(played, entry)
    needed(ends, "no work was cancelled")


def _look_behind(played: Played, idle: Entry) -> None:
    session = played["session"]
    again = played.first(lambda message: is_state(message, session, "running", "requires_action"), idle.place)
    for entry, _ in played.updates(session, *_WORK, since=idle.place, before=again.place if again else None):
        raise Violation("the agent spoke after the end of the work", idle, entry)


# --- one thing alone


def _refused_cancel(case: Case, name: str, why_not: str = "") -> None:
    played = case.step("v2_finished_things")
    needed(played.get(name), why_not)
    must_be_refused(played, played[name], _INVALID_PARAMS)


@judge("ACCORD-CANCEL-208", steps=("v2_finished_things",), editions=("v2",))
def an_unknown_tool_call_cannot_be_cancelled(case: Case) -> None:
    _refused_cancel(case, "no_tool")


@judge("ACCORD-CANCEL-209", steps=("v2_finished_things",), editions=("v2",))
def an_unknown_terminal_cannot_be_cancelled(case: Case) -> None:
    _refused_cancel(case, "no_terminal")


@judge("ACCORD-CANCEL-210", steps=("v2_finished_things",), editions=("v2",))
def a_finished_tool_call_cannot_be_cancelled(case: Case) -> None:
    _refused_cancel(case, "tool", "there was no tool call")


@judge("ACCORD-CANCEL-211", steps=("v2_finished_things",), editions=("v2",))
def a_terminal_that_exited_cannot_be_cancelled(case: Case) -> None:
    _refused_cancel(case, "terminal", "there was no terminal")


@judge("ACCORD-CANCEL-212", steps=("v2_stopped_alone",), editions=("v2",))
def a_tool_call_can_be_cancelled_alone(case: Case) -> None:
    _stopped(case, "toolCallId", "tool_call_update", "no tool call offered to be cancelled")


@judge("ACCORD-CANCEL-213", steps=("v2_stopped_alone",), editions=("v2",))
def a_terminal_can_be_cancelled_alone(case: Case) -> None:
    _stopped(case, "terminalId", "terminal_update", "no terminal offered to be cancelled")


def _stopped(case: Case, field: str, kind: str, why_not: str) -> None:
    played = case.step("v2_stopped_alone")
    needed(played.get(field), why_not)
    asked = played.request_entry(played[field])
    played.result(played[field])
    for _, update in played.updates(played["session"], kind, since=asked.place if asked else 0):
        has_ended = update.get("status") in FINAL or update.get("exitStatus") is not None
        if update.get(field) == played[f"{field} id"] and has_ended:
            return
    raise Violation("it was accepted, and the end was never told", asked, played.answer_entry(played[field]))
