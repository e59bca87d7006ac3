"""Requests, notifications and answers as JSON-RPC has them: the same in every edition."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Played, Violation
from accord.check.entry import Entry, messages_in
from accord.check.judge import judge

__all__: list[str] = []

_NO_METHOD = -32601


@judge("ACP-JSONRPC-001", steps=("strange_requests",))
def an_answer_has_the_id_of_its_request(case: Case) -> None:
    step = case.step("strange_requests")
    for id_ in step["ids"]:
        if not step.answers(id_):
            request = step.request_entry(id_)
            raise Violation(f"no answer has the id {id_!r}", request, _strange_answer(step, step.start))


def _strange_answer(step: Played, since: int, before: int | None = None) -> Entry | None:
    """The first answer in a part of the record to nothing that we asked for."""
    asked = [message["id"] for _, message in messages_in(step.entries, sent=True) if _is_request(message)]
    for entry, message in messages_in(step.entries[since:before]):
        id_ = message.get("id")
        if "method" not in message and not any(type(id_) is type(each) and id_ == each for each in asked):
            return entry
    return None


def _is_request(message: dict[str, Any]) -> bool:
    return message.get("id") is not None and "method" in message


@judge("ACP-JSONRPC-002", steps=("meet", "turns", "strange_requests"))
def an_answer_is_a_result_or_an_error(case: Case) -> None:
    for _, entry, message in case.messages():
        if "method" in message or "id" not in message:
            continue
        if ("result" in message) == ("error" in message):
            both = "both a result and an error" if "result" in message else "neither a result nor an error"
            raise Violation(f"an answer has {both}", entry)
        if "error" in message and not _is_error(message["error"]):
            raise Violation("an error has no whole number for a code, or no text for a message", entry)


def _is_error(error: Any) -> bool:
    if not isinstance(error, dict):
        return False
    return type(error.get("code")) is int and isinstance(error.get("message"), str)


@judge("ACP-JSONRPC-003", steps=("strange_requests", "cancel"))
def a_notification_is_not_answered(case: Case) -> None:
    step = case.step("strange_requests")
    entry = _strange_answer(step, step["notifications"], step["quiet"])
    if entry is not None:
        told = [each for each, message in messages_in(step.entries[: entry.place], sent=True) if "id" not in message]
        raise Violation("a notification was answered", told[-1], entry)
    cancel = case.steps.get("cancel")
    if cancel is not None and cancel.failure is None:
        entry = _strange_answer(cancel, cancel["cancel"], cancel.end)
        if entry is not None:
            raise Violation("a cancellation was answered", cancel.entries[cancel["cancel"]], entry)


@judge("ACP-JSONRPC-004", steps=("strange_requests",))
def an_unknown_method_is_not_found(case: Case) -> None:
    step = case.step("strange_requests")
    code = step.error(step["unknown"]).get("code")
    if code != _NO_METHOD:
        request, answer = step.request_entry(step["unknown"]), step.answer_entry(step["unknown"])
        raise Violation(f"a method that nobody has is answered with {code}, not with {_NO_METHOD}", request, answer)


@judge("ACP-JSONRPC-005", steps=("strange_requests",))
def a_bad_request_leaves_the_connection_working(case: Case) -> None:
    step = case.step("strange_requests")
    answers = step.answers(step["after"])
    unanswered = [id_ for id_ in step["wrong"] if not step.answers(id_)]
    wrong = step.request_entry(unanswered[0] if unanswered else step["wrong"][0])
    if not answers or not step["alive"]:
        raise Violation("after a bad request nothing is answered any more", wrong, step.request_entry(step["after"]))
    entry, answer = answers[0]
    if "result" not in answer and "new" in case.advertised:
        raise Violation("after a bad request no session can be made any more", wrong, entry)


@judge("ACP-EXT-001", steps=("strange_requests",))
def an_unknown_extension_request_is_answered(case: Case) -> None:
    step = case.step("strange_requests")
    step.answer(step["extension"])


@judge("ACP-META-001", steps=("turns",))
def a_prompt_may_carry_metadata(case: Case) -> None:
    step = case.step("turns")
    step.result(step["meta"])
