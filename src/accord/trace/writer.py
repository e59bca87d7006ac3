"""Writing a trace: lines are appended to a private file, with one write for each read of the wire.

Flushed lines survive the end of this process, also by SIGKILL. A disk that fails costs records, which are counted, and
never raises into the conversation. Old parts are not deleted here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from accord.trace.format import (
    AGENT,
    CLIENT,
    FORMAT,
    VERSION,
    EndRecord,
    HeaderRecord,
    NoteRecord,
    StartRecord,
    StderrRecord,
    TextRecord,
    part_path,
)
from accord.trace.redaction import Redactor
from accord.trace.text_encoder import TextEncoder, content
from accord.version import VERSION as TOOL_VERSION

__all__ = ["TraceWriter"]

_FLAGS = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | os.O_APPEND
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

# Lines that wait for `flush` are written by themselves from this size on.
_BUFFER_BYTES = 256 * 1024

_encode = msgspec.json.Encoder().encode


class TraceWriter:
    """Writes one trace, from any thread.

    The file must not exist; it is made for its owner alone, and no link is followed. `raw` records the bytes as they
    are, secrets included. A record for which a file of `max_bytes` has no room begins a new one (`part_path`); a file
    that is compressed may be larger by one flush, and one with a single record by that record. Records wait until
    `flush`, which is to be called when the texts of one read have been added; `close` flushes too.

    No method raises when the disk fails: `lost` counts the records that are not in the file, and `failure` says why.

    Raises:
        OSError: The file cannot be made: it exists already, for example.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        raw: bool = False,
        max_bytes: int | None = None,
        compress: bool = False,
        command: Sequence[str] = (),
        agent: str = "",
        framing: str = "lines",
    ) -> None:
        self.path: Path = Path(path)
        """The first part."""
        self.part: int = 1
        """The number of the part that is written now."""
        self.texts: int = 0
        """How many texts were recorded, the lost ones included."""
        self.lost: int = 0
        """How many records are not in the file."""
        self.failure: OSError | None = None
        """The first failure of the disk."""
        self._redactor = None if raw else Redactor()
        self._encoder = TextEncoder(self._redactor)
        self._max_bytes = max_bytes
        self._compress = compress
        self._command = self._masked_command(command)
        self._agent = agent
        self._framing = framing
        # Held by every public method that records, around all that it reads and changes below and above: a record gets
        # its time and its place in the file at once.
        self._lock = Lock()
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._written_bytes = 0
        self._epoch = time.time()
        self._start = time.monotonic()
        self._latest = self._epoch
        self._header_bytes = 0
        self._file = self._open(self.path)
        self._begin_part()

    def now(self) -> float:
        """The time for a record: it never runs backwards."""
        return self.time_of(time.monotonic())

    def time_of(self, moment: float) -> float:
        """The time for a record of a moment of `time.monotonic`."""
        return self._epoch + (moment - self._start)

    def text(
        self,
        source: str,
        target: str,
        text: bytes | bytearray,
        *,
        connection: int = 1,
        framing: str | None = None,
        fault: str = "",
        size: int = 0,
        t: float | None = None,
    ) -> None:
        """Record a text that crossed from `source` to `target`, `t` being when it did."""
        with self._lock:
            self.texts += 1
            crossing = self._crossing(source, target, connection, framing, t, fault, size)
            self._put_lines(self._encoder.line(crossing, bytes(text)))

    def batch(
        self,
        source: str,
        target: str,
        texts: Sequence[bytes],
        *,
        connection: int = 1,
        framing: str | None = None,
        t: float | None = None,
    ) -> None:
        """Record the texts of one read, as `text` does each of them."""
        with self._lock:
            self.texts += len(texts)
            self._put_lines(self._encoder.lines(self._crossing(source, target, connection, framing, t), texts))

    def stderr(
        self,
        line: bytes,
        *,
        source: str = AGENT,
        connection: int = 1,
        fault: str = "",
        size: int = 0,
        t: float | None = None,
    ) -> None:
        """Record a line that a program wrote to stderr."""
        shown = line if self._redactor is None else self._redactor.line(line)
        raw, encoding = content(shown)
        with self._lock:
            self._put(
                StderrRecord(
                    t=self._forward(t),
                    connection=connection,
                    source=source,
                    raw=raw,
                    encoding=encoding,
                    fault=fault or ("not-utf8" if encoding else ""),
                    size=size,
                    redacted=shown is not line,
                )
            )

    def note(self, remark: str, *, connection: int = 1) -> None:
        """Record a remark that did not cross the wire."""
        line = remark.encode("utf-8", "replace")
        shown = line if self._redactor is None else self._redactor.line(line)
        redacted = shown is not line
        with self._lock:
            self._put(
                NoteRecord(
                    t=self._forward(None), connection=connection, remark=shown.decode("utf-8"), redacted=redacted
                )
            )

    def start(self, pid: int, command: Sequence[str], *, source: str = AGENT, connection: int = 1) -> None:
        """Record that a program was started."""
        shown = self._masked_command(command)
        with self._lock:
            self._put(
                StartRecord(
                    t=self._forward(None),
                    connection=connection,
                    source=source,
                    pid=pid,
                    command=shown,
                    redacted=self._redactor is not None and shown != tuple(command),
                )
            )

    def end(self, exit_status: int | None, *, source: str = AGENT, connection: int = 1) -> None:
        """Record the end of a program; a negative status is the signal that ended it, None an unknown end."""
        by_signal = exit_status is not None and exit_status < 0
        with self._lock:
            self._put(
                EndRecord(
                    t=self._forward(None),
                    connection=connection,
                    source=source,
                    exit=None if by_signal else exit_status,
                    signal=-exit_status if exit_status is not None and by_signal else None,
                    texts=self.texts,
                    lost=self.lost,
                )
            )

    def lose(self, count: int = 1) -> None:
        """Count records that could not be made."""
        with self._lock:
            self.lost += count

    def flush(self) -> None:
        """Write what was recorded; it is in the file when this returns, unless the disk failed."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Flush and close the file. Records that come later are lost."""
        with self._lock:
            self._flush()
            self._shut()

    def _forward(self, t: float | None) -> float:
        """The time of a record, never before that of the one before it."""
        self._latest = max(self._latest, self.now() if t is None else t)
        return self._latest

    def _crossing(
        self,
        source: str,
        target: str,
        connection: int,
        framing: str | None,
        t: float | None,
        fault: str = "",
        size: int = 0,
    ) -> TextRecord:
        return TextRecord(
            t=self._forward(t),
            connection=connection,
            source=source,
            target=target,
            raw="",
            framing="" if framing is None or framing == self._framing else framing,
            fault=fault,
            size=size,
        )

    def _put(self, record: msgspec.Struct) -> None:
        self._put_lines(_encode(record) + b"\n")

    def _put_lines(self, lines: bytes) -> None:
        self._held.append(lines)
        self._held_bytes += len(lines)
        if self._held_bytes > _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        lines = b"".join(self._held)
        self._held, self._held_bytes = [], 0
        while lines:
            if self._file < 0:
                self.lost += lines.count(b"\n")
                return
            fitting = self._fitting_bytes(lines)
            if fitting:
                self._try_to_write(lines[:fitting])
                lines = lines[fitting:]
            else:
                self._rotate()

    def _fitting_bytes(self, lines: bytes) -> int:
        """How much of the lines this part has room for; one fits into a part without any."""
        if self._max_bytes is None:
            return len(lines)
        room = max(0, self._max_bytes - self._written_bytes)
        if self._gzip is not None:
            # The compressed size is known only afterwards.
            fitting = len(lines) if room else 0
        else:
            fitting = len(lines) if len(lines) <= room else lines.rfind(b"\n", 0, room) + 1
        is_empty = self._written_bytes == self._header_bytes
        return fitting or (lines.find(b"\n") + 1 if is_empty else 0)

    def _try_to_write(self, lines: bytes) -> None:
        try:
            self._write(lines)
        except OSError as error:
            self.failure = self.failure or error

    def _write(self, lines: bytes) -> None:
        data = lines
        if self._gzip is not None:
            import zlib  # noqa: PLC0415 - only with gzip

            data = self._gzip.compress(lines) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            self._take_back(lines, len(data) - len(rest))
            raise
        self._written_bytes += len(data)

    def _take_back(self, lines: bytes, written_bytes: int) -> None:
        """Keep the whole lines of a write that failed: the next line must not be glued to half a line."""
        kept_bytes = 0 if self._gzip is not None else lines.rfind(b"\n", 0, written_bytes) + 1
        self.lost += lines.count(b"\n", kept_bytes)
        self._written_bytes += kept_bytes
        try:
            os.ftruncate(self._file, self._written_bytes)
        except OSError as error:
            self.failure = self.failure or error
        if self._gzip is not None:
            # The compressed stream has a gap now, so nothing can follow it in this file.
            self._shut()

    def _rotate(self) -> None:
        part = self.part + 1
        try:
            file = self._open(part_path(self.path, part))
        except OSError as error:
            # The present part is continued, over its limit.
            self.failure = self.failure or error
            self._max_bytes = None
            return
        self._shut()
        self._file, self.part, self._written_bytes = file, part, 0
        self._begin_part()

    def _shut(self) -> None:
        file, self._file = self._file, -1
        if file < 0:
            return
        try:
            if self._gzip is not None:
                os.write(file, self._gzip.flush())
        except OSError as error:
            self.failure = self.failure or error
        finally:
            os.close(file)

    def _open(self, path: Path) -> int:
        return os.open(path, _FLAGS, 0o600)

    def _begin_part(self) -> None:
        self._gzip: Any = None
        if self._compress:
            import zlib  # noqa: PLC0415 - only with gzip

            self._gzip = zlib.compressobj(wbits=31)
        self._try_to_write(_encode(self._header()) + b"\n")
        self._header_bytes = self._written_bytes

    def _header(self) -> HeaderRecord:
        return HeaderRecord(
            t=self._forward(None),
            format=FORMAT,
            version=VERSION,
            tool=f"accord {TOOL_VERSION}",
            command=self._command,
            cwd=_directory(),
            redacted=self._redactor is not None,
            ends=(CLIENT, AGENT),
            agent=self._agent,
            framing=self._framing,
            part=self.part,
        )

    def _masked_command(self, command: Sequence[str]) -> tuple[str, ...]:
        given = tuple(command) if self._redactor is None else self._redactor.command(command)
        return tuple(argument.encode("utf-8", "replace").decode() for argument in given)


def _directory() -> str:
    try:
        return os.getcwd().encode("utf-8", "replace").decode()  # noqa: PTH109 - pathlib would do the same
    except OSError:
        return ""
