"""Exports: the part of a trace that is exported, masked where the file is not, and the table of formats.

A writer is imported when it is used: most lines of `accord trace` use none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import msgspec

from accord.trace.format import FORMAT
from accord.trace.imports.source import json_bytes
from accord.trace.index import TraceIndex, columns_of
from accord.trace.index_columns import RecordKind
from accord.trace.reader import TraceRecord
from accord.trace.redaction import Redactor

__all__ = ["EXPORTS", "MESSAGES", "ExportSelection", "Put", "json_line_of"]


Put: TypeAlias = Callable[[str], object]
"""Takes a piece of the export."""

MESSAGES = frozenset(
    {RecordKind.REQUEST, RecordKind.NOTIFICATION, RecordKind.RESULT, RecordKind.ERROR, RecordKind.BATCH}
)
_TEXTS = MESSAGES | {RecordKind.BROKEN}


class ExportSelection:
    """Selected rows of a trace, in order.

    Secrets are masked on the way out, unless the file has none left (`is_masked`) or the user wants them (`raw`).
    """

    def __init__(
        self,
        index: TraceIndex,
        rows: Sequence[int] | range | None = None,
        *,
        is_masked: bool = True,
        name: str = "trace",
        format_: str = FORMAT,
    ) -> None:
        self.index = index
        self.rows: Sequence[int] | range = range(len(index)) if rows is None else rows
        self.name = name
        """A name for people: the file's."""
        self.format = format_
        """The format of the recording that was given: ours, or that of another tool."""
        self._redactor = None if is_masked else Redactor()

    @property
    def masks(self) -> bool:
        """Whether secrets are masked on the way out."""
        return self._redactor is not None

    def record(self, row: int) -> TraceRecord:
        """The record of a row, masked."""
        record = self.index.record(row)
        if self._redactor is None or record.redacted:
            return record
        if record.type == "note":
            masked = self._redactor.line(record.remark.encode("utf-8", "replace")).decode("utf-8", "replace")
            return record if masked == record.remark else msgspec.structs.replace(record, remark=masked, redacted=True)
        if record.command:
            command = list(self._redactor.command(record.command))
            return (
                record if command == record.command else msgspec.structs.replace(record, command=command, redacted=True)
            )
        if record.type not in ("text", "stderr"):
            return record
        raw = record.raw
        # As when it is recorded: `KEY=value` is a secret in a line that is no JSON.
        is_json = record.type == "text" and self.index.kind(row) != RecordKind.BROKEN
        masked_raw = self._redactor.text(raw, is_json=is_json)
        if masked_raw == raw:
            return record
        content = masked_raw.decode("utf-8", "replace")
        return msgspec.structs.replace(record, content=content, encoding="", redacted=True)

    def masked_text(self, text: str) -> str:
        """A text for people, masked."""
        if self._redactor is None:
            return text
        return self._redactor.text(text.encode("utf-8", "replace"), is_json=False).decode("utf-8", "replace")

    def texts(self) -> Iterator[tuple[int, TraceRecord]]:
        """The texts among the rows, also those that are no messages."""
        kinds = columns_of(self.index).kind
        for row in self.rows:
            if kinds[row] in _TEXTS:
                yield row, self.record(row)

    def count_texts(self) -> int:
        """How many texts there are."""
        kinds = columns_of(self.index).kind
        return sum(kinds[row] in _TEXTS for row in self.rows)

    def span(self) -> tuple[float, float]:
        """The times of the first and the last row that have one; zeros where none has."""
        first = next((row for row in self.rows if self.index.has_time(row)), None)
        if first is None:
            return 0.0, 0.0
        last = next(row for row in reversed(self.rows) if self.index.has_time(row))
        return self.index.time(first), self.index.time(last)


def json_line_of(value: Any) -> str:
    """A JSON value as one line with its end; lone surrogates are escapes."""
    return json_bytes(value).decode() + "\n"


WriteExport: TypeAlias = Callable[[ExportSelection, Put], None]


class ExportFormat(NamedTuple):
    """One format: the place of its writer, and what it is for."""

    module: str
    function: str
    purpose: str

    @property
    def write(self) -> WriteExport:
        """The function that writes it."""
        found: WriteExport = getattr(import_module(self.module), self.function)
        return found


_HOME = "accord.trace.exports"

EXPORTS: dict[str, ExportFormat] = {
    "accord-trace": ExportFormat(f"{_HOME}.traces", "write_accord_trace", "our own format"),
    "acp-inspector-trace": ExportFormat(f"{_HOME}.traces", "write_inspector", "the desktop inspector's contract"),
    "conductor": ExportFormat(f"{_HOME}.traces", "write_conductor", "the conductor's sequence diagrams (.jsons)"),
    "devtools": ExportFormat(f"{_HOME}.traces", "write_devtools", "acp-devtools: its viewer and its mock agent"),
    "otlp": ExportFormat(f"{_HOME}.otlp", "write_otlp", "OTLP/JSON spans, for Jaeger, Tempo and others; no bodies"),
    "md": ExportFormat(f"{_HOME}.markdown", "write_markdown", "Markdown for a person or a model"),
    "pytest": ExportFormat(f"{_HOME}.pytest_file", "write_pytest", "a test that plays the recorded agent"),
    "ndjson": ExportFormat(f"{_HOME}.traces", "write_ndjson", "bare messages; with --from those of one side"),
}
"""Every format that a trace can be written as, by the word for `--as`."""
