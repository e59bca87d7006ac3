"""Exports to other recordings: our own format, `acp-inspector-trace`, acp-devtools' JSON, and bare messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from accord.trace.exports.selection import ExportSelection, Put, json_line_of
from accord.trace.imports.documents import DEVTOOLS_DIRECTIONS, DEVTOOLS_VERSION
from accord.trace.imports.marked_lines import INSPECTOR_DIRECTIONS, INSPECTOR_FORMAT, INSPECTOR_VERSION
from accord.trace.imports.source import json_value
from accord.trace.index_columns import RecordKind
from accord.trace.reader import TraceRecord
from accord.version import VERSION

__all__ = ["write_accord_trace", "write_devtools", "write_inspector", "write_ndjson"]

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
                message["parseError"] = "not JSON"
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
