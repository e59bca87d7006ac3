"""Importers of bare messages, one per line, without times: NDJSON of any tool, acpx journals, and Toad's log.

Bare lines name no direction; `direction` infers it. Toad's lines begin with the side that sent them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.trace.direction import UNKNOWN, DirectionFinder
from accord.trace.imports.source import STEP_SECONDS, TraceSource, json_value, note, stderr, text
from accord.trace.reader import TraceRecord

__all__ = ["ACPX_SCHEMA", "TOAD_MARKS", "is_message", "read_acpx", "read_bare", "read_toad"]

ACPX_SCHEMA = "acpx.session.journal.v1"
TOAD_MARKS = (b"[client] ", b"[agent] ", b"[error] ")


def is_message(value: Any) -> bool:
    """Whether a JSON value looks like a message of JSON-RPC, or a batch of them."""
    if isinstance(value, list):
        return bool(value) and all(is_message(each) and not isinstance(each, list) for each in value)
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("method"), str):
        return "jsonrpc" in value or "params" in value or "id" in value
    return "id" in value and ("result" in value or "error" in value)


def read_bare(source: TraceSource) -> Iterator[TraceRecord]:
    """Each line is a message, or not JSON and marked so."""
    finder = DirectionFinder()
    for place, line in enumerate(source.lines()):
        yield _placed(place * STEP_SECONDS, line, finder)


def _placed(seconds: float, line: bytes, finder: DirectionFinder) -> TraceRecord:
    if json_value(line) is None:
        return text(seconds, UNKNOWN, UNKNOWN, line, fault="not-json")
    ends = finder.find(line)
    return text(seconds, ends.source, ends.target, line)


def read_acpx(source: TraceSource) -> Iterator[TraceRecord]:
    """The messages between acpx's marker lines; a marker is a note."""
    finder = DirectionFinder()
    for place, line in enumerate(source.lines()):
        seconds = place * STEP_SECONDS
        value = json_value(line)
        if isinstance(value, dict) and value.get("schema") == ACPX_SCHEMA:
            yield note(seconds, line.decode(errors="replace"))
        else:
            yield _placed(seconds, line, finder)


def read_toad(source: TraceSource) -> Iterator[TraceRecord]:
    """Lines that begin with their sender in brackets."""
    for place, line in enumerate(source.lines()):
        seconds = place * STEP_SECONDS
        mark, _, rest = line.partition(b" ")
        fault = "" if json_value(rest) is not None else "not-json"
        if mark == b"[client]":
            yield text(seconds, "client", "agent", rest, fault=fault)
        elif mark == b"[agent]":
            yield text(seconds, "agent", "client", rest, fault=fault)
        elif mark == b"[error]":
            yield stderr(seconds, rest)
        else:
            yield note(seconds, line.decode(errors="replace"))
