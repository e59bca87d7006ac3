"""Recording of streams of bytes: cuts them into texts and lines, and hands these to a `TraceWriter`.

It gets the bytes after they were forwarded. A failure here is reported once and its records are counted as lost; it
never reaches the conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from accord.trace.format import AGENT
from accord.wire.auto import AutoReader
from accord.wire.headers import HeaderReader
from accord.wire.lines import LineReader
from accord.wire.reader import DEFAULT_MAX_BYTES

if TYPE_CHECKING:
    from accord.trace.writer import TraceWriter
    from accord.wire.reader import Reader

__all__ = ["LineRecorder", "SafeRecorder", "TextRecorder"]

# How much is kept of a text that is too long to be recorded.
CUT_BYTES = 4096


class _Recorder:
    """Cuts one stream; a text over `max_bytes` is recorded as its begin and its size, and the stream goes on."""

    def __init__(self, writer: TraceWriter, connection: int, max_bytes: int) -> None:
        self._writer = writer
        self._connection = connection
        self._max_bytes = max_bytes
        self._reader = self._new_reader()
        self._begin = b""
        self._skipped_bytes = 0

    def feed(self, data: bytes, moment: float | None = None) -> None:
        """Record what `data` completes; `moment` is when it was read. It is in the file when the writer was flushed."""
        t = self._writer.now() if moment is None else self._writer.time_of(moment)
        # No slice can hold more than the end of one text over the limit.
        for at in range(0, len(data), self._max_bytes):
            self._feed(data if len(data) <= self._max_bytes else data[at : at + self._max_bytes], t)

    def finish(self) -> None:
        """Record the rest of a stream that has ended."""
        t = self._writer.now()
        if self._skipped_bytes:
            self._put_cut(t)
        for text in self._reader.finish():
            self._put(text, t, "no-newline-at-end" if self._reader.framing != "headers" else "")

    def _feed(self, data: bytes, t: float) -> None:
        if self._skipped_bytes:
            end = data.find(b"\n")
            if end < 0:
                self._skipped_bytes += len(data)
                return
            self._skipped_bytes += end
            self._put_cut(t)
            data = data[end + 1 :]
        before = self._reader.pending_bytes
        texts = self._reader.feed(data)
        if texts:
            self._put_all(texts, t)
        if self._reader.fault is None:
            self._keep_begin(data)
        else:
            self._skip(data, before, t)

    def _keep_begin(self, data: bytes) -> None:
        pending = self._reader.pending_bytes
        if not pending:
            self._begin = b""
        elif pending <= len(data):
            self._begin = data[len(data) - pending :][:CUT_BYTES]
        elif len(self._begin) < CUT_BYTES:
            self._begin += data[: CUT_BYTES - len(self._begin)]

    def _skip(self, data: bytes, before: int, t: float) -> None:
        """A text over the limit: go on behind it."""
        self._begin = self._begin or data[:CUT_BYTES]
        is_headers = self._reader.framing == "headers"
        self._reader = self._new_reader(self._reader)
        self._skipped_bytes = before
        if is_headers:
            # The end of its body is unknown now: the next header is looked for.
            self._skipped_bytes += len(data)
            self._put_cut(t)
        else:
            self._skipped_bytes = max(before, 1)
            self._feed(data, t)

    def _put_cut(self, t: float) -> None:
        begin, size = self._begin, self._skipped_bytes
        self._begin, self._skipped_bytes = b"", 0
        self._put(begin, t, "too-long", size)

    def _put_all(self, texts: list[bytes], t: float) -> None:
        for text in texts:
            self._put(text, t)

    def _put(self, text: bytes, t: float, fault: str = "", size: int = 0) -> None:
        raise NotImplementedError

    def _new_reader(self, former: Reader | None = None) -> Reader:
        raise NotImplementedError


class TextRecorder(_Recorder):
    """Records the texts of one direction, in the framing that its first bytes show."""

    def __init__(
        self,
        writer: TraceWriter,
        source: str,
        target: str,
        *,
        connection: int = 1,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._source = source
        self._target = target
        super().__init__(writer, connection, max_bytes)

    def _put_all(self, texts: list[bytes], t: float) -> None:
        framing = self._reader.framing
        self._writer.batch(self._source, self._target, texts, connection=self._connection, framing=framing, t=t)

    def _put(self, text: bytes, t: float, fault: str = "", size: int = 0) -> None:
        self._writer.text(
            self._source,
            self._target,
            text,
            connection=self._connection,
            framing=self._reader.framing,
            fault=fault,
            size=size,
            t=t,
        )

    def _new_reader(self, former: Reader | None = None) -> Reader:
        framing = None if former is None else former.framing
        if framing == "lines":
            return LineReader(self._max_bytes)
        return HeaderReader(self._max_bytes) if framing == "headers" else AutoReader(self._max_bytes, self._use)

    def _use(self, reader: Reader) -> None:
        self._reader = reader


class LineRecorder(_Recorder):
    """Records the lines of a program's stderr."""

    def __init__(
        self, writer: TraceWriter, source: str = AGENT, *, connection: int = 1, max_bytes: int = 1024 * 1024
    ) -> None:
        self._source = source
        super().__init__(writer, connection, max_bytes)

    def _put(self, text: bytes, t: float, fault: str = "", size: int = 0) -> None:
        self._writer.stderr(text, source=self._source, connection=self._connection, fault=fault, size=size, t=t)

    def _new_reader(self, former: Reader | None = None) -> Reader:  # noqa: ARG002 - stderr has no other framing
        return LineReader(self._max_bytes)


class SafeRecorder:
    """A recorder that cannot harm its caller: the first failure is reported, and later data is counted as lost."""

    def __init__(self, recorder: _Recorder, writer: TraceWriter, report: Callable[[str], None]) -> None:
        self._recorder = recorder
        self._writer = writer
        self._report = report
        self._has_crashed = False

    def feed(self, data: bytes, moment: float | None = None) -> None:
        """Record what `data` completes; never raises."""
        self._guarded(lambda: self._recorder.feed(data, moment))

    def finish(self) -> None:
        """Record the rest of a stream that has ended; never raises."""
        self._guarded(self._recorder.finish)

    def _guarded(self, work: Callable[[], None]) -> None:
        if self._has_crashed:
            self._writer.lose()
            return
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the conversation goes on, whatever the recorder does
            self._has_crashed = True
            self._writer.lose()
            self._report(f"the recorder failed ({type(error).__name__}); the conversation goes on without it")

    def flush(self) -> None:
        """Write what was recorded of all streams of this writer; never raises. A disk that fails is reported."""
        try:
            self._writer.flush()
        except Exception as error:  # noqa: BLE001 - as above
            self._report(f"the recorder failed ({type(error).__name__}); the conversation goes on without it")
        failure = self._writer.failure
        if failure is not None:
            self._report(f"{self._writer.path} cannot be written: {failure.strerror}; the conversation goes on")
