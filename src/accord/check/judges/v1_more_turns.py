"""What is told in a turn: in which order, of tools and their files, and what is asked for before."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, is_update, messages_in
from accord.check.judge import judge
from accord.check.judges.v1_more_sight import (
    BOTH,
    as_dict,
    asked,
    heeds_cancel,
    is_absolute,
    key_of,
    listed,
    seen,
    told,
    tools_told,
    turns_in,
)

__all__: list[str] = []

_TURNS = ("more_turn", "more_work")
_OF_A_TURN = (
    "agent_message_chunk",
    "agent_message",
    "agent_thought_chunk",
    "agent_thought",
    "tool_call",
    "tool_call_update",
    "tool_call_content_chunk",
    "plan",
    "plan_update",
)
_OVER = {"completed", "failed"}
_PLACE = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}


# --- order


@judge("ACCORD-ORDER-001", steps=_TURNS, editions=BOTH)
def what_belongs_to_a_turn_comes_before_its_answer(case: Case) -> None:
    turns = [turn for turn in turns_in(case) if turn.is_whole]
    if not turns:
        raise Unseen("no turn came to its own end")
    for turn in turns:
        since = turn.answered.place if turn.answered else 0
        for entry in turn.record.entries[since : turn.end]:
            if not entry.sent and is_update(entry.message, turn.session, *_OF_A_TURN):
                raise Violation("it was told after the answer to its prompt", turn.answered, entry)


@judge("ACCORD-ORDER-002", steps=_TURNS, editions=BOTH)
def a_tool_call_is_announced_first(case: Case) -> None:
    first = ("tool_call",) if case.edition == "v1" else ("tool_call_update",)
    then = "tool_call_update" if case.edition == "v1" else "tool_call_content_chunk"
    known: set[Any] = set()
    updates = list(told(case, *first, then))
    for record, entry, session, update in updates:
        key = key_of(record.name, session, update.get("toolCallId"))
        if update["sessionUpdate"] != then:
            known.add(key)
        elif key not in known:
            raise Violation(f"{then} is about a tool call that was not told before", entry)
    if not updates:
        raise Unseen("no tool was used")


@judge("ACCORD-ORDER-003", steps=_TURNS, editions=("v1",))
def a_tool_call_is_announced_once(case: Case) -> None:
    found = False
    for record in case.records:
        known: dict[Any, Entry] = {}
        for entry in record.entries:
            message = as_dict(entry.message)
            if entry.sent and message.get("method") in {"session/load", "session/resume"}:
                known.clear()  # What is replayed is announced again.
            if not entry.sent and is_update(message, None, "tool_call"):
                key = key_of(message["params"].get("sessionId"), message["params"]["update"].get("toolCallId"))
                if key in known:
                    raise Violation("two tool calls of a session have the same id", known[key], entry)
                known[key] = entry
                found = True
    if not found:
        raise Unseen("no tool was used")


# --- tools


@judge("ACCORD-TOOL-001", steps=_TURNS, editions=BOTH)
def the_status_of_a_tool_call_only_goes_forward(case: Case) -> None:
    last: dict[Any, tuple[str, Entry]] = {}
    for record, entry, session, update in told(case, "tool_call", "tool_call_update"):
        status = update.get("status")
        key = key_of(record.name, session, update.get("toolCallId"))
        if key in last and update["sessionUpdate"] == "tool_call":
            del last[key]  # It is announced again: a replay.
        if not isinstance(status, str) or status not in _PLACE:
            continue
        if key in last and _is_backward(last[key][0], status) and not _is_replayed(case, session):
            raise Violation(f"a tool call went from {last[key][0]} to {status}", last[key][1], entry)
        last[key] = (status, entry)
    if not last:
        raise Unseen("no tool was used")


def _is_backward(before: str, status: str) -> bool:
    return _PLACE[status] < _PLACE[before] or (before in _OVER and status != before)


def _is_replayed(case: Case, session: Any) -> bool:
    """Whether a session was told again as a whole: then its tool calls begin again."""
    return any(
        message.get("method") == "session/load" and as_dict(message.get("params")).get("sessionId") == session
        for _, _, message in case.messages(sent=True)
    )


@judge("ACCORD-TOOL-002", steps=_TURNS, editions=BOTH)
def no_tool_call_is_left_open_at_the_end(case: Case) -> None:
    found = False
    for turn in turns_in(case):
        if not turn.is_whole or turn.answer["result"].get("stopReason") != "end_turn" or turn.answered is None:
            continue
        tools: dict[Any, tuple[Any, Entry]] = {}
        for entry, message in messages_in(turn.record.entries[turn.asked.place : turn.answered.place]):
            if is_update(message, turn.session, "tool_call", "tool_call_update"):
                update = message["params"]["update"]
                key = key_of(update.get("toolCallId"))
                tools[key] = (update.get("status") or tools.get(key, ("pending",))[0], entry)
        found = found or bool(tools)
        for status, entry in tools.values():
            if status in ("pending", "in_progress"):
                raise Violation(f"the turn ended while a tool call was {status}", entry, turn.answered)
    if not found:
        raise Unseen("no tool was used in a turn that came to its end")


@judge("ACCORD-TOOL-003", steps=("v1_more_refusing",), editions=("v1",))
def a_client_that_fails_does_not_fail_the_turn(case: Case) -> str:
    played = seen(case, "v1_more_refusing", "ACCORD-TOOL-003")
    answered = played.answer_entry(played["prompt"])
    refused = [
        entry
        for entry, message in messages_in(played.entries[played["since"] : answered.place], sent=True)
        if "error" in message or as_dict(message.get("result")).get("action") == "cancel"
    ]
    if not refused:
        raise Unseen("it asked the client for nothing that could fail")
    if "error" in played.answer(played["prompt"]):
        raise Violation("the prompt failed with it", refused[-1], answered)
    return f"{len(refused)} requests of the agent failed"


# --- paths and lines


@judge("ACCORD-PATH-001", steps=_TURNS, editions=BOTH)
def locations_are_absolute(case: Case) -> None:
    found = False
    for _, entry, _, tool in tools_told(case):
        for location in listed(tool.get("locations")):
            found = True
            if not is_absolute(as_dict(location).get("path")):
                raise Violation(f"the location {location['path']!r} is relative", entry)
    if not found:
        raise Unseen("no tool call had locations")


@judge("ACCORD-PATH-002", steps=_TURNS, editions=("v1",))
def lines_are_counted_from_one(case: Case) -> None:
    found = False
    for _, entry, _, tool in tools_told(case):
        for location in listed(tool.get("locations")):
            line = as_dict(location).get("line")
            found = found or line is not None
            if isinstance(line, int) and line < 1:
                raise Violation(f"the location has the line {line}", entry)
    for _, entry, params in asked(case, "fs/read_text_file"):
        line = params.get("line")
        found = found or line is not None
        if isinstance(line, int) and line < 1:
            raise Violation(f"it reads from the line {line}", entry)
    if not found:
        raise Unseen("no line was named")


@judge("ACCORD-DIFF-001", steps=_TURNS, editions=BOTH)
def diffs_name_absolute_paths(case: Case) -> None:
    found = False
    for _, entry, _, tool in [*tools_told(case), *_chunks(case)]:
        for content in listed(tool.get("content")):
            if as_dict(content).get("type") == "diff":
                found = True
                if not is_absolute(content.get("path")):
                    raise Violation(f"the diff is of the relative path {content['path']!r}", entry)
    if not found:
        raise Unseen("no diff was shown")


def _chunks(case: Case) -> list[Any]:
    """June's pieces of content, as lists of one."""
    found = told(case, "tool_call_content_chunk")
    return [(record, entry, session, {"content": [chunk.get("content")]}) for record, entry, session, chunk in found]


# --- permissions


@judge("ACCORD-PERM-001", steps=("more_work",), editions=BOTH)
def the_options_of_a_question_have_ids_of_their_own(case: Case) -> None:
    for _, entry, params in _permissions(case):
        ids = [as_dict(option).get("optionId") for option in listed(params.get("options"))]
        if len({str(id_) for id_ in ids}) != len(ids):
            raise Violation(f"the options have the ids {ids}", entry)


@judge("ACCORD-PERM-002", steps=("more_work",), editions=BOTH)
def a_question_has_options(case: Case) -> None:
    for _, entry, params in _permissions(case):
        if params.get("options") == []:
            raise Violation("there is nothing to choose from", entry)


def _permissions(case: Case) -> list[Any]:
    found = list(asked(case, "session/request_permission"))
    if not found:
        raise Unseen("it never asked for permission: give --tool-prompt")
    return found


def _asked_in(case: Case, step: str, rule: str) -> tuple[Any, Entry]:
    """A step in whose turn a permission was asked for, and the first question."""
    played = seen(case, step, rule)
    for entry, message in messages_in(played.entries[played["since"] : played.end]):
        if message.get("method") == "session/request_permission":
            return played, entry
    raise Unseen("it did not ask for permission: give --tool-prompt")


@judge("ACCORD-PERM-003", steps=("more_work",), editions=BOTH)
def a_turn_goes_on_after_a_yes(case: Case) -> None:
    played, question = _asked_in(case, "more_work", "ACCORD-PERM-003")
    if "error" in played.answer(played["prompt"]):
        raise Violation("the prompt failed", question, played.answer_entry(played["prompt"]))


@judge("ACCORD-PERM-004", steps=("more_rejecting",), editions=BOTH)
def a_no_does_not_fail_the_prompt(case: Case) -> None:
    played, question = _asked_in(case, "more_rejecting", "ACCORD-PERM-004")
    if "error" in played.answer(played["prompt"]):
        raise Violation("the prompt failed", question, played.answer_entry(played["prompt"]))


@judge("ACCORD-PERM-006", steps=("more_rejecting",), editions=BOTH)
def what_was_rejected_is_not_done(case: Case) -> None:
    played, question = _asked_in(case, "more_rejecting", "ACCORD-PERM-006")
    message = as_dict(question.message)
    tool = as_dict(as_dict(message.get("params")).get("toolCall")).get("toolCallId")
    for entry, update in played.updates(played["session"], "tool_call", "tool_call_update", since=question.place):
        if update.get("toolCallId") == tool and update.get("status") == "completed":
            raise Violation("a tool call that was rejected was completed", question, entry)


@judge("ACCORD-PERM-005", steps=("more_cancel_in_permission",), editions=BOTH)
def a_turn_that_waits_for_permission_can_be_cancelled(case: Case) -> None:
    played = seen(case, "more_cancel_in_permission", "ACCORD-PERM-005")
    if played["asked"] is None:
        raise Unseen("it did not ask for permission: give --tool-prompt")
    if not heeds_cancel(case, played["session"]):
        raise Unseen("no cancellation is heeded")
    answer = played.answer(played["prompt"])
    if as_dict(answer.get("result")).get("stopReason") != "cancelled":
        raise Violation(
            "the prompt was not answered with `cancelled`",
            played.entries[played["asked"]],
            played.answer_entry(played["prompt"]),
        )
