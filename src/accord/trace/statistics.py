"""Counts of a trace, from the columns of its index alone: methods, bytes, latencies, open requests, faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from accord.trace.index import TraceIndex, columns_of
from accord.trace.index_columns import FAULT, NO_PARTNER, RecordKind

__all__ = ["MethodCounts", "TraceStatistics", "percentile", "statistics_of"]

_ANSWERS = (RecordKind.RESULT, RecordKind.ERROR)
_CALLS = (RecordKind.REQUEST, RecordKind.NOTIFICATION)


@dataclass
class MethodCounts:
    """One method from one end: its messages, their bytes with those of the answers, and the times of the answers."""

    source: str
    method: str
    count: int = 0
    size_bytes: int = 0
    errors: int = 0
    latencies: list[float] = field(default_factory=list)
    """Seconds between request and answer, sorted."""


@dataclass
class TraceStatistics:
    """The counts of the selected rows of a trace."""

    records: int = 0
    messages: int = 0
    size_bytes: int = 0
    begin: float = 0.0
    end: float = 0.0
    connections: int = 0
    sessions: int = 0
    errors: int = 0
    stderr: int = 0
    faults: list[int] = field(default_factory=list)
    """Rows of texts that are marked faulty or are no messages."""
    open_requests: list[int] = field(default_factory=list)
    """Rows of requests without an answer."""
    methods: list[MethodCounts] = field(default_factory=list)
    """The most frequent first."""


def percentile(values: list[float], share: float) -> float | None:
    """The value below which a share of sorted values lies; None without values."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def statistics_of(index: TraceIndex, rows: Iterable[int] | None = None) -> TraceStatistics:
    """The counts of some rows; of all unless given."""
    found = TraceStatistics()
    counts: dict[tuple[int, int], MethodCounts] = {}
    columns = columns_of(index)
    begin, is_first = index.begin, True
    connections: set[int] = set()
    sessions: set[int] = set()
    for row in range(len(index)) if rows is None else rows:
        kind, time = columns.kind[row], columns.time[row]
        if is_first and (time or not begin):
            found.begin, is_first = time, False
        found.records += 1
        found.end = max(found.end, time)
        found.size_bytes += columns.size[row]
        connections.add(columns.connection[row])
        sessions.add(columns.session[row])
        if columns.flags[row] & FAULT:
            found.faults.append(row)
        if kind in _CALLS or kind in _ANSWERS:
            found.messages += 1
            _count(index, row, kind, counts, found)
        elif kind == RecordKind.STDERR:
            found.stderr += 1
    found.connections, found.sessions = len(connections - {0}), len(sessions - {0})
    found.methods = sorted(counts.values(), key=lambda each: (-each.count, each.method))
    for each in found.methods:
        each.latencies.sort()
    return found


def _count(
    index: TraceIndex, row: int, kind: int, counts: dict[tuple[int, int], MethodCounts], found: TraceStatistics
) -> None:
    columns = columns_of(index)
    direction = columns.direction[row]
    if kind in _ANSWERS:
        direction = columns.state.reverse[direction]
    key = (direction, columns.method[row])
    entry = counts.get(key)
    if entry is None:
        entry = counts[key] = MethodCounts(columns.state.ends[direction][0], columns.state.words[key[1]])
    entry.size_bytes += columns.size[row]
    if kind in _CALLS:
        entry.count += 1
        if kind == RecordKind.REQUEST and columns.partner[row] == NO_PARTNER:
            found.open_requests.append(row)
        return
    if kind == RecordKind.ERROR:
        entry.errors += 1
        found.errors += 1
    latency = index.latency(row)
    if latency is not None:
        entry.latencies.append(latency)
