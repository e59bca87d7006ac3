"""The lines of a trace on a screen: one for each record, and tables of counts."""

from __future__ import annotations

from typing import Any

from accord.cli.show.line import Line, Span, table_lines
from accord.display import EMPTY, SafeText, exact, filled, joined, own, prose_line, trimmed
from accord.trace.imports.source import json_value
from accord.trace.index import TraceIndex
from accord.trace.index_columns import RecordKind
from accord.trace.reader import TraceRecord
from accord.trace.statistics import MethodCounts, TraceStatistics, percentile

__all__ = ["message_line", "statistics_lines"]

_TEXT_CHARACTERS = 100
_SESSION_CHARACTERS = 8
_KILO = 1000
_SHOWN_ROWS = 10
_MILLISECOND = 0.001
_TO_AGENT, _TO_CLIENT = own("→"), own("←")


def size_of(count: int) -> SafeText:
    """A size in few characters."""
    if count < _KILO:
        return filled("{} B", count)
    if count < _KILO**2:
        return filled("{:.1f} kB", count / _KILO)
    return filled("{:.1f} MB", count / _KILO**2)


def duration(seconds: float | None) -> SafeText:
    """A time between two messages."""
    if seconds is None:
        return EMPTY
    if abs(seconds) < 1:
        return filled("{:.1f} ms", seconds / _MILLISECOND)
    return filled("{:.2f} s", seconds)


def message_line(index: TraceIndex, row: int, begin: float) -> Line:
    """One record: number, time, direction, method, id, session, bytes, latency."""
    record = index.record(row)
    time = filled("{:>9.3f}", record.t - begin) if index.has_time(row) else own("         ")
    head = filled("{:>6} {} ", row + 1, time)
    kind = index.kind(row)
    if kind in _OTHERS:
        return [Span(head, "dim"), *_other(kind, record)]
    message = json_value(record.raw)
    spans = [Span(head, "dim"), Span(filled("{} ", _direction(record)), "bold"), *_what(index, row, kind, message)]
    spans.append(Span(_facts(index, row, kind, message, record), "dim"))
    if kind == RecordKind.ERROR:
        spans.append(Span(filled("  {}", _error(message)), "red"))
    if index.has_fault(row):
        text = exact(record.raw.decode("utf-8", "replace"), _TEXT_CHARACTERS)
        spans.append(Span(filled("  [{}] {}", record.fault or own("no message"), text), "yellow"))
    return spans


def _direction(record: TraceRecord) -> SafeText:
    if (record.source, record.target) == ("client", "agent"):
        return _TO_AGENT
    if (record.source, record.target) == ("agent", "client"):
        return _TO_CLIENT
    return filled("{} → {}", record.source, record.target)


def _what(index: TraceIndex, row: int, kind: RecordKind, message: Any) -> list[Span]:
    method = index.method(row)
    if kind in (RecordKind.RESULT, RecordKind.ERROR):
        return [Span(own("answer to "), "dim"), Span(exact(method) if method else own("?"))]
    if kind == RecordKind.BATCH:
        return [Span(filled("batch of {}", len(message) if isinstance(message, list) else 0))]
    update = index.update_kind(row)
    spans = [Span(exact(method))]
    return [*spans, Span(filled(" {}", update), "cyan")] if update else spans


def _facts(index: TraceIndex, row: int, kind: RecordKind, message: Any, record: TraceRecord) -> SafeText:
    parts = []
    if kind in (RecordKind.REQUEST, RecordKind.RESULT, RecordKind.ERROR) and isinstance(message, dict):
        parts.append(filled("#{}", str(message.get("id"))[:40]))
    if session := index.session(row):
        # Many agents' ids begin alike.
        parts.append(filled("@{}", session[-_SESSION_CHARACTERS:]))
    parts.append(size_of(index.size(row)))
    latency = index.latency(row)
    if latency is not None:
        parts.append(filled("after {}", duration(latency)))
    if kind == RecordKind.REQUEST and index.partner(row) is None:
        parts.append(own("(open)"))
    if record.redacted:
        parts.append(own("(masked)"))
    return filled("  {}", joined(parts, own("  ")))


def _error(message: Any) -> SafeText:
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict):
        return own("no error object")
    return filled("{} {}", str(error.get("code")), prose_line(str(error.get("message")), _TEXT_CHARACTERS))


_OTHERS = frozenset(
    {RecordKind.STDERR, RecordKind.NOTE, RecordKind.START, RecordKind.END, RecordKind.HEADER, RecordKind.OTHER}
)


def _other(kind: RecordKind, record: TraceRecord) -> list[Span]:
    match kind:
        case RecordKind.STDERR:
            text = exact(record.raw.decode("utf-8", "replace"), _TEXT_CHARACTERS)
            return [Span(filled("! {}", text), "dim")]
        case RecordKind.NOTE:
            return [Span(filled("note: {}", prose_line(record.remark, _TEXT_CHARACTERS)), "dim")]
        case RecordKind.START:
            return [Span(filled("{} started, pid {}", record.source, record.pid), "dim")]
        case RecordKind.END:
            how = (
                filled("signal {}", record.signal) if record.signal is not None else filled("exit {}", str(record.exit))
            )
            return [Span(filled("{} ended, {}", record.source, how), "dim")]
        case RecordKind.HEADER:
            command = exact(" ".join(record.command), _TEXT_CHARACTERS)
            by = filled(" by {}", record.tool) if record.tool else EMPTY
            return [Span(trimmed(filled("{}{}  {}", record.format or own("header"), by, command)), "dim")]
        case _:
            return [Span(own("a line that is no record"), "yellow")]


# --- counts


def statistics_lines(index: TraceIndex, counts: TraceStatistics) -> list[Line]:
    """The counts of a trace: a line of totals, a table of methods, open requests and faults."""
    lines: list[Line] = [
        [
            Span(
                filled(
                    "{} messages, {} in {}; {} connections, {} sessions; {} error answers, {} lines of stderr",
                    counts.messages,
                    size_of(counts.size_bytes),
                    duration(counts.end - counts.begin),
                    counts.connections,
                    counts.sessions,
                    counts.errors,
                    counts.stderr,
                ),
                "bold",
            )
        ],
        [],
    ]
    heads = [own("from"), own("method"), own("count"), own("bytes"), own("errors"), own("p50"), own("p99"), own("max")]
    lines += table_lines(heads, [_row(each) for each in counts.methods])
    lines += _listed(index, own("open requests"), counts.open_requests, counts.begin)
    lines += _listed(index, own("faulty texts"), counts.faults, counts.begin)
    return lines


def _row(each: MethodCounts) -> list[SafeText]:
    return [
        exact(each.source),
        exact(each.method) if each.method else own("?"),
        filled("{}", each.count),
        size_of(each.size_bytes),
        filled("{}", each.errors) if each.errors else EMPTY,
        duration(percentile(each.latencies, 0.5)),
        duration(percentile(each.latencies, 0.99)),
        duration(each.latencies[-1] if each.latencies else None),
    ]


def _listed(index: TraceIndex, title: SafeText, rows: list[int], begin: float) -> list[Line]:
    if not rows:
        return []
    lines: list[Line] = [[], [Span(filled("{}: {}", title, len(rows)), "bold")]]
    lines += [message_line(index, row, begin) for row in rows[:_SHOWN_ROWS]]
    if len(rows) > _SHOWN_ROWS:
        lines.append([Span(filled("… and {} more", len(rows) - _SHOWN_ROWS), "dim")])
    return lines
