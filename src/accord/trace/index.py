"""The index of a trace: any message by its number, requests with their answers, and filters, without reading the file.

`TraceIndex.open` reads the index that is kept beside the trace (`FILE.idx`), adds the lines since, and keeps those too.
It works beside a live writer: `update` takes the lines that were completed since the last call. Rows count from 0 and
are the lines of the file; a line that is not complete yet is not among them.
"""

from __future__ import annotations

import json
import re
from array import array
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeAlias

import msgspec

from accord.trace.format import TraceFileError
from accord.trace.index_columns import FAULT, MAX_SECONDS, NO_PARTNER, IndexColumns, RecordKind
from accord.trace.index_file import IndexFile, KeptState
from accord.trace.reader import TraceRecord, native_record

__all__ = ["IndexProgress", "RowFilter", "TraceIndex", "columns_of", "message_at"]

IndexProgress: TypeAlias = Callable[[int, int], None]
"""Called while lines are indexed, with the bytes that are done and all bytes."""

CHUNK_BYTES = 1024 * 1024
MAX_LINE_BYTES = 512 * 1024 * 1024
"""A message has at most 64 MiB; escaped as a string, and as base64, it is longer."""


# No recording is silent for so long before its second record: a later first time is one since 1970.
_LONGEST_SECONDS = 365 * 86400.0


class RowFilter(NamedTuple):
    """Rows that a reader wants: every part that is given must hold."""

    session: str = ""
    method: str = ""
    """A method or a kind of update, whole or with `*` at its end."""
    grep: re.Pattern[str] | None = None
    """Found in the text as it crossed."""
    source: str = ""
    """The end that sent it."""
    errors: bool = False
    """Error answers and texts that are faulty."""


class TraceIndex:
    """The index of one trace file, in memory; closed with `close`, or as a context manager.

    The file is a plain `accord-trace`, not compressed: `accord.trace.conversion.plain_trace` makes one of anything.
    """

    def __init__(self, path: Path, *, keep: bool = True) -> None:
        self.path: Path = path
        """The trace."""
        self._keep = keep
        self._kept: KeptState | None = None
        self._columns = IndexColumns()
        self._end = 0
        self._block, self._block_at = b"", 0
        self._begin, self._looked_at = 0.0, 0
        self._file_kept = IndexFile(path)
        try:
            self._file: IO[bytes] = path.open("rb", buffering=0)
        except OSError as error:
            raise TraceFileError(f"cannot read {path}: {error.strerror}") from error

    @classmethod
    def open(cls, path: Path, *, keep: bool = True, progress: IndexProgress | None = None) -> TraceIndex:
        """The index of a trace, up to date; with `keep` it is kept beside the trace for the next time.

        A folder that cannot be written to is no error: the index is then made again each time.

        Raises:
            TraceFileError: The file cannot be read, or has a line of more than `MAX_LINE_BYTES`.
        """
        index = cls(path, keep=keep)
        found = index._file_kept.read() if keep else None
        if found is not None:
            index._kept, index._columns = found
            index._end = found[0].end
        try:
            index.update(progress)
        except BaseException:
            index.close()
            raise
        return index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Keep the index, and close the file."""
        if not self._file.closed:
            self.save()
            self._file.close()

    def save(self) -> bool:
        """Keep the rows that are not kept yet; whether they are kept now."""
        if not self._keep or not self._end:
            return False
        if self._kept is not None and self._kept.end == self._end:
            return True
        kept = self._file_kept.write(self._columns, self._kept, self._end)
        self._kept = kept if kept is not None else self._kept
        return kept is not None

    def update(self, progress: IndexProgress | None = None) -> int:
        """Index the lines that were completed since the last time; returns how many."""
        before = len(self._columns)
        file = self._file
        total = self.path.stat().st_size
        file.seek(self._end)
        rest = bytearray()
        is_started = self._kept is not None
        while chunk := file.read(CHUNK_BYTES):
            cut = chunk.rfind(b"\n")
            if cut < 0:
                rest += chunk
                if len(rest) > MAX_LINE_BYTES:
                    raise TraceFileError(
                        f"{self.path} has a line of more than {MAX_LINE_BYTES >> 20} MiB: it is no trace"
                    )
                continue
            lines = bytes(rest + chunk[:cut]).split(b"\n")
            rest = bytearray(chunk[cut + 1 :])
            self._end = self._columns.add(lines, self._end)
            if progress is not None:
                progress(self._end, total)
        if len(self._columns) > before and (not is_started or len(self._columns) - before > _SAVED_ROWS):
            self.save()
        return len(self._columns) - before

    # --- rows

    def __len__(self) -> int:
        return len(self._columns)

    def line(self, row: int) -> bytes:
        """The line of a row, as it is in the file."""
        length = self._columns.length[row]
        start = self._columns.offset[row] - self._block_at
        if start < 0 or start + length > len(self._block):
            # Neighbours are mostly read next: a filter that reads every line takes half of the time with this.
            start, self._block_at = 0, self._columns.offset[row]
            self._file.seek(self._block_at)
            self._block = self._file.read(max(length, _BLOCK_BYTES))
        return self._block[start : start + length]

    def record(self, row: int) -> TraceRecord:
        """The record of a row; a time or an encoding that is none is left out."""
        return _readable(native_record(self.line(row)))

    def records(self, rows: Iterable[int] | None = None) -> Iterator[tuple[int, TraceRecord]]:
        """Rows with their records, in order; all of them unless given."""
        for row in range(len(self)) if rows is None else rows:
            yield row, self.record(row)

    def kind(self, row: int) -> RecordKind:
        """The kind of a record."""
        return RecordKind(self._columns.kind[row])

    def time(self, row: int) -> float:
        """When it crossed; 0 where the record has no time."""
        return self._columns.time[row]

    @property
    def begin(self) -> float:
        """The time of the first record that has one; 0 where the times count from the begin of the recording."""
        times = self._columns.time
        while not self._begin and self._looked_at < len(times):
            self._begin = times[self._looked_at]
            self._looked_at += 1
        counts_from_zero = self._looked_at > 1 and self._begin < _LONGEST_SECONDS
        return 0.0 if counts_from_zero else self._begin

    def has_time(self, row: int) -> bool:
        """Whether the record of a row has a time."""
        return bool(self._columns.time[row]) or not self.begin

    def method(self, row: int) -> str:
        """The method; of an answer, that of its request. Empty where it is unknown."""
        return self._columns.state.words[self._columns.method[row]]

    def session(self, row: int) -> str:
        """The session that it names; of an answer, that of its request, and of an opening, the one that was opened."""
        return self._columns.state.words[self._columns.session[row]]

    def update_kind(self, row: int) -> str:
        """The kind of update that a notification brings; empty for others."""
        return self._columns.state.words[self._columns.update[row]]

    def ends(self, row: int) -> tuple[str, str]:
        """The sender and the receiver; the receiver is empty where there is none."""
        return self._columns.state.ends[self._columns.direction[row]]

    def connection(self, row: int) -> int:
        """The number of the connection."""
        return self._columns.connection[row]

    def size(self, row: int) -> int:
        """The size of the text on the wire, in bytes."""
        return self._columns.size[row]

    def has_fault(self, row: int) -> bool:
        """Whether the text is marked as faulty, or is no message."""
        return bool(self._columns.flags[row] & FAULT)

    def partner(self, row: int) -> int | None:
        """The row of the answer to a request, or of the request of an answer; None where there is none (yet)."""
        partner = self._columns.partner[row]
        return None if partner == NO_PARTNER or partner >= len(self) else partner

    def latency(self, row: int) -> float | None:
        """The seconds between a request and this answer; None for everything else, and where one has no time."""
        if self._columns.kind[row] not in (RecordKind.RESULT, RecordKind.ERROR):
            return None
        asked = self.partner(row)
        if asked is None or not (self.has_time(row) and self.has_time(asked)):
            return None
        return self._columns.time[row] - self._columns.time[asked]

    @property
    def sessions(self) -> list[str]:
        """The sessions, in the order in which they appear."""
        return [self._columns.state.words[number] for number in dict.fromkeys(self._columns.session) if number]

    # --- filters

    def select(self, wanted: RowFilter, start: int = 0) -> Iterable[int]:
        """The rows from `start` on that a filter wants, in order."""
        columns = self._columns
        rows: Iterable[int] = range(start, len(self))
        if wanted.session:
            number = columns.state.word_id(wanted.session)
            rows = _where(rows, columns.session, set() if number is None else {number})
        if wanted.method:
            numbers = self._named(wanted.method)
            methods, updates = columns.method, columns.update
            rows = [row for row in rows if methods[row] in numbers or updates[row] in numbers]
        if wanted.source:
            ends = {number for number, pair in enumerate(columns.state.ends) if pair[0] == wanted.source}
            rows = _where(rows, columns.direction, ends)
        if wanted.errors:
            kinds, flags = columns.kind, columns.flags
            rows = [row for row in rows if kinds[row] == RecordKind.ERROR or flags[row] & FAULT]
        if wanted.grep is not None:
            search = wanted.grep.search
            rows = [row for row in rows if search(self._text(row))]
        return rows

    def _named(self, name: str) -> set[int]:
        words = self._columns.state.words
        if name.endswith("*"):
            return {number for number, word in enumerate(words) if word and word.startswith(name[:-1])}
        number = self._columns.state.word_id(name)
        return set() if number is None else {number}

    def _text(self, row: int) -> str:
        line = self.line(row)
        try:
            found = _decode_raw(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _salvaged_text(line)
        if found.enc == "base64":
            return _from_base64(found.raw)
        return found.raw or found.text


_BLOCK_BYTES = 64 * 1024
_SAVED_ROWS = 10_000
"""An index that grew by less is kept when it is closed."""


class _RawLine(msgspec.Struct, gc=False):
    raw: str = ""
    text: str = ""
    enc: str | None = None


_decode_raw = msgspec.json.Decoder(_RawLine).decode


def _readable(record: TraceRecord) -> TraceRecord:
    if abs(record.t) >= MAX_SECONDS:
        record.t = 0.0
    if record.encoding:
        try:
            record.raw  # noqa: B018 - decoding is the test
        except ValueError:
            record.encoding = ""
    return record


def _where(rows: Iterable[int], column: array[int], numbers: set[int]) -> list[int]:
    return [row for row in rows if column[row] in numbers] if numbers else []


def _salvaged_text(line: bytes) -> str:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return line.decode("utf-8", "replace")
    raw = value.get("raw") if isinstance(value, dict) else None
    return raw if isinstance(raw, str) else ""


def _from_base64(raw: str) -> str:
    try:
        return b64decode(raw).decode("utf-8", "replace")
    except ValueError:
        return raw


def columns_of(index: TraceIndex) -> IndexColumns:
    """The columns of an index, for whole passes: read them, do not change them."""
    return index._columns  # noqa: SLF001 - one module


def message_at(path: Path, row: int) -> TraceRecord | None:
    """One record by the index that is kept, without loading it; None where the index has no such row."""
    place = IndexFile(path).read_place(row)
    if place is None:
        return None
    with path.open("rb", buffering=0) as trace:
        trace.seek(place[0])
        return _readable(native_record(trace.read(place[1])))
