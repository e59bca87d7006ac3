"""What went over the wire, line by line, and what can be asked of it afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["Entry", "Record", "is_answer", "is_request", "is_state", "is_update", "messages_in", "read_json"]


class Entry(NamedTuple):
    """One line; `message` is None where it was no JSON. `place` is its number in its record."""

    sent: bool
    """By us; otherwise by the program that is judged."""
    seconds: float
    """Since the program was started."""
    raw: bytes
    message: Any
    place: int


class Record(NamedTuple):
    """All that went over the wire to the end of one process, and how it ended."""

    name: str
    entries: list[Entry]
    unended: bytes
    """What stood on stdout behind the last newline."""
    stderr: bytes
    ended_by: str
    """What it took: "itself" (it ended before it was asked to), "closed stdin", "SIGTERM" or "SIGKILL"."""
    status: int | None

    def heard(self) -> list[Entry]:
        """What the program said."""
        return [entry for entry in self.entries if not entry.sent]


def read_json(raw: bytes) -> Any:
    """A line as JSON; None where it is none."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def messages_in(entries: list[Entry], *, sent: bool = False) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every JSON object that one side said, those in arrays too, each with its line."""
    for entry in entries:
        if entry.sent is sent:
            for message in entry.message if isinstance(entry.message, list) else [entry.message]:
                if isinstance(message, dict):
                    yield entry, message


def is_answer(message: Any, id_: Any) -> bool:
    """Whether a message answers the request with an id; 1 is not "1", and not True."""
    if not isinstance(message, dict) or "method" in message or "id" not in message:
        return False
    return type(message["id"]) is type(id_) and bool(message["id"] == id_)


def is_request(message: Any, *methods: str) -> bool:
    """Whether a message asks for something, by one of some methods or any."""
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return False
    return not methods or message["method"] in methods


def is_update(message: Any, session: Any = None, *kinds: str) -> bool:
    """Whether a message is an update, of a session or any, of one of some kinds or any."""
    if not isinstance(message, dict) or message.get("method") != "session/update":
        return False
    params = message.get("params")
    if not isinstance(params, dict) or not isinstance(params.get("update"), dict):
        return False
    fits = session is None or params.get("sessionId") == session
    return fits and (not kinds or params["update"].get("sessionUpdate") in kinds)


def is_state(message: Any, session: Any, *states: str) -> bool:
    """Whether a message tells that a session is in one of some states (v2)."""
    return is_update(message, session, "state_update") and message["params"]["update"].get("state") in states
