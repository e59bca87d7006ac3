"""What a v2 agent does with strange lines, and the form of its own."""

from __future__ import annotations

import json
import re
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, Record, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import key_of

__all__: list[str] = []

_INVALID_REQUEST, _PARSE_ERROR = -32600, -32700
_TRACE = re.compile(
    r'Traceback \(most recent call last\)|File "[^"]+", line \d+|\n\s+at .+:\d+:\d+\)?|panicked at |goroutine \d+ \['
)


def _nameless(played: Played, part: tuple[int, int]) -> list[tuple[Entry, dict[str, Any]]]:
    """The answers with the id null in a part of a record."""
    found = messages_in(played.entries[part[0] : part[1]])
    return [(entry, each) for entry, each in found if "method" not in each and each.get("id") is None]


def _code(message: dict[str, Any]) -> Any:
    error = message.get("error")
    return error.get("code") if isinstance(error, dict) else None


def _each_gets(played: Played, code: int) -> None:
    """Every strange line gets one error with the id null."""
    for name, part in played["parts"].items():
        answers = _nameless(played, part)
        line = played.entries[part[0]]
        if not answers:
            raise Violation(f"{name}: there was no error with the id null", line, *_answer_in(played, part))
        if len(answers) > 1:
            raise Violation(f"{name}: there were {len(answers)} errors with the id null", line, answers[1][0])
        if _code(answers[0][1]) != code:
            raise Violation(f"{name}: the error is {_code(answers[0][1])!r}, not {code}", line, answers[0][0])


def _answer_in(played: Played, part: tuple[int, int]) -> list[Entry]:
    return [entry for entry in played.entries[part[0] + 1 : part[1]] if not entry.sent][:1]


def _none_is_answered(played: Played) -> None:
    """No strange line gets any answer."""
    for name, part in played["parts"].items():
        line = played.entries[part[0]]
        strays = {key_of(None), key_of(line.message.get("id") if isinstance(line.message, dict) else None)}
        for entry, each in messages_in(played.entries[part[0] : part[1]]):
            if "method" not in each and key_of(each.get("id")) in strays:
                raise Violation(f"{name}: it was answered", line, entry)


@judge("ACCORD-WIRE-201", steps=("meet", "v2_arrays"), editions=("v2",))
def no_arrays_are_sent(case: Case) -> None:
    for _, entry in case.heard():
        if isinstance(entry.message, list):
            raise Violation("this is an array", entry)


@judge("ACCORD-WIRE-202", steps=("v2_arrays",), editions=("v2",))
def an_array_gets_one_error(case: Case) -> None:
    _each_gets(case.step("v2_arrays"), _INVALID_REQUEST)


@judge("ACCORD-WIRE-203", steps=("v2_arrays",), editions=("v2",))
def nothing_in_an_array_is_answered(case: Case) -> None:
    played = case.begun("v2_arrays")
    for entry, each in messages_in(played.entries[played.start :]):
        if "method" not in each and each.get("id") in ("in-an-array", "in-the-array"):
            raise Violation("a request that stood in an array was answered", played.entries[played.start], entry)


@judge("ACCORD-WIRE-204", steps=("v2_stray_responses",), editions=("v2",))
def stray_responses_are_not_answered(case: Case) -> None:
    _none_is_answered(case.step("v2_stray_responses"))


@judge("ACCORD-WIRE-205", steps=("v2_malformed_responses",), editions=("v2",))
def malformed_responses_are_not_answered(case: Case) -> None:
    _none_is_answered(case.step("v2_malformed_responses"))


@judge("ACCORD-WIRE-206", steps=("v2_bad_ids",), editions=("v2",))
def bad_ids_are_refused(case: Case) -> None:
    _each_gets(case.step("v2_bad_ids"), _INVALID_REQUEST)


@judge("ACCORD-WIRE-207", steps=("v2_no_json",), editions=("v2",))
def what_is_no_json_is_a_parse_error(case: Case) -> None:
    _each_gets(case.step("v2_no_json"), _PARSE_ERROR)


@judge("ACCORD-WIRE-208", steps=("v2_scalars",), editions=("v2",))
def what_is_no_object_is_an_invalid_request(case: Case) -> None:
    _each_gets(case.step("v2_scalars"), _INVALID_REQUEST)


@judge("ACCORD-WIRE-209", steps=("v2_blank_lines",), editions=("v2",))
def blank_lines_do_no_harm(case: Case) -> None:
    played = case.step("v2_blank_lines")
    for name, part in played["parts"].items():
        for entry, _ in _nameless(played, part):
            raise Violation(f"{name}: there was an error", played.entries[part[0]], entry)
    if not played.answers("crlf"):
        raise Violation("a request that ended with CR LF was not answered", played.entries[part[0]])


@judge("ACCORD-WIRE-210", steps=("v2_bad_notifications",), editions=("v2",))
def bad_notifications_are_survived(case: Case) -> None:
    case.step("v2_bad_notifications")


@judge("ACCORD-WIRE-211", steps=("v2_large_message",), editions=("v2",))
def a_large_message_is_answered(case: Case) -> None:
    played = case.step("v2_large_message")
    # The request itself is no evidence that anybody wants to read.
    if not played.answers(played["large"]):
        raise Violation("a request of one mebibyte was not answered")


@judge("ACCORD-WIRE-212", steps=("meet",), editions=("v2",))
def requests_are_answered_once(case: Case) -> None:
    for record in case.records:
        asked = [key_of(each["id"]) for _, each in messages_in(record.entries, sent=True) if _is_request(each)]
        seen: dict[str, int] = {}
        for entry, each in messages_in(record.entries):
            key = key_of(each.get("id"))
            if "method" in each or key not in asked or key == key_of(None):
                continue
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > asked.count(key):
                raise Violation(f"request {each['id']!r} was answered once more", entry)


def _is_request(message: dict[str, Any]) -> bool:
    return "method" in message and "id" in message


@judge("ACCORD-WIRE-213", steps=("v2_finished_things",), editions=("v2",))
def own_ids_are_good(case: Case) -> None:
    own = [_own_ids(record) for record in case.records]
    if not any(own):
        raise Unseen("the agent asked for nothing")


def _own_ids(record: Record) -> int:
    """How many requests the agent made in a process; their ids are looked at."""
    waiting: set[str] = set()
    count = 0
    for entry in record.entries:
        for _, each in messages_in([entry], sent=entry.sent):
            if entry.sent and "method" not in each:
                waiting.discard(key_of(each.get("id")))
            elif not entry.sent and _is_request(each):
                count += 1
                _look_at_id(each["id"], waiting, entry)
                waiting.add(key_of(each["id"]))
    return count


def _is_id(id_: Any) -> bool:
    return isinstance(id_, (str, int)) and not isinstance(id_, bool)


def _look_at_id(id_: Any, waiting: set[str], entry: Entry) -> None:
    if not _is_id(id_):
        raise Violation(f"{id_!r} is no id for a request", entry)
    if key_of(id_) in waiting:
        raise Violation(f"{id_!r} is the id of another request that still waits", entry)


@judge("ACCORD-WIRE-214", steps=("v2_takes_back_nothing",), editions=("v2",))
def taking_back_nothing_does_nothing(case: Case) -> None:
    played = case.step("v2_takes_back_nothing")
    strays = {key_of(id_) for id_ in (None, 987657, "accord-check-nothing", played["answered"])}
    for entry, each in messages_in(played.entries[played["since"] : played["end"]]):
        if "method" not in each and key_of(each.get("id")) in strays:
            raise Violation("it was answered", played.entries[played["since"]], entry)


@judge("ACCORD-WIRE-215", steps=("v2_lists",), editions=("v2",))
def absent_params_are_empty(case: Case) -> None:
    played = case.step("v2_lists")
    if "result" not in played.answer(played["pages"][0]):
        raise Unseen("session/list does not work")
    for name in ("absent", "null"):
        played.result(played[name])


@judge("ACCORD-WIRE-216", steps=("v2_same_ids",), editions=("v2",))
def ids_have_a_direction(case: Case) -> None:
    played = case.step("v2_same_ids")
    if played.get("asked") is None:
        raise Unseen("no permission was asked for")
    if not _is_id(played["id"]):
        raise Unseen("the id of the agent is one that no client may use")
    if not played.answers(played["id"]):
        raise Violation("the request was not answered", played["asked"], played.entries[played["place"]])


@judge("ACCORD-WIRE-217", steps=("v2_ids_again",), editions=("v2",))
def ids_can_be_used_again(case: Case) -> None:
    played = case.step("v2_ids_again")
    answers = played.answers(played["id"])
    second = [(entry, each) for entry, each in answers if entry.place > played["since"]]
    if not second:
        raise Violation("the second request was not answered", answers[0][0], played.entries[played["since"]])
    if _code(second[0][1]) == _INVALID_REQUEST:
        raise Violation("the second request was refused", played.entries[played["since"]], second[0][0])


@judge("ACCORD-ERROR-201", steps=("v2_refused_sessions", "v2_refused_prompts"), editions=("v2",))
def errors_have_no_traces(case: Case) -> None:
    for _, entry, message in case.messages():
        if "error" in message and _TRACE.search(json.dumps(message["error"], ensure_ascii=False).replace("\\n", "\n")):
            raise Violation("there is a stack trace in it", entry)


@judge("ACCORD-EXIT-201", steps=("v2_only_links",), editions=("v2",))
def it_ends_in_the_middle_of_a_turn(case: Case) -> None:
    record = _left(case)
    if record.ended_by != "closed stdin":
        raise Violation(f"it was not the end of stdin that ended it, but {record.ended_by}")


@judge("ACCORD-EXIT-202", steps=("v2_only_links",), editions=("v2",))
def the_status_of_an_agent_that_was_left(case: Case) -> str:
    record = _left(case)
    return f"status {record.status} (after {record.ended_by})"


def _left(case: Case) -> Record:
    """The process that was left in the middle of a turn."""
    case.step("v2_only_links")
    return next(record for record in case.records if record.name.endswith(" v2_only_links"))
