"""The export to the conductor's `.jsons`, for its viewer of sequence diagrams.

The viewer orders the columns `client` and `agent` only by these lower-case names, pairs by receiver and id in the whole
file, and draws every event: ids are made unique here, and long runs of chunks are one event each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.trace.exports.selection import ExportSelection, Put, json_line_of
from accord.trace.imports.source import json_value
from accord.trace.index import columns_of
from accord.trace.index_columns import RecordKind
from accord.trace.reader import TraceRecord

__all__ = ["MAX_EVENTS", "write_conductor"]

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
    """One event per line; an answer is written where its request is."""
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
