"""The table of export formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from accord.trace.exports.conductor import write_conductor
from accord.trace.exports.markdown import write_markdown
from accord.trace.exports.otlp import write_otlp
from accord.trace.exports.selection import ExportSelection, Put
from accord.trace.exports.traces import write_accord_trace, write_devtools, write_inspector, write_ndjson

__all__ = ["EXPORTS", "ExportFormat"]


class ExportFormat(NamedTuple):
    """One format: its writer, and what it is for."""

    write: Callable[[ExportSelection, Put], None]
    purpose: str


EXPORTS: dict[str, ExportFormat] = {
    "accord-trace": ExportFormat(write_accord_trace, "our own format"),
    "acp-inspector-trace": ExportFormat(write_inspector, "the desktop inspector's documented contract"),
    "conductor": ExportFormat(write_conductor, "the conductor's viewer of sequence diagrams (.jsons)"),
    "devtools": ExportFormat(write_devtools, "acp-devtools: its viewer and its mock agent"),
    "otlp": ExportFormat(write_otlp, "OTLP/JSON spans, for Jaeger, Tempo, Phoenix and others; no bodies"),
    "md": ExportFormat(write_markdown, "Markdown for a person or a model"),
    "ndjson": ExportFormat(write_ndjson, "bare messages; with --from those of one side"),
}
"""Every format that a trace can be written as, by the word for `--as`."""
