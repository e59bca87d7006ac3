"""What our own rules look at in a case: whole turns, what is told of sessions, what was offered, and errors.

A step that was not played to its end for another rule's sake is none of their business: that rule fails, and these were
not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, messages_in
from accord.check.rule import EditionName
from accord.check.talk import StepFailed

__all__ = [
    "BOTH",
    "V1",
    "Turn",
    "as_dict",
    "asked",
    "heeds_cancel",
    "is_absolute",
    "key_of",
    "listed",
    "offered",
    "reached_by",
    "refusal",
    "seen",
    "told",
    "tools_told",
    "turns_in",
]

BOTH: tuple[EditionName, ...] = ("v1", "v2_june")
V1: tuple[EditionName, ...] = ("v1",)


def seen(case: Case, name: str, *ids: str) -> Played:
    """A step to its end.

    Raises:
        StepFailed: One of the rules `ids` was broken in it.
        Unseen: Something else was in the way.
    """
    try:
        return case.step(name)
    except StepFailed as failure:
        if failure.blame in ids:
            raise
        message = f"{name} did not come so far: {failure.reason}"
        raise Unseen(message) from None


def as_dict(value: Any) -> dict[str, Any]:
    """An object; an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A list; an empty one for what is none."""
    return value if isinstance(value, list) else []


def key_of(*parts: Any) -> str:
    """Something to find a thing by, whatever its ids are."""
    return repr(parts)


def is_absolute(path: Any) -> bool:
    """Whether a path is absolute, on whatever machine; what is no text is another rule's business."""
    if not isinstance(path, str):
        return True
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


# --- what the agent told and asked


def told(case: Case, *kinds: str) -> Iterator[tuple[Record, Entry, Any, dict[str, Any]]]:
    """Every update in every process, of some kinds or all: its record, its line, its session and itself."""
    for record, entry, message in case.messages():
        if message.get("method") == "session/update":
            params = as_dict(message.get("params"))
            update = as_dict(params.get("update"))
            if not kinds or update.get("sessionUpdate") in kinds:
                yield record, entry, params.get("sessionId"), update


def tools_told(case: Case) -> Iterator[tuple[Record, Entry, Any, dict[str, Any]]]:
    """Whatever was told of tool calls, also in questions for permission."""
    yield from told(case, "tool_call", "tool_call_update")
    for record, entry, params in asked(case, "session/request_permission"):
        yield record, entry, params.get("sessionId"), as_dict(params.get("toolCall"))


def asked(case: Case, *methods: str) -> Iterator[tuple[Record, Entry, dict[str, Any]]]:
    """Every request of the agent by some methods (a method that ends with a slash stands for all below it)."""
    for record, entry, message in case.messages():
        method = message.get("method")
        if isinstance(method, str) and "id" in message and _is_one_of(method, methods):
            yield record, entry, as_dict(message.get("params"))


def _is_one_of(method: str, methods: tuple[str, ...]) -> bool:
    return any(method == each or (each.endswith("/") and method.startswith(each)) for each in methods)


def offered(record: Record) -> dict[str, Any]:
    """What our client offered in a process."""
    for _, message in messages_in(record.entries, sent=True):
        if message.get("method") == "initialize":
            params = as_dict(message.get("params"))
            return as_dict(params.get("clientCapabilities", params.get("capabilities")))
    return {}


def reached_by(offer: dict[str, Any], *path: str) -> bool:
    """Whether something is offered; an empty object is a yes."""
    value: Any = offer
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value is not None and value is not False


# --- turns


class Turn(NamedTuple):
    """One prompt of ours and its answer."""

    record: Record
    session: Any
    asked: Entry
    answered: Entry | None
    answer: dict[str, Any]
    end: int
    """The place in the record where its session is named again or another turn begins, or where the record ends."""
    is_cancelled: bool
    """Whether we cancelled something in the session before its answer."""

    @property
    def is_whole(self) -> bool:
        """Whether it came to its own end."""
        return self.answered is not None and isinstance(self.answer.get("result"), dict) and not self.is_cancelled


def turns_in(case: Case) -> Iterator[Turn]:
    """Every prompt that was sent by itself to a session."""
    for record in case.records:
        for entry, message in messages_in(record.entries, sent=True):
            if message.get("method") == "session/prompt" and "id" in message and isinstance(entry.message, dict):
                yield _turn(record, entry, message)


def _turn(record: Record, entry: Entry, message: dict[str, Any]) -> Turn:
    session = as_dict(message.get("params")).get("sessionId")
    answered, answer = None, {}
    for line, said in messages_in(record.entries[entry.place :]):
        if is_answer(said, message["id"]):
            answered, answer = line, said
            break
    since = answered.place if answered is not None else len(record.entries)
    end, is_cancelled = len(record.entries), False
    for line, said in messages_in(record.entries[entry.place + 1 :], sent=True):
        is_about_it = as_dict(said.get("params")).get("sessionId") == session
        # What is told of it in a turn of another session belongs to that: `ACCORD-SESSION-004` judges it.
        if line.place > since and (is_about_it or said.get("method") == "session/prompt"):
            end = line.place
            break
        is_cancelled = is_cancelled or is_about_it
    return Turn(record, session, entry, answered, answer, end, is_cancelled)


def heeds_cancel(case: Case, but: Any) -> bool:
    """Whether every other turn that we cancelled at work ended as `cancelled`: otherwise another rule is broken."""
    for turn in turns_in(case):
        if turn.session != but and turn.answered is not None:
            part = turn.record.entries[turn.asked.place : turn.answered.place]
            reason = as_dict(turn.answer.get("result")).get("stopReason")
            if reason != "cancelled" and _is_cancelled_while_it_works(part, turn.session):
                return False
    return True


def _is_cancelled_while_it_works(part: list[Entry], session: Any) -> bool:
    """Whether we cancelled something in a part of a record while the agent waited for no answer of ours."""
    open_: set[str] = set()
    for entry in part:
        message = as_dict(entry.message)
        if entry.sent and message.get("method") == "session/cancel":
            if as_dict(message.get("params")).get("sessionId") == session:
                return not open_
        elif entry.sent:
            open_.discard(str(message.get("id")))
        elif "method" in message and "id" in message:
            open_.add(str(message["id"]))
    return False


# --- refusals


def refusal(played: Played, id_: Any, *codes: int) -> int:
    """The code of the error with which a request was answered, which has to be one of `codes` if there are any.

    Raises:
        Violation: There is none, or it is another one.
    """
    error = played.error(id_)
    code = error.get("code")
    if codes and code not in codes:
        wanted = " or ".join(str(each) for each in codes)
        raise Violation(
            f"the error has the code {code!r} instead of {wanted}", played.request_entry(id_), played.answer_entry(id_)
        )
    return code if isinstance(code, int) else 0
