"""Reading a trace: records in the order of the wire, each with its place in the file.

Gzip is recognised, continued files (`part_path`) are followed, and a last line that is not whole is left out: the file
may still grow, or its writer was killed. Lines that are no records are given as records of the type `unreadable`.

Besides `accord-trace` it reads two simpler formats: the lines of `accord run -o wire`, and `{t, dir, msg}`.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from accord.trace.format import AGENT, CLIENT, FORMAT, TraceFileError, check_version, part_path

__all__ = ["Trace", "TraceRecord", "open_trace"]

_CHUNK_BYTES = 1024 * 1024
MAX_LINE_BYTES = 256 * 1024 * 1024
"""The largest message, with its escapes, is shorter; of a longer line the beginning is kept, which is no record."""
_BEGINNING_BYTES = 64 * 1024
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class TraceRecord(
    msgspec.Struct,
    kw_only=True,
    rename={
        "connection": "conn",
        "source": "from",
        "target": "to",
        "content": "raw",
        "encoding": "enc",
        "remark": "text",
    },
):
    """One record of a trace. Fields that a type does not have are empty."""

    type: str = ""
    """`header`, `text`, `stderr`, `note`, `start`, `end`, or `unreadable` for a line that is no record."""
    t: float = 0.0
    """Seconds since 1970."""
    connection: int = 1
    source: str = ""
    """The sender: `client`, `agent`, `proxy:0` and so on; `?` where that is not known."""
    target: str = ""
    content: str = ""
    """The text as the file has it; see `raw`."""
    encoding: str = ""
    framing: str = ""
    fault: str = ""
    """`not-json`, `too-deep`, `not-utf8`, `too-long`, `no-newline-at-end`, or empty."""
    size: int = 0
    """The size in bytes of a text that is cut."""
    redacted: bool = False
    remark: str = ""
    """The text of a note."""
    pid: int = 0
    command: list[str] = []
    exit: int | None = None
    signal: int | None = None
    texts: int = 0
    lost: int = 0
    format: str = ""
    version: int = 0
    tool: str = ""
    agent: str = ""
    cwd: str = ""
    ends: list[str] = []
    part: int = 1
    """The part of the trace that has this record."""
    offset: int = -1
    """Where its line begins in that part, in bytes without compression."""
    length: int = 0
    """The size of its line in bytes."""

    @property
    def raw(self) -> bytes:
        """The bytes as they crossed the wire."""
        if self.encoding == "base64":
            return b64decode(self.content)
        return self.content.encode("utf-8", "surrogatepass")


_decode_record = msgspec.json.Decoder(TraceRecord).decode


def native_record(line: bytes) -> TraceRecord:
    """A line of the format `accord-trace`."""
    try:
        return _decode_record(line)
    except (ValueError, RecursionError):
        return unreadable(line)


def unreadable(line: bytes) -> TraceRecord:
    """The record for a line that is none."""
    return TraceRecord(type="unreadable", content=line.decode("utf-8", "replace"))


class Trace:
    """A trace in a file, which may still grow. Each iteration reads it from its beginning."""

    def __init__(self, path: Path, parse: Callable[[bytes], TraceRecord], header: TraceRecord | None = None) -> None:
        self.path: Path = path
        """The first part."""
        self.header: TraceRecord = header or TraceRecord(type="header")
        """The first record; empty where the file has none."""
        self._parse = parse

    def __iter__(self) -> Iterator[TraceRecord]:
        for part, path in enumerate(self.parts(), 1):
            yield from self.records(path, part)

    def parts(self) -> list[Path]:
        """The files of this trace that exist now."""
        found = [self.path]
        while (following := part_path(self.path, len(found) + 1)).is_file():
            found.append(following)
        return found

    def records(self, path: Path, part: int = 1, offset: int = 0) -> Iterator[TraceRecord]:
        """The records of one part from an offset on, which must be the begin of a line."""
        parse = self._parse
        for at, line in lines_of(path, offset):
            record = parse(line)
            record.part, record.offset, record.length = part, at, len(line)
            yield record

    def texts(self, connection: int | None = None) -> Iterator[TraceRecord]:
        """The texts alone, of one connection or of all."""
        for record in self:
            if record.type == "text" and connection in {None, record.connection}:
                yield record


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Open a trace; its format is recognised by its first line.

    Raises:
        TraceFileError: It is no trace, or of a newer version.
        OSError: The file cannot be read.
    """
    place = Path(path)
    first = next((line for _, line in lines_of(place, 0, whole=False) if line.strip()), b"")
    try:
        opening = msgspec.json.decode(first)
    except (ValueError, RecursionError):
        opening = None
    if isinstance(opening, dict):
        if opening.get("format") == FORMAT:
            check_version(place, opening.get("version"))
            return Trace(place, native_record, native_record(first))
        if "t" in opening and "dir" in opening and ("raw" in opening or "msg" in opening):
            return Trace(place, wire_record)
    raise TraceFileError(f"{place} is no trace that Accord knows: its first line has no `format`")


_ENDS = {
    "out": (CLIENT, AGENT),
    "in": (AGENT, CLIENT),
    "c>a": (CLIENT, AGENT),
    "a>c": (AGENT, CLIENT),
}


def wire_record(line: bytes) -> TraceRecord:
    """A line of `accord run -o wire` (`raw`), or one with the message as an object (`msg`)."""
    try:
        given = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return unreadable(line)
    if not isinstance(given, dict) or not isinstance(given.get("t"), int | float):
        return unreadable(line)
    t, direction = float(given["t"]), given.get("dir")
    connection = given.get("conn", 1)
    record = TraceRecord(t=t, connection=connection if isinstance(connection, int) else 1)
    content = given["raw"] if "raw" in given else given.get("msg")
    shown = content if isinstance(content, str) else msgspec.json.encode(content).decode()
    if isinstance(direction, str) and direction in _ENDS:
        record.type, record.content = "text", shown
        record.source, record.target = _ENDS[direction]
    elif direction == "err":
        record.type, record.content, record.source = "stderr", shown, AGENT
    else:
        record.type, record.remark = "note", shown
    return record


def lines_of(path: Path, offset: int = 0, *, whole: bool = True) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their offsets, without their ends; blank ones are left out.

    So is a last one without its end, unless `whole` is false. Of a line of more than `MAX_LINE_BYTES` the beginning is
    given. A byte order mark, which some editors put before a file that they save, is no part of the first line.
    """
    with path.open("rb") as file:
        at, held, held_bytes = offset or _mark_bytes(file), bytearray(), 0
        for chunk in _unpacked(file, at):
            lines = chunk.split(b"\n")
            rest = lines.pop()
            for line in lines:
                size_bytes = held_bytes + len(line)
                if held_bytes:
                    held += line
                    yield at, bytes(held if size_bytes <= MAX_LINE_BYTES else held[:_BEGINNING_BYTES])
                    held, held_bytes = bytearray(), 0
                elif line:
                    yield at, line
                at += size_bytes + 1
            held += rest
            held_bytes += len(rest)
            if held_bytes > MAX_LINE_BYTES:
                del held[_BEGINNING_BYTES:]
        if held and not whole:
            yield at, bytes(held)


def _mark_bytes(file: BinaryIO) -> int:
    """The size of the byte order mark at the beginning of a file; 0 where it has none."""
    start = next(_unpacked(file, 0), b"")
    file.seek(0)
    return len(_BOM) if start.startswith(_BOM) else 0


def _unpacked(file: BinaryIO, offset: int) -> Iterator[bytes]:
    is_packed = file.read(len(_GZIP)) == _GZIP
    if not is_packed:
        file.seek(offset)
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
        return
    file.seek(0)
    for chunk in _inflated(file):
        skipped = min(offset, len(chunk))
        offset -= skipped
        if skipped < len(chunk):
            yield chunk[skipped:]


def _inflated(file: BinaryIO) -> Iterator[bytes]:
    """The content of a compressed file in bounded pieces, as far as it is not damaged; joined files are one."""
    import zlib  # noqa: PLC0415 - only with gzip

    stream, packed = zlib.decompressobj(wbits=31), b""
    while packed := packed or file.read(_CHUNK_BYTES):
        try:
            yield stream.decompress(packed, _CHUNK_BYTES)  # bounded: a few bytes may expand to very many
        except zlib.error:
            return
        packed = stream.unconsumed_tail
        if stream.eof:
            stream, packed = zlib.decompressobj(wbits=31), stream.unused_data
    yield stream.flush()
