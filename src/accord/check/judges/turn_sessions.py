"""Whose turn an update belongs to, in every edition: it names the session that was prompted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, is_state, messages_in
from accord.check.judge import judge

__all__: list[str] = []

_SPEECH = ("agent_message_chunk", "agent_message")
_OPENING = ("session/load", "session/resume")


class _Window(NamedTuple):
    """The part of a record in which exactly one turn ran, from its prompt to its end."""

    session: Any
    asked: Entry
    part: list[Entry]
    others: set[str]
    """Sessions that were open by then, and of which nothing was asked meanwhile."""


def _named(message: dict[str, Any]) -> Any:
    params = message.get("params")
    return params.get("sessionId") if isinstance(params, dict) else None


def _windows(record: Record, edition: str) -> Iterator[_Window]:
    known: set[str] = set()
    for entry in record.entries:
        message = entry.message if isinstance(entry.message, dict) else {}
        result = message.get("result")
        if not entry.sent and isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            known.add(result["sessionId"])
        if entry.sent and message.get("method") in _OPENING and isinstance(_named(message), str):
            known.add(_named(message))
        if entry.sent and message.get("method") == "session/prompt" and "id" in message:
            end = _end(record, entry, message, edition)
            part = record.entries[entry.place : end]
            busy = {_named(said) for _, said in messages_in(part, sent=True) if said.get("method")}
            if end is not None and len(busy) == 1 and all(not _is_cancel(said) for said in _sent(part)):
                yield _Window(_named(message), entry, part, known - {str(_named(message))})


def _sent(part: list[Entry]) -> list[dict[str, Any]]:
    return [message for _, message in messages_in(part, sent=True)]


def _is_cancel(message: dict[str, Any]) -> bool:
    return message.get("method") in ("session/cancel", "$/cancel_request")


def _end(record: Record, asked: Entry, prompt: dict[str, Any], edition: str) -> int | None:
    """Where a turn came to its end; None for one that failed or did not end."""
    for entry, message in messages_in(record.entries[asked.place :]):
        if is_answer(message, prompt["id"]):
            if not isinstance(message.get("result"), dict):
                return None
            if edition != "v2":
                return entry.place if message["result"].get("stopReason") == "end_turn" else None
        if edition == "v2" and is_state(message, _named(prompt), "idle"):
            return entry.place
    return None


@judge("ACCORD-SESSION-004", steps=("turns", "load", "resume", "keep"), editions=("v1", "v2_june"))
@judge("ACCORD-SESSION-205", steps=("turns", "resume", "keep"), editions=("v2",))
def what_is_said_in_a_turn_names_its_session(case: Case) -> str:
    """Only where nothing at all is said for the session that was prompted: another one may speak for itself."""
    seen = 0
    for record in case.records:
        for window in _windows(record, case.edition):
            said = [
                (entry, message["params"].get("sessionId"))
                for entry, message in messages_in(window.part)
                if _is_speech(message)
            ]
            seen += bool(said)
            if said and all(session != window.session for _, session in said):
                entry, session = said[0]
                if session in window.others:
                    raise Violation(
                        f"what is said in a turn of {window.session!r} names the session {session!r}",
                        window.asked,
                        entry,
                    )
    if not seen:
        raise Unseen("nothing was said in a turn")
    return f"{seen} turns"


def _is_speech(message: dict[str, Any]) -> bool:
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    is_update = message.get("method") == "session/update" and isinstance(update, dict)
    return is_update and update.get("sessionUpdate") in _SPEECH  # type: ignore[union-attr]
