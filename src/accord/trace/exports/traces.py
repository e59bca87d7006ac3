"""Exports to other recordings: our format, `acp-inspector-trace`, acp-devtools, the conductor, and bare messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.trace.exports.selection import ExportSelection, Put, json_line_of
from accord.trace.imports.documents import DEVTOOLS_DIRECTIONS, DEVTOOLS_VERSION
from accord.trace.imports.lines import INSPECTOR_DIRECTIONS, INSPECTOR_FORMAT, INSPECTOR_VERSION
from accord.trace.imports.source import json_value
from accord.trace.index import columns_of
from accord.trace.index_columns import RecordKind
from accord.trace.reader import TraceRecord
from accord.version import VERSION

__all__ = ["write_accord_trace", "write_conductor", "write_devtools", "write_inspector", "write_ndjson"]


WARNING = "Prompts, file contents and answers are in this file. Secrets that were recognised are masked."
_INSPECTOR_WORDS = {ends: word for word, ends in INSPECTOR_DIRECTIONS.items()}
_DEVTOOLS_WORDS = {ends: word for word, ends in DEVTOOLS_DIRECTIONS.items()}
_MASKED = {
    "text": ("raw", "content"),
    "stderr": ("raw", "content"),
    "note": ("text", "remark"),
    "start": ("command", "command"),
}
"""The key of a record that may hold a secret, and its field; lines of other types are masked as a whole."""
_DEVTOOLS_KINDS = {
    RecordKind.REQUEST: "request",
    RecordKind.NOTIFICATION: "notification",
    RecordKind.RESULT: "response",
    RecordKind.ERROR: "error",
}


def write_accord_trace(selection: ExportSelection, put: Put) -> None:
    """Our own format: the header of the file, and the selected records."""
    index = selection.index
    has_header = bool(len(index)) and index.kind(0) == RecordKind.HEADER
    if has_header and 0 not in selection.rows:
        put(_header(selection, 0))
    for row in selection.rows:
        put(_header(selection, row) if index.kind(row) == RecordKind.HEADER else _native(selection, row))


def _header(selection: ExportSelection, row: int) -> str:
    """A header, which says that secrets are masked where they are masked on the way out."""
    line = selection.index.line(row)
    value = json_value(line)
    if not selection.masks or not isinstance(value, dict):
        return line.decode("utf-8", "replace") + "\n"
    command = selection.record(row).command
    return json_line_of({**value, "redacted": True} | ({"command": command} if command else {}))


def _native(selection: ExportSelection, row: int) -> str:
    record = selection.record(row)
    line = selection.index.line(row).decode("utf-8", "replace")
    if record.type not in _MASKED:
        return selection.masked_text(line) + "\n"
    if not record.redacted:
        return line + "\n"
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return selection.masked_text(line) + "\n"
    if not isinstance(value, dict):
        return line + "\n"
    value["redacted"] = True
    key, field = _MASKED[record.type]
    value[key] = getattr(record, field)
    if not record.encoding:
        value.pop("enc", None)
    return json_line_of(value)


def write_inspector(selection: ExportSelection, put: Put) -> None:
    """`acp-inspector-trace` v1. Texts between other ends than client and agent, or without UTF-8, count as dropped."""
    fitting = [row for row, record in selection.texts() if _fits(record)]
    header = {
        "type": "header",
        "format": INSPECTOR_FORMAT,
        "version": INSPECTOR_VERSION,
        "at": _milliseconds(selection.span()[0]),
        "frames": len(fitting),
        "dropped": selection.count_texts() - len(fitting),
        "warning": WARNING,
    }
    put(json_line_of(header))
    for row in fitting:
        record = selection.record(row)
        frame = {
            "type": "frame",
            "at": _milliseconds(record.t),
            "connection": record.connection,
            "direction": _INSPECTOR_WORDS[record.source, record.target],
            "encoding": "utf8",
            "frame": record.content,
        }
        put(json_line_of(frame))


def _fits(record: TraceRecord) -> bool:
    return (record.source, record.target) in _INSPECTOR_WORDS and not record.encoding


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def write_devtools(selection: ExportSelection, put: Put) -> None:
    """acp-devtools' JSON export, version 1, of one connection: that of the first text."""
    begin, end = selection.span()
    connection = next((record.connection for _, record in selection.texts()), 1)
    header = selection.record(0) if len(selection.index) else TraceRecord()
    export = {
        "version": DEVTOOLS_VERSION,
        "exportedAt": _milliseconds(end),
        "tool": {"name": "accord", "version": VERSION},
        "session": {
            # A number, or its parser refuses the document.
            "id": connection,
            "name": selection.name,
            "agentCommand": " ".join(header.command) or None,
            "clientName": None,
            "startedAt": _milliseconds(begin),
            "endedAt": _milliseconds(end),
        },
    }
    # Message by message: the document may be large.
    put(json_line_of(export).rstrip("}\n") + '},"messages":[')
    for seq, message in enumerate(_devtools_messages(selection, connection), 1):
        put("\n" if seq == 1 else ",\n")
        put(json_line_of({"seq": seq, **message}).rstrip("\n"))
    put("\n]}\n")


def _devtools_messages(selection: ExportSelection, connection: int) -> Iterator[dict[str, Any]]:
    for row, record in selection.texts():
        direction = _DEVTOOLS_WORDS.get((record.source, record.target))
        if record.connection == connection and direction is not None and not record.encoding:
            payload = json_value(record.raw)
            message: dict[str, Any] = {
                "timestamp": _milliseconds(record.t),
                "direction": direction,
                "kind": _DEVTOOLS_KINDS.get(selection.index.kind(row), "unknown"),
            }
            if isinstance(payload, dict):
                message |= _envelope(payload)
            message |= {"raw": record.content, "payload": payload}
            if payload is None:
                message["parseError"] = "nested too deeply" if record.fault == "too-deep" else "not JSON"
            yield message


def _envelope(payload: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(payload.get("method"), str):
        found["method"] = payload["method"]
    if isinstance(payload.get("id"), int | str):
        found["rpcId"] = payload["id"]
    return found


def write_ndjson(selection: ExportSelection, put: Put) -> None:
    """The texts and nothing else, one per line: choose one side to have what that program sent."""
    for _, record in selection.texts():
        if not record.encoding:
            put(record.content.replace("\n", " ") + "\n")


MAX_EVENTS = 10_000
"""From here on runs of chunks are collapsed: the viewer takes seconds for more."""
MAX_COLLAPSED_CHARACTERS = 2_000
_DRAWN = frozenset({RecordKind.REQUEST, RecordKind.NOTIFICATION, RecordKind.RESULT, RecordKind.ERROR})


class _Run(NamedTuple):
    """The place of a chunk: chunks with the same one that follow each other are one event."""

    session: str
    kind: str
    ends: tuple[str, str]


def write_conductor(selection: ExportSelection, put: Put) -> None:
    """The conductor's `.jsons`, for its viewer of sequence diagrams: one event per line.

    The viewer orders the columns `client` and `agent` only by these lower-case names, pairs by receiver and id in the
    whole file, and draws every event: ids are made unique here, and long runs of chunks are one event each. An answer
    is written where its request is.
    """
    kinds = columns_of(selection.index).kind
    count = sum(kinds[row] in _DRAWN for row in selection.rows)
    events = _events(selection)
    for event in _collapsed(events) if count > MAX_EVENTS else (event for event, _ in events):
        put(json_line_of(event))


def _events(selection: ExportSelection) -> Iterator[tuple[dict[str, Any], _Run | None]]:
    index = selection.index
    names = _UniqueIds()
    begin = selection.span()[0]
    for row, record in selection.texts():
        message = json_value(record.raw)
        if not isinstance(message, dict) or index.kind(row) not in _DRAWN:
            continue
        event = _event(selection, row, record, message, names)
        if event is not None:
            event["ts"] = round(record.t - begin, 6)
            yield event, _run(selection, row, record)


def _run(selection: ExportSelection, row: int, record: TraceRecord) -> _Run | None:
    kind = selection.index.update_kind(row)
    if not kind.endswith("_chunk"):
        return None
    return _Run(selection.index.session(row), kind, (record.source, record.target))


def _event(
    selection: ExportSelection, row: int, record: TraceRecord, message: dict[str, Any], names: _UniqueIds
) -> dict[str, Any] | None:
    index = selection.index
    event: dict[str, Any] = {"type": "", "ts": 0.0}
    ends = {"from": record.source, "to": record.target}
    kind = index.kind(row)
    if kind in (RecordKind.RESULT, RecordKind.ERROR):
        asked = index.partner(row)
        name = None if asked is None else names.answered(asked)
        if name is None:
            return None
        is_error = kind == RecordKind.ERROR
        payload = message.get("error" if is_error else "result")
        return event | {"type": "response", **ends, "id": name, "is_error": is_error, "payload": payload}
    event |= {"type": "notification", "protocol": "acp", **ends}
    if kind == RecordKind.REQUEST:
        event |= {"type": "request", "id": names.asked(row, record.target, record.connection, message.get("id"))}
    event["method"] = index.method(row)
    if session := index.session(row):
        event["session"] = session
    event["params"] = message.get("params")
    return event


class _UniqueIds:
    """Ids that no other request to the same receiver has in the whole file."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], int] = {}
        self._open: dict[int, str] = {}

    def asked(self, row: int, receiver: str, connection: int, id_: Any) -> str:
        name = f"{connection}:{id_}"
        times = self._used.get((receiver, name), 0)
        self._used[receiver, name] = times + 1
        self._open[row] = name = name if not times else f"{name}#{times + 1}"
        return name

    def answered(self, row: int) -> str | None:
        return self._open.pop(row, None)


def _collapsed(events: Iterator[tuple[dict[str, Any], _Run | None]]) -> Iterator[dict[str, Any]]:
    held: dict[str, Any] | None = None
    place: _Run | None = None
    for event, run in events:
        if held is not None and run is not None and run == place:
            _join(held, event)
            continue
        if held is not None:
            yield held
        held, place = event, run
    if held is not None:
        yield held


def _join(held: dict[str, Any], event: dict[str, Any]) -> None:
    held["collapsed"] = held.get("collapsed", 1) + 1
    content, further = _content(held), _content(event)
    if content is not None and further is not None and len(content["text"]) < MAX_COLLAPSED_CHARACTERS:
        content["text"] += further["text"]


def _content(event: dict[str, Any]) -> dict[str, Any] | None:
    """The text block of a chunk."""
    params = event.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    content = update.get("content") if isinstance(update, dict) else None
    return content if isinstance(content, dict) and isinstance(content.get("text"), str) else None
