"""The socket of the process that has sessions open: lists them, cancels their turn, streams their records.

A connection begins with one line that names the sessions. The other end sends one request, a line too: `cancel` is
answered when the turn is over, `watch` with the records of `-o events` until the session is closed. A watcher that does
not read loses records and gets a record with their number; the turn never waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.cli import owner_sockets
from accord.display import json_line
from accord.errors import AccordError
from accord.session.event import Event, StateChanged
from accord.time_scale import scaled

if TYPE_CHECKING:
    from accord.cli.run.output import Ending, RunOpening
    from accord.cli.run.records import EventsOutput
    from accord.cli.status import CommandFailure
    from accord.client import Verdict
    from accord.session.entry import ToolCall
    from accord.session.rules import Rule

log = logging.getLogger("accord.cli")

MAX_BUFFER_BYTES = 4 * 1024 * 1024
MAX_CONNECTIONS = 32
MAX_REQUEST_BYTES = 64 * 1024
REQUEST_SECONDS = scaled(10.0)
# How long the end of the process waits for watchers that still read.
FLUSH_SECONDS = 0.5


class Watcher:
    """One connection that gets the records of a session."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._missed = 0
        self.over = asyncio.Event()

    def write(self, record: dict[str, Any]) -> None:
        """Send a record, or count it as missed where the other end does not read."""
        if self._writer.is_closing():
            self.over.set()
            return
        line = _line(record)
        room = MAX_BUFFER_BYTES - self._writer.transport.get_write_buffer_size()
        if len(line) > room:
            self._missed += 1
            return
        if self._missed:
            facts = {"t": record.get("t", time.time()), "session": record.get("session"), "count": self._missed}
            self._writer.write(_line({"type": "missed", **facts}))
            self._missed = 0
        self._writer.write(line)


class SharedSession:
    """A session that other processes may watch and cancel. Its methods are those of an output."""

    def __init__(self, opening: RunOpening) -> None:
        self.opening = opening
        self.watchers: list[Watcher] = []
        self._records: EventsOutput | None = None
        self._idle = asyncio.Event()

    @property
    def is_running(self) -> bool:
        return self.opening.session.transcript.state != "idle"

    @property
    def facts(self) -> dict[str, Any]:
        opening = self.opening
        return {
            "session": opening.session.id,
            "agent": opening.target.key,
            "cwd": opening.session.cwd,
            "name": opening.name,
            "running": self.is_running,
        }

    def attach(self, watcher: Watcher) -> None:
        """Send the records so far, and from then on each new one."""
        from accord.cli.run.records import EventsOutput  # noqa: PLC0415 - only where there is a watcher

        if self._records is None:
            self._records = EventsOutput(self._publish)
            self._records.take(self.opening)
        first = EventsOutput(watcher.write)
        first.opened(self.opening)
        if self.is_running:
            first.happened(StateChanged(self.opening.session.transcript.state))
        self.watchers.append(watcher)

    def _publish(self, record: dict[str, Any]) -> None:
        for watcher in self.watchers:
            watcher.write(record)

    @property
    def _output(self) -> EventsOutput | None:
        return self._records if self.watchers else None

    async def cancel(self) -> str | None:
        """Stop the turn, and wait for its end; the stop reason, or None where nothing runs."""
        session = self.opening.session
        if not self.is_running:
            return None
        self._idle.clear()
        stop_listening = session.listen(self._look)
        try:
            session.cancel()
            if self.is_running:
                await self._idle.wait()
        finally:
            stop_listening()
        return str(session.transcript.stop_reason or "cancelled")

    def _look(self, event: Event) -> None:
        if isinstance(event, StateChanged) and event.state == "idle":
            self._idle.set()

    def happened(self, event: Event) -> None:
        if (output := self._output) is not None:
            output.happened(event)

    def noise(self, text: str) -> None:
        if (output := self._output) is not None:
            output.noise(text)

    def judged(self, verdict: Verdict) -> None:
        if (output := self._output) is not None:
            output.judged(verdict)

    def completed_unasked(self, call: ToolCall, rule: Rule, *, refused: bool = False) -> None:
        if (output := self._output) is not None:
            output.completed_unasked(call, rule, refused=refused)

    def respawned(self, reason: str) -> None:
        if (output := self._output) is not None:
            output.respawned(reason)

    def ended(self, ending: Ending) -> None:
        if (output := self._output) is not None:
            output.ended(ending)

    def failed(self, failure: CommandFailure) -> None:
        if (output := self._output) is not None:
            output.failed(failure)


class OwnerSocket:
    """The socket of this process, made with its first session. Where it cannot be made, the run goes on without it."""

    def __init__(self) -> None:
        self._listening: socket.socket | None = None
        self._place: Path | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_tried = False
        self.sessions: list[SharedSession] = []

    def share(self, opening: RunOpening) -> SharedSession:
        """Make a session visible to other processes."""
        shared = SharedSession(opening)
        self.sessions.append(shared)
        if not self._is_tried:
            self._is_tried = True
            self._open()
        return shared

    def withdraw(self, shared: SharedSession) -> None:
        """The session is closed: its watchers get the remaining records and the end."""
        if shared in self.sessions:
            self.sessions.remove(shared)
        for watcher in shared.watchers:
            watcher.over.set()

    def _open(self) -> None:
        if not owner_sockets.is_supported():
            return
        try:
            self._listening, self._place = owner_sockets.bind()
        except (OSError, AccordError) as error:
            log.debug("this process cannot be watched or cancelled by others: %s", error)
            return
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._listening.fileno(), self._accept)

    def _accept(self) -> None:
        if self._listening is None or self._loop is None:
            return
        try:
            connected, _ = self._listening.accept()
        except OSError:
            return
        try:
            owner_sockets.check_peer(connected)
            if len(self._tasks) >= MAX_CONNECTIONS:
                raise PermissionError("too many connections")
        except OSError as error:
            log.warning("a connection to the socket of this process was refused: %s", error)
            connected.close()
            return
        connected.settimeout(0.0)
        task = self._loop.create_task(self._serve(connected))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connected: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=connected, limit=MAX_REQUEST_BYTES)
        self._writers.add(writer)
        try:
            hello = {"accord": "owner", "version": owner_sockets.VERSION, "pid": os.getpid()}
            writer.write(_line({**hello, "sessions": [each.facts for each in self.sessions]}))
            async with asyncio.timeout(REQUEST_SECONDS):
                line = await reader.readline()
            if line:
                await self._answer(line, reader, writer)
        except (OSError, ValueError, TimeoutError) as error:
            log.debug("a connection to the socket of this process ended: %s", error)
        finally:
            writer.close()
            self._writers.discard(writer)

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import json  # noqa: PLC0415 - only for a request

        request = json.loads(line)
        wanted = request.get("session") if isinstance(request, dict) else None
        shared = next((each for each in self.sessions if each.opening.session.id == wanted), None)
        if shared is None:
            writer.write(_line({"accord": "error", "reason": "no_session"}))
        elif request.get("do") == "cancel":
            reason = await shared.cancel()
            answer = {"accord": "cancelled", "stop_reason": reason}
            writer.write(_line(answer if reason is not None else {"accord": "error", "reason": "not_running"}))
        elif request.get("do") == "watch":
            watcher = Watcher(writer)
            shared.attach(watcher)
            try:
                await _first(watcher.over.wait(), reader.read(1))
            finally:
                shared.watchers.remove(watcher)
        else:
            writer.write(_line({"accord": "error", "reason": "unknown_request"}))

    async def close(self) -> None:
        """End every connection; watchers that still read get the remaining records, for a short time."""
        writers = list(self._writers)
        for shared in list(self.sessions):
            self.withdraw(shared)
        self.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=FLUSH_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await asyncio.gather(*(each.wait_closed() for each in writers), return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()

    def stop(self) -> None:
        """Take no further connection, and remove the socket; may be called again, also when the loop is closed."""
        if self._listening is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._listening.fileno())
        if self._place is not None:
            with contextlib.suppress(OSError):
                self._place.unlink()
        self._listening.close()
        self._listening = None


async def _first(*works: Any) -> None:
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _line(value: dict[str, Any]) -> bytes:
    return f"{json_line(value)}\n".encode("ascii")
