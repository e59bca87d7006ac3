"""The judgement of a recorded conversation: the rules that need no provocation, over a trace instead of a process.

A judge that looks at what was said runs as it is; one that needs a step of the checker says that the step was not
played, and its rule is not judged. Rules that compare a client with our own stub agent are left out by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from accord.check import rules_for
from accord.check.engine.evidence import MAX_TOTAL_BYTES, Entry, Evidence, Record, StepFailed, cost_of, read_json
from accord.check.engine.judging import judged
from accord.check.engine.report import Judgement, Outcome
from accord.check.rule import EDITIONS, EditionName, Options
from accord.trace.conversation import TraceEditions
from accord.trace.index import TraceIndex
from accord.trace.reader import TraceRecord

__all__ = ["NOT_FROM_RECORDS", "RecordedJudgement", "judge_recorded"]

NOT_FROM_RECORDS = frozenset(
    {
        "ACCORD-CLIENT-END-001",
        "ACCORD-CLIENT-GATE-001",
        "ACCORD-CLIENT-GATE-002",
        "ACCORD-CLIENT-PROMPT-002",
        "ACCORD-CLIENT-SESSION-002",
        "ACCORD-CLIENT-SESSION-003",
        "ACCORD-CLIENT-SESSION-004",
        "ACCORD-CLIENT-TURN-001",
        "ACCORD-CLIENT-WIRE-002",
    }
)
"""Rules whose judges know what our stub agent offers, or bytes and ends that a trace does not have."""
_NOT_HERE = "it needs the checker's own agent on the other end"


@dataclass
class RecordedJudgement:
    """The judgement of one side in one edition."""

    edition: EditionName
    side: str
    outcomes: list[Outcome] = field(default_factory=list)
    """Of every rule, also of those that are not judged (`SKIPPED`, with the reason)."""
    is_cut: bool = False
    """Whether only the first part of the trace was judged: all of it takes too much memory."""

    def with_status(self, status: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status == status]


def judge_recorded(index: TraceIndex) -> list[RecordedJudgement]:
    """Judge both sides of a trace by the rules of the editions that its connections agreed on."""
    editions = TraceEditions(index)
    evidence: dict[EditionName, dict[str, Evidence]] = {}
    is_cut = _collect(index, editions, evidence)
    found: list[RecordedJudgement] = []
    for edition, sides in evidence.items():
        for side, each in sides.items():
            outcomes = [Outcome(rule, _judged(rule, each, side)) for rule in rules_for(edition, side)]
            found.append(RecordedJudgement(edition, side, outcomes, is_cut))
    return found


def _collect(index: TraceIndex, editions: TraceEditions, evidence: dict[EditionName, dict[str, Evidence]]) -> bool:
    """Fill the evidence of each edition and side with a record per connection; whether some of the trace is missing."""
    left = MAX_TOTAL_BYTES
    stderr: dict[int, bytearray] = {}
    records: dict[tuple[int, str], list[Entry]] = {}
    for _, record in index.records():
        if record.type == "stderr":
            stderr.setdefault(record.connection, bytearray()).extend(record.raw + b"\n")
        if record.type != "text" or {record.source, record.target} != {"client", "agent"}:
            continue
        left -= 2 * cost_of(record.raw)
        if left < 0:
            break
        _add(record, records)
    for (connection, side), entries in records.items():
        name = _name(editions.edition(connection).name)
        sides = evidence.setdefault(
            name, {"agent": Evidence(Options(edition=name)), "client": Evidence(Options(edition=name))}
        )
        said = bytes(stderr.get(connection, b"")) if side == "agent" else b""
        sides[side].records.append(Record(f"{connection} recorded", entries, b"", said, "closed stdin", 0))
        _advertise(sides[side], entries, side)
    return left < 0


def _name(name: str) -> EditionName:
    return next(each for each in EDITIONS if each == name)


def _add(record: TraceRecord, records: dict[tuple[int, str], list[Entry]]) -> None:
    message = read_json(record.raw)
    for side in ("agent", "client"):
        entries = records.setdefault((record.connection, side), [])
        entries.append(Entry(record.source != side, record.t, record.raw, message, len(entries)))


def _advertise(evidence: Evidence, entries: list[Entry], side: str) -> None:
    """Note the capabilities, and the first new session: a rule with a gate is judged where they have it."""
    asked: dict[str, str] = {}
    for entry in entries:
        message = entry.message
        if not isinstance(message, dict):
            continue
        method, id_ = message.get("method"), repr(message.get("id"))
        by_client = entry.sent == (side == "agent")
        if by_client and isinstance(method, str) and "id" in message:
            asked[id_] = method
            if method == "initialize" and side == "client":
                evidence.advertised["initialize"] = message.get("params")
        elif not by_client and isinstance(message.get("result"), dict):
            _note_answer(evidence, asked.pop(id_, ""), message["result"], side)


def _note_answer(evidence: Evidence, method: str, result: dict[str, Any], side: str) -> None:
    if method == "initialize" and side == "agent":
        evidence.advertised["initialize"] = result
        evidence.agent_info = result.get("info", result.get("agentInfo"))
    elif method == "session/new":
        evidence.advertised.setdefault("new", result)


def _judged(rule: Any, evidence: Evidence, side: str) -> tuple[Judgement, ...]:
    if rule.superseded:
        return ()
    skipped = _NOT_HERE if rule.id in NOT_FROM_RECORDS else ""
    if not skipped and rule.gate and not evidence.advertises(rule.gate):
        skipped = f"not advertised: {rule.gate}"
    return tuple(judged(rule, evidence, side, _no_excuse, skipped))


def _no_excuse(_failure: StepFailed) -> str:
    return ""
