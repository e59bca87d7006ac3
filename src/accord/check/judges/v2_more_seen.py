"""What the judges of v2 look at again and again: refusals, updates by session, things as they stand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, is_update, messages_in

__all__ = [
    "FINAL",
    "Told",
    "answers_to",
    "entities",
    "is_absolute",
    "key_of",
    "must_be_refused",
    "needed",
    "questions",
    "told",
    "told_by_session",
]

FINAL = {"completed", "failed", "cancelled"}
"""The statuses of tool calls that have ended."""
_DRIVE_LENGTH = 3


class Told(NamedTuple):
    """One update, where it stands, and whose it is."""

    record: Record
    entry: Entry
    session: Any
    update: dict[str, Any]


def key_of(id_: Any) -> str:
    """An id that can be compared with others, whatever it is: 1 is not "1"."""
    return json.dumps(id_, sort_keys=True)


def must_be_refused(played: Played, id_: Any, code: int) -> None:
    """A request has to fail with a code.

    Raises:
        Violation: It did not.
    """
    found = played.error(id_).get("code")
    if found != code:
        raise Violation(f"the error is {found!r}, not {code}", played.request_entry(id_), played.answer_entry(id_))


def needed(found: Any, why_not: str) -> None:
    """Nothing can be judged where nothing was found.

    Raises:
        Unseen: So it is.
    """
    if not found:
        raise Unseen(why_not)


def told(case: Case, *kinds: str) -> Iterator[Told]:
    """Every update, of some kinds or all, in the order of each process."""
    for record, entry, message in case.messages():
        if is_update(message, None, *kinds):
            yield Told(record, entry, message["params"].get("sessionId"), message["params"]["update"])


def told_by_session(case: Case, *kinds: str) -> list[list[Told]]:
    """The same, in a list for each session of each process."""
    found: dict[tuple[str, str], list[Told]] = {}
    for each in told(case, *kinds):
        found.setdefault((each.record.name, key_of(each.session)), []).append(each)
    return list(found.values())


def questions(case: Case, method: str) -> list[tuple[Record, Entry, dict[str, Any]]]:
    """What the agent asked by a method, with its params; one without any has {}."""
    found = []
    for record, entry, message in case.messages():
        if message.get("method") == method and "id" in message:
            params = message.get("params")
            found.append((record, entry, params if isinstance(params, dict) else {}))
    return found


def answers_to(case: Case, *methods: str) -> Iterator[tuple[Entry, Entry, dict[str, Any]]]:
    """Our requests by some methods that succeeded: the line, the line of the answer, the result."""
    for record in case.records:
        for asked, request in messages_in(record.entries, sent=True):
            if request.get("method") not in methods or "id" not in request:
                continue
            for entry, answer in messages_in(record.entries[asked.place :]):
                if is_answer(answer, request["id"]):
                    if isinstance(answer.get("result"), dict):
                        yield asked, entry, answer["result"]
                    break


def entities(
    updates: list[Told], id_name: str, at: Callable[[Told, dict[Any, dict[str, Any]]], None] | None = None
) -> dict[Any, dict[str, Any]]:
    """Things as they stand after some updates: what is absent stays, what is there replaces.

    `at` is called at each update with what stood by then.
    """
    found: dict[Any, dict[str, Any]] = {}
    for each in updates:
        id_ = each.update.get(id_name)
        if isinstance(id_, str) and each.update["sessionUpdate"] in {"tool_call_update", "terminal_update"}:
            found[id_] = {**found.get(id_, {}), **each.update, "entry": each.entry}
        if at is not None:
            at(each, found)
    return found


def is_absolute(path: Any) -> bool:
    """Whether a path begins at a root: one of Unix, a drive, or a server of Windows."""
    if not isinstance(path, str):
        return False
    drive = path[:_DRIVE_LENGTH]
    return path.startswith(("/", "\\\\")) or (
        len(drive) == _DRIVE_LENGTH and drive[0].isalpha() and drive[1] == ":" and drive[2] in "\\/"
    )
