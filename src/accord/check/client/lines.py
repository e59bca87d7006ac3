"""Lines, ids and answers of a client, and arrays of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from accord.check.client.conversation import ClientConversation, step
from accord.check.engine.evidence import (
    INVALID_REQUEST,
    Entry,
    Evidence,
    Record,
    Violation,
    is_answer,
    messages_in,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge
from accord.check.engine.wire import Silence
from accord.check.rule import JUNE, V1_V2, RuleRow, client_rules

# fmt: off
RULES = client_rules(
    RuleRow("ACCORD-CLIENT-ANSWER-001", "MMM", "overview", "No request of the agent is answered more than once"),
    RuleRow("ACCORD-CLIENT-ANSWER-002", "MMM", "overview",
        says="An answer has a result, or an error with a code and a message, and not both"),
    RuleRow("ACCORD-CLIENT-ANSWER-003", "MMM", "overview",
        says="Only requests are answered: no notification, no answer, no unknown id"),
    RuleRow("ACCORD-CLIENT-BATCH-001", "-M-", "transports", "The requests of a batch are answered"),
    RuleRow("ACCORD-CLIENT-END-001", "III", "transports", "How the client ended is recorded"),
    RuleRow("ACCORD-CLIENT-ID-001", "MMM", "overview",
        says="The id of a request is a text or an integer; null is left to v1 and June"),
    RuleRow("ACCORD-CLIENT-ID-002", "MMM", "overview", "An id is not used again while its request is pending"),
    RuleRow("ACCORD-CLIENT-RUDE-003", "A-M", "transports",
        says="An array is refused as a whole, with one -32600, and ends nothing"),
    RuleRow("ACCORD-CLIENT-WIRE-001", "MMM", "transports",
        says="Every line that a client writes to its agent is a JSON-RPC 2.0 message"),
    RuleRow("ACCORD-CLIENT-WIRE-002", "MMM", "transports", "Every message ends with a newline, the last one too"),
    RuleRow("ACCORD-CLIENT-WIRE-003", "M-M", "transports", "A client sends single messages and never arrays of them"),
)
# fmt: on


def _array(turn: ClientConversation) -> tuple[Any, int]:
    id_ = f"array-{turn.now}"
    info = {"sessionUpdate": "session_info_update", "title": "In an array"}
    update = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": turn.session, "update": info}}
    place = turn.wire.send_json(
        [update, {"jsonrpc": "2.0", "id": id_, "method": "_accord.check/in_an_array", "params": {}}]
    )
    return id_, place


@step(order=75, editions=V1_V2)
async def array(turn: ClientConversation) -> Notes:
    """An array, in an edition without batches."""
    id_, place = _array(turn)
    await turn.is_alive("ACCORD-CLIENT-RUDE-003", turn.wire.entries[place])
    return {"id": id_, "place": place, "end": turn.now}


@step(order=75, editions=JUNE)
async def batch(turn: ClientConversation) -> Notes:
    """An array, in an edition with batches."""
    id_, place = _array(turn)
    try:
        await turn.wire.answer(id_)
    except Silence:
        await turn.is_alive("ACCORD-CLIENT-BATCH-001", turn.wire.entries[place])
    received = list(messages_in(turn.wire.entries[place:]))
    return {"place": place, "answers": [entry.place for entry, each in received if is_answer(each, id_)]}


@judge("ACCORD-CLIENT-RUDE-003", steps=("array",))
def an_array_is_refused_whole(evidence: Evidence) -> None:
    run = evidence.step("array")
    sent = run.entries[run["place"]]
    if run.answers(run["id"]):
        raise Violation("what stood in an array was served", sent, run.answer_entry(run["id"]))
    errors = [
        entry
        for entry, each in messages_in(run.entries[run["place"] : run["end"]])
        if "method" not in each and each.get("id") is None and "error" in each
    ]
    if evidence.edition == "v2" and len(errors) != 1:
        raise Violation("an array was not answered with exactly one error without an id", sent, *errors[1:])
    for entry in errors:
        if entry.message["error"].get("code") != INVALID_REQUEST:
            raise Violation("the error is not -32600", sent, entry)


@judge("ACCORD-CLIENT-BATCH-001", steps=("batch",))
def a_batch_is_served(evidence: Evidence) -> None:
    run = evidence.step("batch")
    if not run["answers"]:
        raise Violation("a request in a batch was not answered", run.entries[run["place"]])


@judge("ACCORD-CLIENT-WIRE-001", steps=())
def every_line_is_a_message(evidence: Evidence) -> None:
    for _, entry in _received(evidence):
        if entry.raw.strip() and not isinstance(entry.message, dict | list):
            raise Violation("a line is no JSON-RPC message", entry)
    for _, entry, message in evidence.messages():
        if message.get("jsonrpc") != "2.0":
            raise Violation('a message lacks `"jsonrpc": "2.0"`', entry)
        if not isinstance(message.get("method"), str) and not ({"result", "error"} & message.keys()):
            raise Violation("a message is no request, no notification and no answer", entry)


@judge("ACCORD-CLIENT-WIRE-002", steps=())
def every_line_has_an_end(evidence: Evidence) -> None:
    _need_lines(evidence)
    for record in evidence.records:
        if record.unended.strip():
            raise Violation(f"what it said last does not end with a newline: {record.unended[:60]!r}")


@judge("ACCORD-CLIENT-WIRE-003", steps=())
def no_arrays_are_sent(evidence: Evidence) -> None:
    for _, entry in _received(evidence):
        if isinstance(entry.message, list):
            raise Violation("an array was sent", entry)


@judge("ACCORD-CLIENT-ID-001", steps=())
def ids_are_texts_or_integers(evidence: Evidence) -> None:
    for _, entry, message in _requests(evidence):
        id_ = message["id"]
        is_fine = isinstance(id_, str | int) and not isinstance(id_, bool)
        if not is_fine and not (id_ is None and evidence.edition != "v2"):
            raise Violation(f"a request has the id {id_!r}", entry)


@judge("ACCORD-CLIENT-ID-002", steps=())
def no_id_is_used_while_it_is_pending(evidence: Evidence) -> None:
    _need_lines(evidence)
    for record in evidence.records:
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
def nothing_is_answered_twice(evidence: Evidence) -> None:
    _need_lines(evidence)
    for record in evidence.records:
        for asked, question in messages_in(record.entries, sent=True):
            if "id" in question and "method" in question:
                answers = _answers(record, question["id"])
                if len(answers) > 1:
                    raise Violation(f"{question['method']} was answered {len(answers)} times", asked, answers[-1][0])


@judge("ACCORD-CLIENT-ANSWER-002", steps=())
def answers_have_a_result_or_an_error(evidence: Evidence) -> None:
    for _, entry, message in _answering(evidence):
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
def only_requests_are_answered(evidence: Evidence) -> None:
    for record, entry, message in _answering(evidence):
        id_ = message.get("id")
        if id_ is None:
            # An error without an id reports that our id could not be read.
            if "error" not in message or not _was_rude(record, entry):
                raise Violation("something was answered that was no request", entry)
        elif not any("method" in asked and is_same(asked.get("id"), id_) for _, asked in _sent(record)):
            raise Violation(f"there was no request {id_!r} to answer", entry)


def is_same(one: Any, other: Any) -> bool:
    """1 is not "1"."""
    return type(one) is type(other) and bool(one == other)


def _was_rude(record: Record, entry: Entry) -> bool:
    """Whether we sent a malformed line before, which is answered without an id."""
    for sent in record.entries[: entry.place]:
        if sent.sent and sent.raw.strip():
            said = sent.message
            if not isinstance(said, dict) or not ({"method", "result", "error"} & said.keys()):
                return True
    return False


@judge("ACCORD-CLIENT-END-001", steps=())
def the_end_is_recorded(evidence: Evidence) -> str:
    _need_lines(evidence)
    ends = Counter(f"{record.ended_by}, status {record.status}" for record in evidence.records)
    return "; ".join(f"{end} ({count}x)" for end, count in ends.items())


def _received(evidence: Evidence) -> Iterator[tuple[Record, Entry]]:
    _need_lines(evidence)
    return evidence.received()


def _need_lines(evidence: Evidence) -> None:
    skip_unless(any(evidence.received()), "the client said nothing")


def _requests(evidence: Evidence) -> list[tuple[Record, Entry, dict[str, Any]]]:
    _need_lines(evidence)
    return [each for each in evidence.messages() if "method" in each[2] and "id" in each[2]]


def _answering(evidence: Evidence) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = [each for each in evidence.messages() if "method" not in each[2] and ({"result", "error"} & each[2].keys())]
    skip_unless(found, "the client answered nothing")
    return found


def _answers(record: Record, id_: Any) -> list[tuple[Entry, dict[str, Any]]]:
    return [(entry, each) for entry, each in messages_in(record.entries) if is_answer(each, id_)]


def _sent(record: Record) -> list[tuple[Entry, dict[str, Any]]]:
    return list(messages_in(record.entries, sent=True))
