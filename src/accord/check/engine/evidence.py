"""The evidence of a check: records of the traffic with each process, results of steps, and queries on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from accord.check.rule import Options

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
"""The budget for one start of a program. Full checks of most agents took less than a tenth of it per start."""
MAX_TOTAL_BYTES = 100 * 1024 * 1024
"""The budget for all starts of one check."""
NOT_KEPT = f"not judged: the program had written more than a check keeps, {MAX_START_BYTES >> 20} MiB for a start"

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
        self.is_flooded = False
        """Whether a start of the program wrote without end: another one that writes too much is not tried again."""
        self._start_bytes = start_bytes

    @property
    def is_spent(self) -> bool:
        return self.left < _LEAST_BYTES

    def start(self) -> Allowance:
        return Allowance(self, self._start_bytes)


class Allowance:
    """The memory left for the record of one start."""

    def __init__(self, budget: RecordBudget, left: int) -> None:
        self.budget = budget
        self._left = left

    def has(self, cost: int) -> bool:
        return cost <= min(self._left, self.budget.left)

    def spend(self, cost: int) -> None:
        self._left -= cost
        self.budget.left -= cost

    def spend_all(self) -> None:
        """Keep no further lines of this start."""
        self._left = 0


# --- evidence


class StepFailed(Exception):
    """A step was not completed; `blame` is the id of the rule that the program broke, if it is known."""

    def __init__(self, reason: str, blame: str = "", *evidence: Entry) -> None:
        super().__init__(reason)
        self.reason = reason
        self.blame = blame
        self.evidence = evidence
        self.is_silence = False
        """Whether a wait timed out while the program ran."""
        self.is_turn = False
        """Whether a turn did not end: where plain turns do not end either, their rule is blamed."""


class Violation(Exception):
    """A broken rule, with the lines that prove it, at best two."""

    def __init__(self, message: str, *evidence: Entry | None) -> None:
        super().__init__(message)
        self.message = message
        self.evidence = tuple(entry for entry in evidence if entry is not None)


class Inconclusive(Exception):
    """There was nothing to judge, which the specification allows; has the reason."""


def skip_unless(condition: object, reason: str) -> None:
    """End a judge without a verdict unless a condition holds."""
    if not condition:
        raise Inconclusive(reason)


def skip_if(condition: object, reason: str) -> None:
    """End a judge without a verdict if a condition holds."""
    if condition:
        raise Inconclusive(reason)


@dataclass
class StepResult:
    """One run of a step: its part of a record, from `start` to before `end`, and its notes."""

    name: str
    entries: list[Entry]
    """Of the whole process, so that late messages are found too."""
    start: int
    end: int
    notes: dict[str, Any] = field(default_factory=dict)
    failure: StepFailed | None = None
    skipped: str = ""
    """The reason why the checker gave it up, where the program is not at fault."""
    _answers: dict[str, list[tuple[Entry, dict[str, Any]]]] = field(default_factory=dict, repr=False)
    _sorted: int = field(default=0, repr=False)

    def __getitem__(self, note: str) -> Any:
        """A note of the step.

        Raises:
            StepFailed: The step failed before it.
            Inconclusive: The step did not come so far for another reason.
        """
        if note in self.notes:
            return self.notes[note]
        if self.failure is not None:
            raise self.failure
        raise Inconclusive(self.skipped or f"{self.name} has no {note!r} to judge")

    def get(self, note: str) -> Any:
        return self.notes.get(note)

    # --- answers

    def answers(self, id_: Any) -> list[tuple[Entry, dict[str, Any]]]:
        # Records grow while steps run, and are searched for answers hundreds of times.
        for entry, each in messages_in(self.entries[self._sorted :]):
            if "method" not in each and "id" in each:
                self._answers.setdefault(_key(each["id"]), []).append((entry, each))
        self._sorted = len(self.entries)
        return list(self._answers.get(_key(id_), ()))

    def answer(self, id_: Any) -> dict[str, Any]:
        return self._answer(id_)[1]

    def answer_entry(self, id_: Any) -> Entry:
        return self._answer(id_)[0]

    def _answer(self, id_: Any) -> tuple[Entry, dict[str, Any]]:
        found = self.answers(id_)
        if not found:
            raise Violation(f"request {id_!r} was not answered", self.request_entry(id_))
        return found[0]

    def result(self, id_: Any) -> Any:
        """The result of a request that has to have succeeded."""
        entry, answer = self._answer(id_)
        if "result" not in answer:
            raise Violation("it was answered with an error", self.request_entry(id_), entry)
        return answer["result"]

    def error(self, id_: Any) -> dict[str, Any]:
        """The error of a request that has to have failed."""
        entry, answer = self._answer(id_)
        error = answer.get("error")
        if not isinstance(error, dict):
            raise Violation("it was not answered with an error", self.request_entry(id_), entry)
        return error

    def request_entry(self, id_: Any) -> Entry | None:
        """The line with a request of ours."""
        for entry in self.entries:
            message = entry.message
            if entry.sent and isinstance(message, dict) and "method" in message and message.get("id") == id_:
                return entry
        return None

    def violation(self, message: str, id_: Any) -> Violation:
        """A violation that a request and its answer prove."""
        return Violation(message, self.request_entry(id_), self.answer_entry(id_))

    # --- calls and updates of the agent

    def calls(self, *methods: str) -> list[tuple[Entry, dict[str, Any]]]:
        """Requests and notifications of the agent in this process, by method or all."""
        found = [(entry, each) for entry, each in messages_in(self.entries) if isinstance(each.get("method"), str)]
        return [(entry, each) for entry, each in found if not methods or each["method"] in methods]

    def updates(
        self, session: Any, *kinds: str, since: int = 0, before: int | None = None
    ) -> list[tuple[Entry, dict[str, Any]]]:
        """The updates of a session, of some kinds or all, between two places of the record."""
        part = self.entries[since:before]
        return [
            (entry, each["params"]["update"]) for entry, each in messages_in(part) if is_update(each, session, *kinds)
        ]

    def first(self, holds: Callable[[Any], bool], since: int = 0, before: int | None = None) -> Entry | None:
        """The first line of the agent, between two places, with a message that a predicate accepts."""
        for entry, each in messages_in(self.entries[since:before]):
            if holds(each):
                return entry
        return None


class Evidence:
    """Records, step results and advertised capabilities of one program in one edition."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.edition = options.edition
        self.records: list[Record] = []
        self.exchanges: list[Record] = []
        """The exchanges for the rules of the transport, by step; its entries are no lines of an agent."""
        self.steps: dict[str, StepResult] = {}
        self.skipped: dict[str, str] = {}
        """Steps that do not apply to this agent, with the reason."""
        self.stuck = ""
        """The rule about plain turns, if one of them did not end."""
        self.untouched: list[str] = []
        """The reasons why settings of the agent were not changed."""
        self.advertised: dict[str, Any] = {}
        """The results of `initialize` and of `new` for a client that offers nothing."""
        self.blocked_by_auth = False
        self.blocked_by_version = False
        self.agent_info: Any = None

    def step(self, name: str) -> StepResult:
        """The run of a step that was completed.

        Raises:
            StepFailed: It was not.
            Inconclusive: It does not apply to this agent.
        """
        if name in self.skipped:
            raise Inconclusive(self.skipped[name])
        run = self.steps.get(name)
        if run is None:
            raise Inconclusive(f"{name} was not played")
        if run.failure is not None:
            raise run.failure
        return run

    def begun(self, name: str) -> StepResult:
        """The run of a step, completed or not.

        Raises:
            Inconclusive: It does not apply to this agent.
        """
        if name in self.steps:
            return self.steps[name]
        raise Inconclusive(self.skipped.get(name, f"{name} was not played"))

    def blame_turns(self, rule: str) -> None:
        """Where a plain turn did not end, blame its rule for every other turn that did not, whichever came first."""
        failures = [run.failure for run in self.steps.values() if run.failure is not None]
        if any(failure.is_silence and failure.blame == rule for failure in failures):
            self.stuck = rule
            for failure in failures:
                failure.blame = rule if failure.is_turn else failure.blame

    def received(self) -> Iterator[tuple[Record, Entry]]:
        """Every line of the agent, in all processes."""
        return ((record, entry) for record in self.records for entry in record.received())

    def messages(self, *, sent: bool = False) -> Iterator[tuple[Record, Entry, dict[str, Any]]]:
        """Every message of one side, in all processes."""
        for record in self.records:
            for entry, message in messages_in(record.entries, sent=sent):
                yield record, entry, message

    def record_with(self, entries: tuple[Entry, ...]) -> Record | None:
        for record in (*self.records, *self.exchanges):
            if entries and any(entry is entries[0] for entry in record.entries):
                return record
        return None

    def advertises(self, gate: str) -> bool:
        """Whether a capability is advertised; an empty object counts, an empty list does not."""
        return has_path(self.advertised, gate)


def _key(id_: Any) -> str:
    """An id with its type: 1 is not "1", and not True."""
    return f"{type(id_).__name__} {id_!r}"


def has_path(said: Any, gate: str) -> bool:
    """Whether a path leads to a value other than null, false and an empty list."""
    for key in gate.split("."):
        said = said.get(key) if isinstance(said, dict) else None
    return said is not None and said is not False and said != []
