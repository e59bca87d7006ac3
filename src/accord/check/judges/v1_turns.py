"""Turns in v1: their ends, their updates, and cancelling them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, messages_in
from accord.check.judge import judge
from accord.check.shape import Piece, pieces, shape_of

__all__ = ["STOP_REASONS", "TOO_SHORT", "TURN_KINDS", "ended_before", "until_asked"]

STOP_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
TURN_KINDS = (
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
)
"""The updates that are part of a turn, and of history; others may come at any time."""
OTHER_KINDS = ("available_commands_update", "config_option_update", "session_info_update")
"""Updates that have nothing to do with a turn, and no rule of their own."""
TOO_SHORT = "the turn ended before it was cancelled: give --cancel-prompt"
_OWN_RULES = {("session/new", "sessionId"), ("session/prompt", "stopReason")}


@judge("ACP-SCHEMA-001", steps=("meet", "turns", "cancel", "meet_able"), editions=("v1",))
def what_is_said_fits_the_schema(case: Case) -> None:
    for record in case.records:
        for piece in pieces(record):
            if not _is_judged_here(piece):
                continue
            shape = shape_of("v1", piece)
            if shape.problem and (piece.method, shape.field) not in _OWN_RULES:
                what = "the result" if piece.is_result else "the params"
                where = f"{shape.field} in {what}" if shape.field else what
                raise Violation(f"{where} of {piece.method} does not fit: expected {shape.problem}", piece.entry)


def _is_judged_here(piece: Piece) -> bool:
    """The basic exchange, without what has a rule of its own: the handshake, a turn's updates, empty results."""
    if piece.is_result:
        return piece.method in {"session/new", "session/prompt"} and isinstance(piece.value, dict)
    if piece.method != "session/update":
        return True
    update = piece.value.get("update") if isinstance(piece.value, dict) else None
    return isinstance(update, dict) and update.get("sessionUpdate") in OTHER_KINDS


@judge("ACP-PROMPT-001", steps=("turns",), editions=("v1",))
def a_prompt_ends_with_a_known_stop_reason(case: Case) -> str:
    step = case.step("turns")
    return _stop_reason(step, step["words"])


def _stop_reason(step: Played, prompt: Any) -> str:
    result = step.result(prompt)
    reason = result.get("stopReason") if isinstance(result, dict) else None
    if reason not in STOP_REASONS:
        raise Violation(f"the stop reason is {reason!r}", step.request_entry(prompt), step.answer_entry(prompt))
    return str(reason)


@judge("ACP-PROMPT-002", steps=("turns",), editions=("v1",))
def the_updates_of_a_turn_are_those_of_its_session(case: Case) -> str:
    step = case.step("turns")
    opened = _sessions(step)
    count = 0
    for prompt in (step["words"], step["link"], step["meta"]):
        request, answer = step.request_entry(prompt), step.answer_entry(prompt)
        for entry, message in messages_in(step.entries[request.place if request else 0 : answer.place]):
            if message.get("method") == "session/update":
                _check_update(entry, message.get("params"), opened)
                count += 1
    return f"{count} updates"


def _check_update(entry: Entry, params: Any, opened: set[Any]) -> None:
    piece = Piece(entry, "session/update", params, is_result=False)
    if _is_judged_here(piece):
        return
    shape = shape_of("v1", piece)
    if shape.problem:
        raise Violation(f"{shape.field or 'an update'} does not fit: expected {shape.problem}", entry)
    if params["sessionId"] not in opened:
        raise Violation("an update of the turn names another session than the one that was prompted", entry)


def _sessions(step: Played) -> set[Any]:
    """The sessions that were opened so far in this process: one of them may have something to tell of its own."""
    results = [message.get("result") for _, message in messages_in(step.entries[: step.end])]
    ids = [result.get("sessionId") for result in results if isinstance(result, dict)]
    return {step["session"], *(id_ for id_ in ids if isinstance(id_, str))}


@judge("ACP-PROMPT-003", steps=("turns",), editions=("v1",))
def a_prompt_may_hold_a_link(case: Case) -> None:
    step = case.step("turns")
    step.result(step["link"])


def _runs(note: str) -> Callable[[Case], None]:
    def runs(case: Case) -> None:
        step = case.step("prompt_blocks")
        if note not in step.notes:
            raise Unseen("not advertised")
        step.result(step[note])

    runs.__name__ = f"a_prompt_with_{note}_ends"
    return runs


for _id, _note in (("001", "image"), ("002", "audio"), ("003", "resource")):
    judge(f"ACP-PROMPTCAP-{_id}", steps=("prompt_blocks",), editions=("v1",))(_runs(_note))


# --- cancelling


def ended_before(step: Played, prompt: Any, place: int) -> bool:
    """Whether a turn was over when it was cancelled."""
    return any(entry.place < place for entry, _ in step.answers(prompt))


def until_asked(step: Played, place: int) -> int | None:
    """The place behind another at which we next asked something of the step's session, or began any turn; or None.

    What an agent tells of the session in a turn of another one belongs to that turn: that has a rule of its own.
    """
    for entry, message in messages_in(step.entries[place + 1 :], sent=True):
        params = message.get("params")
        is_about_it = "id" in message and isinstance(params, dict) and params.get("sessionId") == step["session"]
        if is_about_it or message.get("method") == "session/prompt":
            return entry.place
    return None


@judge("ACP-CANCEL-001", steps=("cancel",), editions=("v1",))
def a_cancelled_prompt_succeeds_with_cancelled(case: Case) -> None:
    step = case.step("cancel")
    prompt = step["prompt"]
    if ended_before(step, prompt, step["cancel"]):
        raise Unseen(TOO_SHORT)
    cancel, entry = step.entries[step["cancel"]], step.answer_entry(prompt)
    answer = step.answer(prompt)
    if "result" not in answer:
        raise Violation("a cancelled prompt is answered with an error", cancel, entry)
    result = answer["result"]
    reason = result.get("stopReason") if isinstance(result, dict) else None
    if reason != "cancelled":
        raise Violation(f"a cancelled prompt ends with {reason!r}, not with 'cancelled'", cancel, entry)


@judge("ACP-CANCEL-002", steps=("cancel",), editions=("v1",))
def nothing_is_told_behind_the_answer_to_a_cancelled_prompt(case: Case) -> None:
    step = case.step("cancel")
    if ended_before(step, step["prompt"], step["cancel"]):
        raise Unseen(TOO_SHORT)
    answer = step.answer_entry(step["prompt"])
    late = step.updates(step["session"], *TURN_KINDS, since=answer.place + 1, before=until_asked(step, answer.place))
    if late:
        raise Violation("an update of the turn comes behind the answer to its cancelled prompt", answer, late[0][0])
