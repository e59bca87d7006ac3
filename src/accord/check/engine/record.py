"""Records of the traffic with one process, line by line, the memory they may take, and predicates on messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
AUTH_REQUIRED, NOT_FOUND, NO_VERSION, CANCELLED = -32000, -32002, -32022, -32800


class Entry(NamedTuple):
    """One line; `message` is None where it was no JSON. `place` is its number in its record."""

    sent: bool
    """Whether we sent it; otherwise the judged program did."""
    seconds: float
    """Seconds since the program was started."""
    raw: bytes
    message: Any
    place: int


class Record(NamedTuple):
    """All lines of one process in both directions, and how it ended."""

    name: str
    entries: list[Entry]
    unended: bytes
    """The bytes on stdout behind the last newline."""
    stderr: bytes
    ended_by: str
    """The cause of its end: "itself" (it ended unasked), "closed stdin", "SIGTERM" or "SIGKILL"."""
    status: int | None

    def received(self) -> list[Entry]:
        """The lines of the program."""
        return [entry for entry in self.entries if not entry.sent]


def read_json(raw: bytes) -> Any:
    """A line as JSON; None where it is none."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def messages_in(entries: list[Entry], *, sent: bool = False) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every JSON object of one side, also in arrays, each with its line."""
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
    """Whether a message is a request, by one of some methods or any."""
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
    """Whether a message is a state update of a session with one of some states (v2)."""
    return is_update(message, session, "state_update") and message["params"]["update"].get("state") in states


# --- the memory of records

MAX_START_BYTES = 40 * 1024 * 1024
"""The budget for one start of a program. A full check of an agent took less than a tenth of it per start."""
MAX_TOTAL_BYTES = 100 * 1024 * 1024
"""The budget for all starts of one check."""

# A parsed container or member takes up to this much; measured with CPython 3.11 to 3.14 on session updates.
_VALUE_BYTES = 130
_LINE_BYTES = 300
_LEAST_BYTES = 4 * 1024 * 1024


def cost_of(line: bytes) -> int:
    """The memory that a kept line takes, raw and parsed; an upper estimate that needs no parsing."""
    return _LINE_BYTES + 2 * len(line) + _VALUE_BYTES * (line.count(b"{") + line.count(b"[") + line.count(b","))


class RecordBudget:
    """The memory left for the records of all starts."""

    def __init__(self, total_bytes: int = MAX_TOTAL_BYTES, start_bytes: int = MAX_START_BYTES) -> None:
        self.left = total_bytes
        self._start_bytes = start_bytes

    @property
    def is_spent(self) -> bool:
        return self.left < _LEAST_BYTES

    def start(self) -> Allowance:
        return Allowance(self, self._start_bytes)


class Allowance:
    """The memory left for the record of one start."""

    def __init__(self, budget: RecordBudget, left: int) -> None:
        self._budget = budget
        self._left = left

    def has(self, cost: int) -> bool:
        return cost <= min(self._left, self._budget.left)

    def spend(self, cost: int) -> None:
        self._left -= cost
        self._budget.left -= cost

    def spend_all(self) -> None:
        """Keep no further lines of this start."""
        self._left = 0
