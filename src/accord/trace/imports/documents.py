"""Importers of whole documents: Zed's copied messages, and the export and the database of acp-devtools."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import msgspec

from accord.trace.imports.source import (
    STEP_SECONDS,
    TraceSource,
    json_bytes,
    json_value,
    note,
    number_of,
    refuse,
    stderr,
    text,
)
from accord.trace.reader import TraceRecord

__all__ = ["DEVTOOLS_DIRECTIONS", "SQLITE_MAGIC", "read_devtools", "read_devtools_database", "read_zed"]

SQLITE_MAGIC = b"SQLite format 3\x00"
DEVTOOLS_VERSION = 1
DATABASE_VERSION = 4
DEVTOOLS_DIRECTIONS = {"editor-to-agent": ("client", "agent"), "agent-to-editor": ("agent", "client")}
_ZED_DIRECTIONS = {"incoming": ("agent", "client"), "outgoing": ("client", "agent")}
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])


def _items(document: bytes) -> list[Any] | None:
    """The values of an array, read one by one; None where it is no whole array."""
    try:
        return [json_value(bytes(raw)) for raw in _ITEMS.decode(document)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A lone surrogate somewhere in it: JSON allows it, and messages have it.
        value = json_value(document)
    return value if isinstance(value, list) else None


# --- Zed


def read_zed(source: TraceSource) -> Iterator[TraceRecord]:
    """Zed's array; an answer is known by its missing place among requests, an error by its code and message."""
    items = _items(source.document())
    if items is None:
        refuse(source, "it begins as Zed's copied messages and is no whole JSON array; copy all messages again")
    finder = _ZedAnswers()
    for place, item in enumerate(items):
        seconds = place * STEP_SECONDS
        if not isinstance(item, dict):
            yield note(seconds, f"item {place + 1} is no object")
        elif item.get("_direction") == "stderr":
            yield stderr(seconds, _stderr_text(item).encode("utf-8", "surrogatepass"))
        elif (ends := _ZED_DIRECTIONS.get(str(item.get("_direction")))) is None:
            yield note(seconds, f"item {place + 1} has no direction")
        else:
            yield text(seconds, *ends, json_bytes(finder.message(item, ends[0])))


def _stderr_text(item: dict[str, Any]) -> str:
    for key in ("line", "message", "params", "text"):
        if isinstance(item.get(key), str):
            return str(item[key])
    return json_bytes(item).decode()


class _ZedAnswers:
    """Tells requests and answers apart: Zed writes the method and the id of both, and `_type` may be a placeholder."""

    def __init__(self) -> None:
        self._open: set[tuple[str, str, str]] = set()

    def message(self, item: dict[str, Any], sender: str) -> dict[str, Any]:
        id_, method, params = item.get("id"), item.get("method"), item.get("params")
        receiver = "client" if sender == "agent" else "agent"
        is_answer = (receiver, repr(id_), str(method)) in self._open or item.get("_type") == "response"
        if id_ is not None and is_answer:
            self._open.discard((receiver, repr(id_), str(method)))
            is_error = isinstance(params, dict) and type(params.get("code")) is int and "message" in params
            return {"jsonrpc": "2.0", "id": id_, "error" if is_error else "result": params}
        found: dict[str, Any] = {"jsonrpc": "2.0"}
        if id_ is not None:
            found["id"] = id_
            self._open.add((sender, repr(id_), str(method)))
        found["method"] = method
        if params is not None:
            found["params"] = params
        return found


# --- acp-devtools


class _Export(msgspec.Struct):
    version: int
    messages: list[msgspec.Raw]


def read_devtools(source: TraceSource) -> Iterator[TraceRecord]:
    """The JSON export of acp-devtools; times are in milliseconds.

    Raises:
        TraceFileError: It is of a newer version, or damaged.
    """
    version, messages = _export(source)
    if version != DEVTOOLS_VERSION:
        refuse(source, f"it is version {version} of acp-devtools' export, and Accord reads version {DEVTOOLS_VERSION}")
    for place, item in enumerate(messages):
        yield _devtools_record(item if isinstance(item, dict) else {}, place)


def _export(source: TraceSource) -> tuple[int, Iterable[Any]]:
    document = source.document()
    try:
        export = msgspec.json.decode(document, type=_Export)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A lone surrogate, as in `_items`.
        value = json_value(document)
        if isinstance(value, dict) and isinstance(value.get("messages"), list) and type(value.get("version")) is int:
            return value["version"], value["messages"]
        refuse(source, "it begins as an export of acp-devtools and is not whole; export it again")
    return export.version, (json_value(bytes(raw)) for raw in export.messages)


def _devtools_record(item: dict[str, Any], place: int) -> TraceRecord:
    stamp = item.get("timestamp")
    seconds = number_of(stamp, place * STEP_SECONDS * 1000) / 1000
    ends = DEVTOOLS_DIRECTIONS.get(str(item.get("direction")))
    raw = item.get("raw")
    if ends is None or not isinstance(raw, str):
        return note(seconds, f"message {place + 1} could not be read")
    data = raw.encode("utf-8", "surrogatepass").rstrip(b"\r\n")
    return text(seconds, *ends, data, fault="" if json_value(data) is not None else "not-json")


def read_devtools_database(source: TraceSource) -> Iterator[TraceRecord]:
    """The database of acp-devtools, opened for reading alone; each of its sessions is a connection.

    Raises:
        TraceFileError: It is another program's, damaged, or of a newer version.
    """
    address = f"{source.path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            _check_database(source, database)
            yield from _database_records(database)
    except sqlite3.Error as error:
        refuse(
            source, f"SQLite cannot read it ({error}); close the program that writes it, or export the session there"
        )


def _check_database(source: TraceSource, database: sqlite3.Connection) -> None:
    names = {row[0] for row in database.execute("select name from sqlite_master where type = 'table'")}
    if not {"sessions", "messages"} <= names:
        refuse(source, "it is a database of another program than acp-devtools")
    version = database.execute("pragma user_version").fetchone()[0]
    if version > DATABASE_VERSION:
        refuse(source, f"it is version {version} of acp-devtools' database, and Accord reads up to {DATABASE_VERSION}")


def _database_records(database: sqlite3.Connection) -> Iterator[TraceRecord]:
    sessions = database.execute("select id, name, agent_command from sessions order by started_at, id").fetchall()
    for connection, (id_, name, command) in enumerate(sessions, 1):
        yield note(0.0, f"session {id_} {name or ''}: {command or 'unknown command'}", connection=connection)
        rows = database.execute(
            "select timestamp, direction, raw from messages where session_id = ? order by seq", (id_,)
        )
        for place, (stamp, direction, raw) in enumerate(rows):
            item = {"timestamp": stamp, "direction": direction, "raw": raw}
            record = _devtools_record(item, place)
            record.connection = connection
            yield record
