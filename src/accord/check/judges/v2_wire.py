"""Lines and arrays in v2 and in June, notifications that nobody knows, and metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, Record, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_sight import BOTH, handshake

__all__ = ["reactions"]

INVALID_REQUEST = -32600


def _read(entry: Entry) -> Any:
    """A line as JSON; that it is UTF-8 is another rule's matter."""
    if entry.message is not None:
        return entry.message
    try:
        return json.loads(entry.raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and message.get("jsonrpc") == "2.0" and ("method" in message or "id" in message)


def _is_line(message: Any) -> bool:
    if isinstance(message, list):
        return bool(message) and all(map(_is_message, message))
    return _is_message(message)


def _stretches(record: Record) -> Iterator[list[Entry]]:
    """Lines that are no messages, those that follow each other together."""
    stretch: list[Entry] = []
    for entry in record.heard():
        if not entry.raw.strip() or _is_line(_read(entry)):
            if stretch:
                yield stretch
            stretch = []
        else:
            stretch.append(entry)
    if stretch:
        yield stretch


def _is_spread(stretch: list[Entry]) -> bool:
    """Whether lines are messages together that none of them is alone."""
    text = b"\n".join(entry.raw for entry in stretch).decode("utf-8", "replace").strip()
    decoder = json.JSONDecoder()
    while text:
        try:
            message, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return False
        if not _is_line(message):
            return False
        text = text[end:].lstrip()
    return len(stretch) > 1


@judge("ACP-TRANSPORT-201", steps=("turns",), editions=BOTH)
def every_line_is_a_message_or_an_array_of_some(case: Case) -> None:
    for record in case.records:
        for stretch in _stretches(record):
            if not _is_spread(stretch):
                raise Violation("a line on stdout is no message", *stretch[:2])
        if record.unended.strip():
            last = record.heard()[-1:]
            raise Violation(f"stdout ends with something that is no line: {record.unended[:80]!r}", *last)


@judge("ACP-TRANSPORT-203", steps=("turns",), editions=BOTH)
def no_message_is_spread_over_lines(case: Case) -> None:
    for record in case.records:
        for stretch in _stretches(record):
            if _is_spread(stretch):
                raise Violation("a message is spread over several lines", stretch[0], stretch[-1])


# --- arrays


def reactions(case: Case, name: str) -> tuple[Played, Entry, list[Entry]]:
    """What an agent said to an array, signs of life left out, with the line of the array.

    Raises:
        Unseen: It did not come to that.
    """
    played = case.step("arrays")
    places = played["reactions"].get(name)
    if places is None:
        raise Unseen(f"the agent had ended by then, behind the array {played['ended']!r}")
    since, before = places
    ours = [entry.message.get("id") for entry in played.entries[since + 1 : before] if entry.sent]
    said = [
        entry
        for entry in played.entries[since:before]
        if not entry.sent and not (isinstance(entry.message, dict) and entry.message.get("id") in ours and ours)
    ]
    return played, played.entries[since], [entry for entry in said if _is_reaction(entry)]


def _is_reaction(entry: Entry) -> bool:
    """Whether a line answers something, in contrast to what an agent says of its own accord."""
    messages = entry.message if isinstance(entry.message, list) else [entry.message]
    return not messages or any(not isinstance(each, dict) or "method" not in each for each in messages)


def _is_refusal(message: Any) -> bool:
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and message.get("id", 0) is None and error.get("code") == INVALID_REQUEST


@judge("ACP-BATCH-201", steps=("arrays",), editions=BOTH)
def an_empty_array_is_refused(case: Case) -> None:
    _, array, said = reactions(case, "empty")
    if len(said) != 1 or not _is_refusal(said[0].message):
        raise Violation("an empty array was not answered with one -32600 without an id", array, *said[:1])


@judge("ACP-JSONRPC-005", steps=("arrays",), editions=BOTH)
def arrays_leave_the_connection_working(case: Case) -> None:
    played = case.step("arrays")
    if played["ended"]:
        since, _ = played["reactions"].get(played["ended"], played.get("work"))
        raise Violation("behind an array the agent did not answer any more", played.entries[since])


@judge("ACP-BATCH-207", steps=("turns", "arrays"), editions=BOTH)
def whether_the_agent_says_arrays(case: Case) -> str:
    handshake(case)
    found = 0
    for _, entry in case.heard():
        if isinstance(entry.message, list):
            found += any(isinstance(each, dict) and "method" in each for each in entry.message)
    return f"{found} arrays" if found else "none"


@judge("ACP-INFO-BATCH-201", steps=("bad_lines",), editions=BOTH)
def what_an_array_that_is_broken_off_does(case: Case) -> str:
    played = case.step("bad_lines")
    places = played["places"].get("a broken array")
    if places is None:
        raise Unseen(f"the agent had ended by then, behind {played['ended']}")
    return _codes(played, *places) + (", and the agent ended" if played["ended"] == "a broken array" else "")


def _codes(played: Played, since: int, before: int) -> str:
    """The errors without an id between two places."""
    errors = [each.get("error") for _, each in messages_in(played.entries[since:before]) if each.get("id", 0) is None]
    return ", ".join(str(error.get("code")) for error in errors if isinstance(error, dict)) or "ignored"


@judge("ACP-INFO-BATCH-202", steps=("arrays",), editions=BOTH)
def what_an_array_of_calls_and_answers_does(case: Case) -> str:
    played, _, said = reactions(case, "answers too")
    lists = [len(entry.message) for entry in said if isinstance(entry.message, list)]
    told = [f"an array of {length}" for length in lists] + ["one error" for e in said if _is_refusal(e.message)]
    ended = ", and the agent ended" if played["ended"] == "answers too" else ""
    return (", ".join(told) or ("nothing" if not said else "single answers")) + ended


# --- notifications that nobody knows


def _behind(played: Played, method: str) -> tuple[Entry | None, list[Entry]]:
    """A notification of ours, and the errors without an id behind it, up to the next sign of life."""
    for entry in played.entries[played.start : played.end]:
        message = entry.message if entry.sent and isinstance(entry.message, dict) else {}
        if message.get("method") == method and "id" not in message:
            ours = [each.place for each in played.entries[entry.place + 1 : played.end] if each.sent]
            part = played.entries[entry.place : ours[1] if len(ours) > 1 else played.end]
            return entry, [line for line, each in messages_in(part) if each.get("id", 0) is None]
    return None, []


@judge("ACP-EXT-201", steps=("strange_requests",), editions=BOTH)
def an_extension_notification_is_ignored(case: Case) -> None:
    played = case.begun("strange_requests")
    notification, errors = _behind(played, "_example.com/unknown")
    if notification is None:
        raise played.failure or Unseen("there was no such notification")
    if played.failure is not None and not messages_behind(played, notification):
        raise Violation("behind an extension notification the agent did not answer any more", notification)
    if errors:
        raise Violation("an extension notification was answered", notification, errors[0])


def messages_behind(played: Played, entry: Entry) -> bool:
    """Whether the agent said anything behind a line of ours in a step."""
    return any(True for _ in messages_in(played.entries[entry.place : played.end]))


@judge("ACP-EXT-203", steps=("strange_requests",), editions=BOTH)
def what_a_notification_with_a_dollar_does(case: Case) -> str:
    played = case.begun("strange_requests")
    notification, errors = _behind(played, "$/nonsense")
    if notification is None:
        raise played.failure or Unseen("there was no such notification")
    if not messages_behind(played, notification):
        return "the agent ended"
    if errors:
        return "answered with an error"
    part = played.entries[notification.place : played.end]
    said = ", ".join(str(each["method"]) for _, each in messages_in(part) if "method" in each)
    return f"answered with {said}" if said else "ignored"


# --- metadata

FREE = {"rawInput", "rawOutput", "_meta"}
"""What is inside belongs to tools or vendors."""


def _metadata(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if "_meta" in value:
            yield value["_meta"]
        for key, inner in value.items():
            if key not in FREE:
                yield from _metadata(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _metadata(inner)


@judge("ACP-META-201", steps=("turns", "meet_able"), editions=BOTH)
def all_metadata_are_objects(case: Case) -> None:
    handshake(case)
    for _, entry, message in case.messages():
        if str(message.get("method", "")).startswith("_"):
            continue
        for each in _metadata([message.get("params"), message.get("result")]):
            if each is not None and not isinstance(each, dict):
                raise Violation(f"metadata are {each!r}, and no object", entry)
