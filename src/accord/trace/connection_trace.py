"""Recording of our own connections: a transport that hands each text to a `TraceWriter`, as it crosses.

It records the texts of the transport below it, so a dialect is recorded as it is on the wire. The first failure of a
recorder is logged, texts that it could not record are counted as lost, and the conversation goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from accord.errors import TransportError
from accord.trace.format import AGENT, CLIENT
from accord.trace.new_file import create_writer
from accord.trace.recording import LineRecorder, SafeRecorder
from accord.trace.writer import TraceWriter
from accord.transport.interface import Transport

__all__ = ["ConnectionRecorder", "ConnectionTrace", "RecordedTransport"]

log = logging.getLogger("accord.trace")


class ConnectionTrace:
    """The trace of one agent's connections, one after the other or side by side: each has its number.

    A path becomes a file when the first connection begins, and `close` closes it; a writer that was given stays open.
    """

    def __init__(self, trace: str | os.PathLike[str] | TraceWriter) -> None:
        self._path = None if isinstance(trace, TraceWriter) else os.fspath(trace)
        self._writer = trace if isinstance(trace, TraceWriter) else None
        self._count = 0

    def begin(self, command: Sequence[str] = ()) -> ConnectionRecorder:
        """The recorder of a new connection.

        Raises:
            OSError: The file cannot be made.
        """
        writer = self.open(command)
        self._count += 1
        return ConnectionRecorder(writer, self._count)

    def open(self, command: Sequence[str] = ()) -> TraceWriter:
        """Make the file, if there is none yet; `command` is the agent's.

        Raises:
            OSError: It cannot be made.
        """
        if self._writer is None:
            self._writer = create_writer(self._path or "", command=command)
            # A client that is dropped without `close` keeps no file open.
            weakref.finalize(self, self._writer.close)
        return self._writer

    def close(self) -> None:
        """Close the file, where it is ours."""
        if self._path is not None and self._writer is not None:
            self._writer.close()


class ConnectionRecorder:
    """Records one connection. No method raises."""

    def __init__(self, writer: TraceWriter, connection: int) -> None:
        self._writer = writer
        self._connection = connection
        self._stderr = SafeRecorder(LineRecorder(writer, connection=connection), writer, self._report)
        self._is_scheduled = False
        self._is_over = False
        self._has_reported = False

    def text(self, source: str, target: str, text: bytes | bytearray) -> None:
        """Record one text; it is in the file when the loop has made its next turn."""
        self._guarded(lambda: self._writer.text(source, target, text, connection=self._connection))
        self._flush_soon()

    def stderr(self, data: bytes) -> None:
        """Record bytes that the agent wrote to stderr."""
        self._stderr.feed(data)
        self._stderr.flush()

    def note(self, remark: str) -> None:
        """Record a remark of ours."""
        self._guarded(lambda: self._writer.note(remark, connection=self._connection))
        self._flush_soon()

    def started(self, pid: int, command: Sequence[str]) -> None:
        """Record the start of the agent's program."""
        self._guarded(lambda: self._writer.start(pid, command, connection=self._connection))

    def ended(self, exit_status: int | None) -> None:
        """Record the end of the connection, with the exit status of the agent's program; only the first counts."""
        if self._is_over:
            return
        self._is_over = True
        self._stderr.finish()
        self._guarded(lambda: self._writer.end(exit_status, connection=self._connection))
        self._flush()

    def _flush_soon(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_scheduled = False
        self._guarded(self._writer.flush)
        failure = self._writer.failure
        if failure is not None:
            self._report(f"{self._writer.path} cannot be written: {failure.strerror}; the conversation goes on")

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the conversation goes on, whatever the recorder does
            self._writer.lose()
            self._report(f"the recorder failed ({type(error).__name__}); the conversation goes on")

    def _report(self, sentence: str) -> None:
        if not self._has_reported:
            self._has_reported = True
            log.warning("%s", sentence)


class RecordedTransport:
    """A transport whose texts are recorded; `own` is the end of this side. All else is that of the transport below."""

    def __init__(self, transport: Transport, recorder: ConnectionRecorder, *, own: str = CLIENT) -> None:
        self.transport = transport
        """The transport below."""
        self.recorder = recorder
        """The recorder of this connection."""
        self._own = own
        self._other = AGENT if own == CLIENT else CLIENT

    def __getattr__(self, name: str) -> Any:
        # A child's exit status and its stderr, for example; a private name would be a shortcut past `receive`.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.transport, name)

    @property
    def hung_up(self) -> bool:
        """See `Transport.hung_up`."""
        return self.transport.hung_up

    async def send(self, text: bytes | bytearray) -> None:
        """See `Transport.send`."""
        # Before it suspends: texts are recorded in the order in which they leave.
        self.recorder.text(self._own, self._other, text)
        await self.transport.send(text)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """See `Transport.try_send`."""
        if not self.transport.try_send(texts):
            return False
        for text in texts:
            self.recorder.text(self._own, self._other, text)
        return True

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`."""
        try:
            texts = await self.transport.receive()
        except TransportError as error:
            self.recorder.note(f"reading ended: {type(error).__name__}")
            raise
        for text in texts:
            self.recorder.text(self._other, self._own, text)
        return texts

    async def close(self) -> None:
        """See `Transport.close`."""
        try:
            await self.transport.close()
        finally:
            self.recorder.ended(getattr(self.transport, "exit_status", None))
