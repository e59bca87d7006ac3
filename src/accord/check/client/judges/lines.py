"""What a client writes, line by line: JSON-RPC, its ids, its answers, and what is said at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, messages_in
from accord.check.judge import judge

__all__: list[str] = []


@judge("ACCORD-CLIENT-WIRE-001", steps=())
def every_line_is_a_message(case: Case) -> None:
    for _, entry in _heard(case):
        if entry.raw.strip() and not isinstance(entry.message, dict | list):
            raise Violation("a line is no JSON-RPC message", entry)
    for _, entry, message in case.messages():
        if message.get("jsonrpc") != "2.0":
            raise Violation('a message lacks `"jsonrpc": "2.0"`', entry)
        if not isinstance(message.get("method"), str) and not ({"result", "error"} & message.keys()):
            raise Violation("a message is no request, no notification and no answer", entry)


@judge("ACCORD-CLIENT-WIRE-002", steps=())
def every_line_has_an_end(case: Case) -> None:
    _need_lines(case)
    for record in case.records:
        if record.unended.strip():
            raise Violation(f"what it said last does not end with a newline: {record.unended[:60]!r}")


@judge("ACCORD-CLIENT-WIRE-003", steps=(), editions=("v1", "v2"))
def no_arrays_are_sent(case: Case) -> None:
    for _, entry in _heard(case):
        if isinstance(entry.message, list):
            raise Violation("an array was sent", entry)


@judge("ACCORD-CLIENT-ID-001", steps=())
def ids_are_texts_or_integers(case: Case) -> None:
    for _, entry, message in _requests(case):
        id_ = message["id"]
        is_fine = isinstance(id_, str | int) and not isinstance(id_, bool)
        if not is_fine and not (id_ is None and case.edition != "v2"):
            raise Violation(f"a request has the id {id_!r}", entry)


@judge("ACCORD-CLIENT-ID-002", steps=())
def no_id_is_used_while_it_is_pending(case: Case) -> None:
    _need_lines(case)
    for record in case.records:
        pending: dict[Any, Entry] = {}
        for entry in record.entries:
            for message in entry.message if isinstance(entry.message, list) else [entry.message]:
                _count_id(pending, entry, message)


def _count_id(pending: dict[Any, Entry], entry: Entry, message: Any) -> None:
    if not isinstance(message, dict) or "id" not in message:
        return
    key = (type(message["id"]), str(message["id"]))
    if entry.sent and "method" not in message:
        pending.pop(key, None)
    elif not entry.sent and "method" in message:
        if key in pending:
            raise Violation(f"the id {message['id']!r} is used twice at a time", pending[key], entry)
        pending[key] = entry


@judge("ACCORD-CLIENT-ANSWER-001", steps=())
def nothing_is_answered_twice(case: Case) -> None:
    _need_lines(case)
    for record in case.records:
        for asked, question in messages_in(record.entries, sent=True):
            if "id" in question and "method" in question:
                answers = _answers(record, question["id"])
                if len(answers) > 1:
                    raise Violation(f"{question['method']} was answered {len(answers)} times", asked, answers[-1][0])


@judge("ACCORD-CLIENT-ANSWER-002", steps=())
def answers_have_a_result_or_an_error(case: Case) -> None:
    for _, entry, message in _answering(case):
        if ("result" in message) == ("error" in message):
            raise Violation("an answer has both a result and an error, or none", entry)
        error = message.get("error", {"code": 0, "message": ""})
        if (
            not isinstance(error, dict)
            or type(error.get("code")) is not int
            or not isinstance(error.get("message"), str)
        ):
            raise Violation("an error has no code (an integer) and message (a text)", entry)


@judge("ACCORD-CLIENT-ANSWER-003", steps=())
def only_requests_are_answered(case: Case) -> None:
    for record, entry, message in _answering(case):
        id_ = message.get("id")
        if id_ is None:
            # Who could not read our id says so; there is nothing else that it could mean.
            if "error" not in message or not _was_rude(record, entry):
                raise Violation("something was answered that was no request", entry)
        elif not any("method" in asked and is_same(asked.get("id"), id_) for _, asked in _sent(record)):
            raise Violation(f"there was no request {id_!r} to answer", entry)


def is_same(one: Any, other: Any) -> bool:
    """1 is not "1"."""
    return type(one) is type(other) and bool(one == other)


def _was_rude(record: Record, entry: Entry) -> bool:
    """Whether we said something before that has no id to answer."""
    for sent in record.entries[: entry.place]:
        if sent.sent and sent.raw.strip():
            said = sent.message
            if not isinstance(said, dict) or not ({"method", "result", "error"} & said.keys()):
                return True
    return False


@judge("ACCORD-CLIENT-END-001", steps=())
def the_end_is_recorded(case: Case) -> str:
    _need_lines(case)
    ends = Counter(f"{record.ended_by}, status {record.status}" for record in case.records)
    return "; ".join(f"{end} ({count}x)" for end, count in ends.items())


# --- what is looked at


def _heard(case: Case) -> Iterator[tuple[Record, Entry]]:
    _need_lines(case)
    return case.heard()


def _need_lines(case: Case) -> None:
    if not any(case.heard()):
        raise Unseen("the client said nothing")


def _requests(case: Case) -> list[tuple[Record, Entry, dict[str, Any]]]:
    _need_lines(case)
    return [each for each in case.messages() if "method" in each[2] and "id" in each[2]]


def _answering(case: Case) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = [each for each in case.messages() if "method" not in each[2] and ({"result", "error"} & each[2].keys())]
    if not found:
        raise Unseen("the client answered nothing")
    return found


def _answers(record: Record, id_: Any) -> list[tuple[Entry, dict[str, Any]]]:
    return [(entry, each) for entry, each in messages_in(record.entries) if is_answer(each, id_)]


def _sent(record: Record) -> list[tuple[Entry, dict[str, Any]]]:
    return list(messages_in(record.entries, sent=True))
