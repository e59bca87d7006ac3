"""The bytes of a file that is imported, in bounded pieces, and the records that importers make of them.

Every importer is a function from a `TraceSource` to records. It never holds more than one line, or one document within
`MAX_DOCUMENT_BYTES`, and raises `TraceFileError` with a sentence for a file that it cannot use.
"""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, TypeAlias, cast

import msgspec

from accord.display import whole
from accord.jsonrpc.plain import plain
from accord.protocol.codec import parse_json
from accord.trace.format import TraceFileError
from accord.trace.reader import TraceRecord

__all__ = [
    "TraceSource",
    "TraceTimes",
    "json_bytes",
    "json_value",
    "note",
    "number_of",
    "refuse",
    "seconds_of_date",
    "stderr",
    "text",
]

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is no message of this protocol; importers refuse the file."""
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
"""A format that is one JSON document is in memory as a whole; a larger one is refused."""
_HEAD_BYTES = 256 * 1024
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"

TraceTimes: TypeAlias = Literal["epoch", "relative", "none"]
"""The meaning of a format's times: seconds since 1970, seconds since the recording began, or equal steps."""
STEP_SECONDS = 0.001
_LARGEST_TIME = 1e15


class TraceSource:
    """A file of another tool; also compressed with gzip."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> IO[bytes]:
        """The bytes, decompressed.

        Raises:
            TraceFileError: The file cannot be opened.
        """
        try:
            with self.path.open("rb") as file:
                is_packed = file.read(len(_GZIP)) == _GZIP
            return cast("IO[bytes]", gzip.open(self.path)) if is_packed else self.path.open("rb")
        except OSError as error:
            raise TraceFileError(f"cannot read {self.path}: {error.strerror or 'it is no file'}") from error

    def head(self) -> bytes:
        """The beginning of the file, without a byte order mark; enough to recognise every format."""
        try:
            with self.path.open("rb") as file:
                data = file.read(_HEAD_BYTES)
        except OSError as error:
            raise TraceFileError(f"cannot read {self.path}: {error.strerror or 'it is no file'}") from error
        if data.startswith(_GZIP):
            try:
                # Not by `gzip`, which refuses a stream whose end is missing, as a killed recorder leaves it.
                data = zlib.decompressobj(wbits=31).decompress(data, _HEAD_BYTES)
            except zlib.error as error:
                raise TraceFileError(f"{self.path} is damaged: its compressed part cannot be read") from error
        return data.removeprefix(_BOM)

    def lines(self) -> Iterator[bytes]:
        """The lines without their ends; empty ones are left out.

        Raises:
            TraceFileError: A line is longer than `MAX_LINE_BYTES`, or the compressed file is damaged.
        """
        with self.open() as file:
            is_first = True
            while line := self._line(file):
                whole = line.rstrip(b"\r\n")
                if is_first:
                    whole, is_first = whole.removeprefix(_BOM), False
                if whole.strip():
                    yield whole

    def _line(self, file: IO[bytes]) -> bytes:
        try:
            line = file.readline(MAX_LINE_BYTES + 1)
        except EOFError:
            return b""  # a compressed file whose end is missing: the lines before it count
        except (OSError, zlib.error) as error:
            raise TraceFileError(f"{self.path} is damaged: its compressed part cannot be read") from error
        if len(line) > MAX_LINE_BYTES:
            raise TraceFileError(
                f"{self.path} has a line of more than {MAX_LINE_BYTES >> 20} MiB; no message is so long"
            )
        return line

    def document(self) -> bytes:
        """The whole file.

        Raises:
            TraceFileError: It is larger than `MAX_DOCUMENT_BYTES`.
        """
        with self.open() as file:
            data = _read(file, MAX_DOCUMENT_BYTES + 1, self.path)
        if len(data) > MAX_DOCUMENT_BYTES:
            raise TraceFileError(
                f"{self.path} is one document of more than {MAX_DOCUMENT_BYTES >> 20} MiB, the limit: export less"
            )
        return data.removeprefix(_BOM)

    def objects(self) -> Iterator[tuple[int, dict[str, Any] | None, bytes]]:
        """The number of each line, its JSON object (None where it is none) and its bytes."""
        for number, line in enumerate(self.lines(), 1):
            value = json_value(line)
            yield number, value if isinstance(value, dict) else None, line


def _read(file: IO[bytes], count: int, path: Path) -> bytes:
    try:
        return file.read(count)
    except (OSError, EOFError, zlib.error) as error:
        raise TraceFileError(f"{path} is damaged: it cannot be read") from error


def refuse(source: TraceSource, reason: str) -> NoReturn:
    """Refuse a file that was recognised and cannot be used.

    Raises:
        TraceFileError: Always.
    """
    raise TraceFileError(f"{source.path} cannot be imported: {reason}")


def json_value(text: bytes) -> Any:
    """The value of a JSON text; None where it is no JSON, and for `null`, which no importer expects."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


def json_bytes(value: Any) -> bytes:
    """The JSON text of a value that was read from JSON, without blanks; lone surrogates stay escapes."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError, OverflowError):
        return json.dumps(plain(value), separators=(",", ":")).encode("ascii")


def number_of(value: Any, default: float) -> float:
    """A number that can be a time; the default for everything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _LARGEST_TIME else default


def seconds_of_date(date: Any) -> float | None:
    """The seconds since 1970 of a date in RFC 3339; None where it is none."""
    if not isinstance(date, str):
        return None
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def text(
    seconds: float,
    source: str,
    target: str,
    raw: bytes,
    *,
    connection: int = 1,
    fault: str = "",
) -> TraceRecord:
    """A text that crossed the wire."""
    content, encoding = _content(raw)
    return TraceRecord(
        type="text",
        t=seconds,
        connection=connection,
        source=source,
        target=target,
        content=content,
        encoding=encoding,
        fault="not-utf8" if encoding else fault,
    )


def note(seconds: float, remark: str, *, connection: int = 1) -> TraceRecord:
    """A remark of the importer or of the tool that recorded."""
    return TraceRecord(type="note", t=seconds, connection=connection, remark=whole(remark))


def stderr(seconds: float, raw: bytes, *, connection: int = 1) -> TraceRecord:
    """A line of the agent's stderr."""
    content, encoding = _content(raw)
    return TraceRecord(
        type="stderr", t=seconds, connection=connection, source="agent", content=content, encoding=encoding
    )


def _content(raw: bytes) -> tuple[str, str]:
    try:
        return raw.decode(), ""
    except UnicodeDecodeError:
        return b64encode(raw).decode(), "base64"
