"""The export format of a session, one file: a header line, a line per event, and a last line with a digest.

`docs/formats.md` documents the form. It is read strictly: a file that was cut, changed or written by a later version is
refused as a whole, before anything is stored.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO

import msgspec

from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.display import json_line
from accord.errors import StoreError
from accord.session.event import Event
from accord.stores.text import decode_event, encode_event

VERSION = 1
MAX_LINE_BYTES = 64 * 1024 * 1024


class SessionHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The first line. `state` is the built-in agent's own, in base64; None for the sessions of other agents."""

    accord: str = "session"
    version: int = VERSION
    agent: str
    built_in: bool
    session: str
    cwd: str
    title: str | None
    prompt: str | None
    created_at: float
    updated_at: float
    state: str | None

    @property
    def state_bytes(self) -> bytes | None:
        return None if self.state is None else base64.b64decode(self.state, validate=True)


async def write_session(path: Path, header: SessionHeader, events: AsyncIterator[list[Event]]) -> int:
    """Write the file, readable by its owner alone; a failure leaves no file. Returns the number of events.

    Raises:
        UsageFailure: It cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with open(descriptor, "wb") as file:  # noqa: ASYNC230, PTH123 - nothing else waits
                count = await _write(file, header, events)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageFailure(f"-w {path}: {error.strerror}") from error
    return count


async def _write(file: IO[bytes], header: SessionHeader, events: AsyncIterator[list[Event]]) -> int:
    digest, count = hashlib.sha256(), 0

    def put(line: bytes) -> None:
        file.write(line)
        digest.update(line)

    put(f"{json_line(msgspec.to_builtins(header))}\n".encode("ascii"))
    async for page in events:
        for event in page:
            put(encode_event(event) + b"\n")
            count += 1
    last = {"accord": "end", "events": count, "sha256": digest.hexdigest()}
    file.write(f"{json_line(last)}\n".encode("ascii"))
    return count


class SessionFile:
    """An open file that passed all checks; to be closed by its user."""

    def __init__(self, path: Path) -> None:
        """Open and check it.

        Raises:
            CommandFailure: It cannot be read, or is no whole session of a version that is known here.
        """
        self._path = path
        try:
            # Non-blocking: a FIFO may never have a writer.
            self._file = open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")  # noqa: PTH123, SIM115
        except OSError as error:
            raise UsageFailure(f"{path} cannot be read: {error.strerror}") from error
        try:
            self._check_regular()
            self.header = self._read_header(self._line())
            self.count = sum(1 for _ in self._checked())
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()

    def _check_regular(self) -> None:
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise self._bad("it is no regular file")

    def events(self) -> Iterator[Event]:
        """The events, from the beginning."""
        self._file.seek(0)
        self._line()
        for _ in range(self.count):
            yield self._event(self._line())

    def _checked(self) -> Iterator[Event]:
        self._file.seek(0)
        digest = hashlib.sha256(self._line())
        count = 0
        while True:
            line = self._line()
            if line.startswith(b'{"accord"'):
                break
            digest.update(line)
            count += 1
            yield self._event(line)
        if _parsed(line) != {"accord": "end", "events": count, "sha256": digest.hexdigest()} or self._file.read(1):
            raise self._bad("it was changed after it was written")

    def _line(self) -> bytes:
        line = self._file.readline(MAX_LINE_BYTES + 1)
        if len(line) > MAX_LINE_BYTES:
            raise self._bad("a line is longer than 64 MiB")
        if not line.endswith(b"\n"):
            raise self._bad("its end is missing")
        return line

    def _event(self, line: bytes) -> Event:
        try:
            return decode_event(line.rstrip(b"\n"))
        except StoreError as error:
            raise self._bad("an event cannot be read") from error

    def _read_header(self, line: bytes) -> SessionHeader:
        found = _parsed(line)
        if not isinstance(found, dict) or found.get("accord") != "session":
            raise self._bad("`accord sessions export --as session` has not written it")
        version = found.get("version")
        if isinstance(version, int) and version > VERSION:
            raise self._bad(f"a later version of Accord has written it (version {version}); update Accord")
        try:
            header = msgspec.convert(found, SessionHeader)
            valid = header.version == VERSION and math.isfinite(header.created_at) and math.isfinite(header.updated_at)
            state = header.state_bytes
        except (msgspec.ValidationError, ValueError) as error:
            raise self._bad("its first line is not that of a session") from error
        if not valid or not header.session or (state is not None and not header.built_in):
            raise self._bad("its first line is not that of a session")
        return header

    def _bad(self, why: str) -> CommandFailure:
        return CommandFailure(Status.USAGE, "session", f"{self._path} cannot be imported: {why}", cause="SessionFile")


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
