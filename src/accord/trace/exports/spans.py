"""Spans in the shape of OTLP/JSON: their ids, parents, times, attributes and events, without an SDK."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CLIENT", "INTERNAL", "MAX_EVENTS", "SERVER", "TraceSpan", "parent_in", "resource_spans", "span_id"]

INTERNAL, SERVER, CLIENT = 1, 2, 3
"""Kinds of spans: a request that the client sent is a client's, one that the agent sent is a server's."""
MAX_EVENTS = 1_000
"""Updates beyond that are counted in `droppedEventsCount`."""
_ERROR = 2
_NANOSECONDS = 1_000_000_000
_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


def trace_id(*facts: object) -> str:
    """A trace's id that is the same for the same facts."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def span_id(*facts: object) -> str:
    """A span's id that is the same for the same facts."""
    return hashlib.sha256(repr(("span", *facts)).encode()).hexdigest()[:16]


def parent_in(message: Any) -> tuple[str, str] | None:
    """The trace and the span in the `traceparent` of a message's `_meta`; None where it has none that is valid."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    text = meta.get("traceparent") if isinstance(meta, dict) else None
    found = _PARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None or set(found[1]) == {"0"} or set(found[2]) == {"0"}:
        return None
    return found[1], found[2]


@dataclass
class TraceSpan:
    """One span, open until `end` is set."""

    trace: str
    id: str
    parent: str
    name: str
    kind: int
    begin: float
    end: float = 0.0
    attributes: dict[str, str | int | float | bool] = field(default_factory=dict)
    events: list[tuple[str, float]] = field(default_factory=list)
    dropped_events: int = 0
    error: str = ""
    is_failed: bool = False

    def add_event(self, name: str, seconds: float) -> None:
        if len(self.events) < MAX_EVENTS:
            self.events.append((name, seconds))
        else:
            self.dropped_events += 1

    def fail(self, kind: str, message: str) -> None:
        """Mark it as failed; `kind` becomes `error.type`."""
        self.is_failed, self.error = True, message
        self.attributes["error.type"] = kind

    def value(self) -> dict[str, Any]:
        """The span as OTLP/JSON has it."""
        found: dict[str, Any] = {
            "traceId": self.trace,
            "spanId": self.id,
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": _nanoseconds(self.begin),
            "endTimeUnixNano": _nanoseconds(max(self.begin, self.end)),
            "attributes": _attributes(self.attributes),
        }
        if self.parent:
            found["parentSpanId"] = self.parent
        if self.events:
            found["events"] = [{"timeUnixNano": _nanoseconds(at), "name": name} for name, at in self.events]
        if self.dropped_events:
            found["droppedEventsCount"] = self.dropped_events
        if self.is_failed:
            found["status"] = {"code": _ERROR, "message": self.error}
        return found


def resource_spans(spans: list[TraceSpan], version: str, file: str) -> dict[str, Any]:
    """One export request with some spans."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": "accord trace", "accord.trace.file": file})},
                "scopeSpans": [
                    {"scope": {"name": "accord.trace", "version": version}, "spans": [span.value() for span in spans]}
                ],
            }
        ]
    }


def _nanoseconds(seconds: float) -> str:
    return str(max(0, round(seconds * _NANOSECONDS)))


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
