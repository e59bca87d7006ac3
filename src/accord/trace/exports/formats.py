"""The table of export formats. A writer is imported when it is used: most lines of `accord trace` use none."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, TypeAlias

from accord.trace.exports.selection import ExportSelection, Put

__all__ = ["EXPORTS", "ExportFormat", "WriteExport"]

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
    "conductor": ExportFormat(f"{_HOME}.conductor", "write_conductor", "the conductor's sequence diagrams (.jsons)"),
    "devtools": ExportFormat(f"{_HOME}.traces", "write_devtools", "acp-devtools: its viewer and its mock agent"),
    "otlp": ExportFormat(f"{_HOME}.otlp", "write_otlp", "OTLP/JSON spans, for Jaeger, Tempo and others; no bodies"),
    "md": ExportFormat(f"{_HOME}.markdown", "write_markdown", "Markdown for a person or a model"),
    "pytest": ExportFormat(f"{_HOME}.pytest_file", "write_pytest", "a test that plays the recorded agent"),
    "ndjson": ExportFormat(f"{_HOME}.traces", "write_ndjson", "bare messages; with --from those of one side"),
}
"""Every format that a trace can be written as, by the word for `--as`."""
