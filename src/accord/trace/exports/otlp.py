"""The export to OTLP/JSON: a trace per session, and spans for requests, turns, tool calls and permission waits.

No bodies are exported: methods, ids, times, names of tools and codes of errors alone. A `traceparent` in the `_meta` of
a request is the parent of its span. One line is one export request of at most `SPANS_PER_LINE` spans, as OTLP's file
format has it; most traces are one line.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from accord.protocol.edition import Edition
from accord.session.agent_requests import RequestPermission
from accord.session.client_requests import Prompt
from accord.session.dialect import Dialect
from accord.session.entry import ToolCall
from accord.session.event import Event, ToolChanged
from accord.trace.conversation import SessionConversation, TraceEditions, TurnEnd
from accord.trace.exports.selection import MESSAGES, ExportSelection, Put, json_line_of
from accord.trace.imports.source import json_value
from accord.trace.index import columns_of
from accord.trace.index_columns import RecordKind
from accord.version import VERSION

__all__ = ["write_otlp"]


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


SPANS_PER_LINE = 500


def write_otlp(selection: ExportSelection, put: Put) -> None:
    """The spans of the selected messages that a client sent or received."""
    writer = _SpanWriter(selection, put)
    index = selection.index
    kinds = columns_of(index).kind
    for row in selection.rows:
        if kinds[row] in MESSAGES and "client" in index.ends(row):
            writer.take(row)
    writer.finish()


class _SessionSpans:
    """The open spans of one session."""

    def __init__(self, root: TraceSpan, conversation: SessionConversation) -> None:
        self.root = root
        self.conversation = conversation
        self.turns: dict[int, TraceSpan] = {}
        """The spans of prompts, by the row of the request, the oldest first."""
        self.tools: dict[str, TraceSpan] = {}

    @property
    def current(self) -> TraceSpan:
        """The span under which the agent works."""
        return next(iter(self.turns.values()), self.root)


class _SpanWriter:
    def __init__(self, selection: ExportSelection, put: Put) -> None:
        self._selection = selection
        self._index = selection.index
        self._put = put
        self._editions = TraceEditions(selection.index)
        self._sessions: dict[tuple[int, str], _SessionSpans] = {}
        self._open: dict[int, TraceSpan] = {}
        """Spans of requests, by their rows."""
        self._done: list[TraceSpan] = []
        self._last = 0.0

    def take(self, row: int) -> None:
        """Take the next message."""
        index = self._index
        self._last = max(self._last, index.time(row))
        session = self._session(row)
        session.root.end = self._last
        kind = index.kind(row)
        if kind == RecordKind.REQUEST:
            self._begin(row, session)
        elif kind in (RecordKind.RESULT, RecordKind.ERROR):
            self._answer(row, session)
        elif index.update_kind(row):
            session.current.add_event(index.update_kind(row), index.time(row))
        if index.session(row):
            for event in session.conversation.feed(index, row):
                self._event(row, session, event)

    def finish(self) -> None:
        """End the open spans, and write all spans that are not written yet."""
        for session in self._sessions.values():
            for tool in session.tools.values():
                self._end(tool, self._last)
            for turn in session.turns.values():
                turn.attributes["acp.unanswered"] = True
                self._end(turn, self._last)
        for span in self._open.values():
            span.attributes["acp.unanswered"] = True
            self._end(span, self._last)
        for session in self._sessions.values():
            self._end(session.root, session.root.end)
        self._flush()

    def _session(self, row: int) -> _SessionSpans:
        index = self._index
        # Messages without a session, such as the handshake, have a trace per connection.
        name = index.session(row)
        key = (0 if name else index.connection(row), name)
        found = self._sessions.get(key)
        if found is None:
            facts = (index.time(0), *key)
            root = TraceSpan(
                trace_id(*facts),
                span_id(*facts),
                "",
                "session" if name else f"connection {key[0]}",
                INTERNAL,
                index.time(row),
                attributes={"acp.session.id": name} if name else {},
            )
            found = self._sessions[key] = _SessionSpans(root, SessionConversation(self._editions))
        return found

    def _begin(self, row: int, session: _SessionSpans) -> None:
        index = self._index
        message = json_value(index.record(row).raw)
        edition = self._editions.edition(index.connection(row))
        dialect = self._editions.dialect(index.connection(row))
        is_ours = index.ends(row)[0] == "client"
        above = session.root if is_ours else session.current
        is_question = _is_method(dialect, RequestPermission, index.method(row))
        if is_question:
            above = session.tools.get(_tool_of(message), above)
        given = parent_in(message)
        trace, parent = given or (above.trace, above.id)
        span = TraceSpan(
            trace,
            span_id(index.time(0), row),
            parent,
            index.method(row),
            CLIENT if is_ours else SERVER,
            index.time(row),
            attributes=_request_attributes(index.method(row), index.session(row), edition, message),
        )
        if is_question:
            span.attributes["acp.wait"] = "permission"
        if _is_method(dialect, Prompt, index.method(row)):
            session.turns[row] = span
        else:
            self._open[row] = span

    def _answer(self, row: int, session: _SessionSpans) -> None:
        asked = self._index.partner(row)
        if asked is None:
            return
        span = self._open.pop(asked, None)
        turn = session.turns.get(asked)
        failed = span or turn
        if failed is not None and self._index.kind(row) == RecordKind.ERROR:
            code, message = _error(json_value(self._index.record(row).raw))
            failed.fail(code, message)
            failed.attributes["rpc.response.status_code"] = code
        if span is not None:
            self._end(span, self._index.time(row))
        elif turn is not None and turn.is_failed:
            # A refused prompt begins no turn, in no edition.
            self._end(session.turns.pop(asked), self._index.time(row))

    def _event(self, row: int, session: _SessionSpans, event: Event | TurnEnd) -> None:
        if isinstance(event, TurnEnd):
            turn = session.turns.pop(event.prompt, None)
            if turn is not None:
                turn.attributes["acp.stop_reason"] = str(event.output.stop_reason)
                if event.output.error is not None:
                    turn.fail(str(event.output.error.code), event.output.error.message)
                self._end(turn, self._index.time(row))
        elif isinstance(event, ToolChanged):
            self._tool(row, session, session.conversation.transcript.tool_calls.get(event.id))

    def _tool(self, row: int, session: _SessionSpans, call: ToolCall | None) -> None:
        if call is None:
            return
        span = session.tools.get(call.id)
        if span is None:
            above = session.current
            facts = (self._index.time(0), session.root.id, call.id, row)
            span = TraceSpan(above.trace, span_id(*facts), above.id, "", INTERNAL, self._index.time(row))
            session.tools[call.id] = span
        name = call.name or call.kind
        span.name = f"execute_tool {name}"
        span.attributes |= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call.id,
            "acp.tool.status": call.status,
        }
        if call.finished:
            if call.status == "failed":
                span.fail("tool_failed", "the tool call failed")
            self._end(session.tools.pop(call.id), self._index.time(row))

    def _end(self, span: TraceSpan, seconds: float) -> None:
        span.end = seconds
        self._done.append(span)
        if len(self._done) >= SPANS_PER_LINE:
            self._flush()

    def _flush(self) -> None:
        if self._done:
            self._put(json_line_of(resource_spans(self._done, VERSION, self._selection.name)))
            self._done = []


def _is_method(dialect: Dialect, request: type[Any], method: str) -> bool:
    return any(binding.method.name == method for binding in dialect.find(request))


def _request_attributes(method: str, session: str, edition: Edition, message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "acp.method.name": method,
        "acp.protocol.version": str(edition.version),
        "jsonrpc.protocol.version": "2.0",
        "network.transport": "pipe",
    }
    if session:
        found["acp.session.id"] = session
    id_ = message.get("id") if isinstance(message, dict) else None
    if id_ is not None:
        found["jsonrpc.request.id"] = str(id_)
    return found


def _tool_of(message: Any) -> str:
    params = message.get("params") if isinstance(message, dict) else None
    call = params.get("toolCall") if isinstance(params, dict) else None
    return str(call.get("toolCallId", "")) if isinstance(call, dict) else ""


def _error(message: Any) -> tuple[str, str]:
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict):
        return "unknown", ""
    # The message of an error may quote the prompt, and no bodies are exported: the code alone.
    return str(error.get("code")), ""
