"""Traces: the wire in a file. The format `accord-trace`, its writer and reader, masking of secrets, tap and replay.

Its modules are loaded at their first use: `accord tap` must not delay the start of an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports

if TYPE_CHECKING:
    from accord.trace.conversion import (
        CopyProgress as CopyProgress,
        PlainTrace as PlainTrace,
        plain_trace as plain_trace,
    )
    from accord.trace.fold import (
        transcript_at as transcript_at,
    )
    from accord.trace.format import (
        TraceFileError as TraceFileError,
    )
    from accord.trace.imports.source import (
        TraceTimes as TraceTimes,
    )
    from accord.trace.index import (
        IndexProgress as IndexProgress,
        RowFilter as RowFilter,
        TraceIndex as TraceIndex,
    )
    from accord.trace.index_columns import (
        RecordKind as RecordKind,
    )
    from accord.trace.reader import (
        Trace as Trace,
        TraceRecord as TraceRecord,
        open_trace as open_trace,
    )
    from accord.trace.writer import (
        TraceWriter as TraceWriter,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.trace.conversion": "CopyProgress PlainTrace plain_trace",
            "accord.trace.fold": "transcript_at",
            "accord.trace.format": "TraceFileError",
            "accord.trace.imports.source": "TraceTimes",
            "accord.trace.index": "IndexProgress RowFilter TraceIndex",
            "accord.trace.index_columns": "RecordKind",
            "accord.trace.reader": "Trace TraceRecord open_trace",
            "accord.trace.writer": "TraceWriter",
        },
    )
