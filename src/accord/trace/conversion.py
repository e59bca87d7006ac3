"""Any recording as one plain file of the format `accord-trace`, which an index can be made of.

A trace of ours that is one uncompressed file is used as it is. Everything else is copied into a private temporary file
first: compressed files, traces in several parts, and recordings of other tools.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import msgspec

from accord.trace.format import AGENT, CLIENT, FORMAT, VERSION, HeaderRecord, TraceFileError
from accord.trace.imports.recognition import IMPORTERS, NATIVE, recognise
from accord.trace.imports.source import TraceSource, TraceTimes
from accord.trace.reader import Trace, TraceRecord, lines_of, open_trace
from accord.version import VERSION as TOOL_VERSION

__all__ = ["CopyProgress", "PlainTrace", "plain_trace"]

CopyProgress: TypeAlias = Callable[[int], None]
"""Called while a recording is copied, with the number of records."""

_PROGRESS_RECORDS = 2_000
_KEYS: dict[str, tuple[str, ...]] = {
    "text": ("conn", "from", "to", "raw"),
    "stderr": ("conn", "from", "raw"),
    "note": ("conn", "text"),
}


class PlainTrace(NamedTuple):
    """A plain trace file, and what is known of the recording it was made of."""

    path: Path
    format: str
    """`accord-trace`, or the name of an imported format."""
    is_original: bool
    """Whether the path is the file that was given, and not a copy that will be removed."""
    redacted: bool
    """Whether secrets were masked when it was recorded."""
    times: TraceTimes
    verbatim: bool
    """Whether texts are those of the wire, to the byte."""


def native_line(record: TraceRecord) -> bytes:
    """A text, a line of stderr or a note as a line of the format, with its line end."""
    value: dict[str, Any] = {"type": record.type, "t": record.t}
    fields = msgspec.to_builtins(record)
    for key in _KEYS[record.type]:
        value[key] = fields[key]
    for key in ("enc", "framing", "fault", "size", "redacted"):
        if fields[key]:
            value[key] = fields[key]
    return msgspec.json.encode(value) + b"\n"


@contextmanager
def plain_trace(path: Path, progress: CopyProgress | None = None, *, is_joined: bool = True) -> Iterator[PlainTrace]:
    """A recording in any known format as a plain trace file; a copy is removed at the end.

    A trace in several parts is joined to one copy, except where `is_joined` is False: then it is the first part.

    Raises:
        TraceFileError: It is in no known format, or of a newer version, or damaged.
    """
    try:
        found, lines = _opened(path, is_joined=is_joined)
    except OSError as error:
        raise TraceFileError(f"cannot read {path}: {error.strerror or 'it is no file'}") from error
    if found.is_original:
        yield found
        return
    folder = Path(tempfile.mkdtemp(prefix="accord-trace-"))
    try:
        copy = folder / "trace.jsonl"
        with open(copy, "xb", opener=_private) as file:
            _copy(lines, file, progress)
        yield found._replace(path=copy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _opened(path: Path, *, is_joined: bool) -> tuple[PlainTrace, Iterable[bytes]]:
    """The facts of a recording, and its lines in our format where it must be copied."""
    name = recognise(path)
    if name != NATIVE:
        row = IMPORTERS[name]
        facts: dict[str, Any] = {"redacted": False, "times": row.times, "verbatim": row.verbatim}
        return PlainTrace(path, name, is_original=False, **facts), _imported(path, name)
    trace = open_trace(path)
    is_plain = (not is_joined or len(trace.parts()) == 1) and not _needs_copy(path)
    facts = {"redacted": trace.header.redacted, **_facts(trace.header)}
    return PlainTrace(path, NATIVE, is_original=is_plain, **facts), _lines(trace)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _needs_copy(path: Path) -> bool:
    """Whether its lines are not those of the file: it is compressed, or begins with a byte order mark."""
    with path.open("rb") as file:
        return file.read(3).startswith((b"\x1f\x8b", b"\xef\xbb\xbf"))


def _facts(header: TraceRecord) -> dict[str, Any]:
    """The times and the fidelity of a trace, which its header names where it was imported once."""
    times: TraceTimes = "epoch"
    verbatim = True
    if header.tool.endswith(")"):
        name = header.tool.rpartition("(from ")[2].rstrip(")")
        if name in IMPORTERS:
            times, verbatim = IMPORTERS[name].times, IMPORTERS[name].verbatim
    return {"times": times, "verbatim": verbatim}


def _lines(trace: Trace) -> Iterator[bytes]:
    for part in trace.parts():
        for _, line in lines_of(part):
            yield line + b"\n"


def imported_header(name: str, seconds: float) -> bytes:
    """The header of a trace that was made of another tool's recording."""
    header = HeaderRecord(
        t=seconds,
        format=FORMAT,
        version=VERSION,
        tool=f"accord {TOOL_VERSION} (from {name})",
        command=(),
        cwd="",
        redacted=False,
        ends=(CLIENT, AGENT),
    )
    return msgspec.json.encode(header) + b"\n"


def _imported(path: Path, name: str) -> Iterator[bytes]:
    records = IMPORTERS[name].read(TraceSource(path))
    first = next(records, None)
    yield imported_header(name, 0.0 if first is None else first.t)
    if first is not None:
        yield native_line(first)
    for record in records:
        yield native_line(record)


def _copy(lines: Iterable[bytes], file: BinaryIO, progress: CopyProgress | None) -> None:
    for count, line in enumerate(lines, 1):
        file.write(line)
        if progress is not None and count % _PROGRESS_RECORDS == 0:
            progress(count)
