"""The recognition of a recording's format by its first bytes, and the table of importers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from accord.trace.format import FORMAT, TraceFileError
from accord.trace.imports import chains, documents, lines, lisp
from accord.trace.imports.source import TraceSource, TraceTimes, json_value
from accord.trace.reader import TraceRecord

__all__ = ["IMPORTERS", "NATIVE", "recognise"]

NATIVE = "accord-trace"
_LINES_LOOKED_AT = 50

ReadRecords: TypeAlias = Callable[[TraceSource], Iterator[TraceRecord]]


class Importer(NamedTuple):
    """One format: its name, what its times are, and whether its texts are those of the wire, to the byte."""

    name: str
    read: ReadRecords
    times: TraceTimes
    verbatim: bool


_ROWS = (
    Importer("acp-devtools-database", documents.read_devtools_database, "epoch", verbatim=True),
    Importer("acp-devtools", documents.read_devtools, "epoch", verbatim=True),
    Importer("zed", documents.read_zed, "none", verbatim=False),
    Importer("acp-inspector-trace", lines.read_inspector, "epoch", verbatim=True),
    Importer("acp-inspector-fsharp", lines.read_fsharp, "epoch", verbatim=True),
    Importer("conductor", chains.read_conductor, "relative", verbatim=False),
    Importer("conductor-debug", chains.read_debug_log, "relative", verbatim=True),
    Importer("thinkwell", chains.read_thinkwell, "epoch", verbatim=False),
    Importer("sacp-tee", lines.read_tee, "epoch", verbatim=False),
    Importer("sacp-tee-raw", lines.read_tee_text, "none", verbatim=True),
    Importer("wire", lines.read_wire, "relative", verbatim=True),
    Importer("probe", lines.read_probe, "relative", verbatim=False),
    Importer("toad", lines.read_toad, "none", verbatim=True),
    Importer("acp.el", lisp.read_lisp, "none", verbatim=False),
    Importer("acpx", lines.read_acpx, "none", verbatim=True),
    Importer("ndjson", lines.read_bare, "none", verbatim=True),
)
IMPORTERS: dict[str, Importer] = {row.name: row for row in _ROWS}
"""Every format that is imported, by its name."""


def recognise(path: Path) -> str:
    """The name of a file's format: `accord-trace`, or one of `IMPORTERS`.

    Raises:
        TraceFileError: It is empty, cannot be read, or is in no known format.
    """
    head = TraceSource(path).head()
    if not head.strip():
        raise TraceFileError(f"{path} is empty")
    name = _by_bytes(head) or _by_first_line(head) or _by_any_line(head)
    if name is None:
        known = ", ".join((NATIVE, *IMPORTERS))
        raise TraceFileError(f"{path} is no recording in a format that Accord reads; it reads: {known}")
    return name


def _by_bytes(head: bytes) -> str | None:
    if head.startswith(documents.SQLITE_MAGIC):
        return "acp-devtools-database"
    start = head.lstrip()
    if start.startswith(b"("):
        return "acp.el"
    if start.startswith(chains.DEBUG_TITLE):
        return "conductor-debug"
    if start.startswith(lines.TOAD_MARKS):
        return "toad"
    if start.startswith(lines.TEE_MARKS):
        return "sacp-tee-raw"
    if start.startswith(b"[") and b'"_direction"' in start:
        return "zed"
    return None


def _by_first_line(head: bytes) -> str | None:
    start = head.lstrip()
    line = start.splitlines()[0]
    value = json_value(line)
    if isinstance(value, dict):
        return _by_keys(value)
    # A document in many lines, or one that is longer than the part that was read.
    if start.startswith(b"{") and b'"messages"' in start and b'"session"' in start and b'"version"' in start:
        return "acp-devtools"
    return None


def _by_any_line(head: bytes) -> str | None:
    """Bare messages, maybe behind lines that a program printed."""
    first = head.splitlines()[:_LINES_LOOKED_AT]
    return "ndjson" if any(lines.is_message(json_value(line)) for line in first) else None


def _by_keys(value: dict[str, Any]) -> str | None:
    return next((name for name, holds in _TESTS if holds(value)), None)


def _word(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


_TESTS: tuple[tuple[str, Callable[[dict[str, Any]], bool]], ...] = (
    (NATIVE, lambda v: v.get("format") == FORMAT),
    ("acp-inspector-trace", lambda v: v.get("format") == lines.INSPECTOR_FORMAT),
    ("acpx", lambda v: v.get("schema") == lines.ACPX_SCHEMA),
    ("acp-devtools", lambda v: {"version", "tool", "session", "messages"} <= v.keys()),
    ("acp-inspector-trace", lambda v: "frame" in v and _word(v, "direction") in lines.INSPECTOR_DIRECTIONS),
    ("conductor", lambda v: _word(v, "type") in chains.EVENT_TYPES and {"ts", "from", "to"} <= v.keys()),
    ("acp-inspector-fsharp", lambda v: "json" in v and _word(v, "direction") in lines.FSHARP_DIRECTIONS),
    ("sacp-tee", lambda v: "message" in v and _word(v, "direction") in lines.TEE_DIRECTIONS),
    ("thinkwell", lambda v: "message" in v and _word(v, "direction") in chains.THINKWELL_DIRECTIONS),
    ("wire", lambda v: {"t", "dir", "raw"} <= v.keys()),
    ("probe", lambda v: {"t", "dir", "msg"} <= v.keys()),
    ("ndjson", lines.is_message),
)
