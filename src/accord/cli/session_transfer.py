"""Export and import of sessions: the built-in agent's through its store, those of others through their agent.

The export is one file: a header line, a line per event, and a last line with a digest. `docs/formats.md` documents the
form. It is read strictly: a file that was cut, changed or written by a later version is refused as a whole, before
anything is stored. An imported session of another agent is kept in a store of ours: it can be shown and exported, but
not continued.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import itertools
import json
import math
import os
import stat
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from accord.cli.session_index import SessionIndex
from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.cli.target import Target
from accord.cli.whole_file import whole_file
from accord.client import Session
from accord.config import ClientSessionRecord
from accord.config.entry import DEMO
from accord.display import json_line
from accord.errors import StoreError
from accord.session.event import Event
from accord.session.transcript import Transcript
from accord.stores import SessionRecord, SqliteStore, default_path, is_draft
from accord.stores.interface import PAGE_EVENTS, clamped_time
from accord.stores.text import decode_event, encode_event
from accord.stores.transfer import copy_session

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
    try:
        with whole_file(path) as file:
            count = await _write(file, header, events)
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
    """An open file that passed all checks, as the source of a copy; to be closed by its user."""

    def __init__(self, path: Path) -> None:
        """Open and check it.

        Raises:
            CommandFailure: It cannot be read, or is no whole session of a known version.
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
            self._events = self.events()
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

    async def read_page(self, _: str, after: int = 0) -> list[Event]:
        """The next events of one reading from the beginning."""
        if after == 0:
            self._events = self.events()
        return list(itertools.islice(self._events, PAGE_EVENTS))

    async def state(self, _: str) -> bytes | None:
        return _portable(self.header.state_bytes)

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
            moments = (header.created_at, header.updated_at)
            valid = header.version == VERSION and all(clamped_time(each) == each for each in moments)
            state = header.state_bytes
        except (msgspec.ValidationError, ValueError) as error:
            raise self._bad("its first line is not that of a session") from error
        if not valid or not header.session or is_draft(header.session) or (state is not None and not header.built_in):
            raise self._bad("its first line is not that of a session")
        return header

    def _bad(self, why: str) -> CommandFailure:
        return CommandFailure(Status.USAGE, "session", f"{self._path} cannot be imported: {why}", cause="SessionFile")


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


IMPORTED = "imported:"
"""The prefix of the agent's name for imported sessions of agents other than the built-in one."""
# The names under which the two stores are kept in the state folder.
_BUILT_IN, _OURS = "accord", "imported"
# The fields of the built-in agent's state that are exported and imported: not the user's `answers`, nor fields that a
# later version may add.
_PORTABLE = frozenset({"messages", "counted_tokens", "counted", "cost", "priced"})


def is_imported(record: ClientSessionRecord) -> bool:
    return record.agent.startswith(IMPORTED)


def is_built_in(target: Target) -> bool:
    return target.entry.origin == "built-in"


@contextlib.asynccontextmanager
async def _store(*, built_in: bool) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(default_path(_BUILT_IN if built_in else _OURS))
    try:
        yield store
    except StoreError as error:
        raise CommandFailure(Status.FAILED, "session", str(error), cause="StoreError") from error
    finally:
        await store.close()


async def imported_transcript(record: ClientSessionRecord) -> Transcript:
    """The conversation of an imported session.

    Raises:
        CommandFailure: It does not exist any more.
    """
    async with _store(built_in=False) as store:
        await _find(store, record.session_id)
        return Transcript(await store.read(record.session_id))


async def delete_imported(record: ClientSessionRecord) -> None:
    async with _store(built_in=False) as store:
        await store.delete(record.session_id)


async def export_kept(path: Path, record: ClientSessionRecord, *, built_in: bool) -> int:
    """Write a session that one of the two stores has; the number of its events.

    Raises:
        CommandFailure: The store does not have it, or the file cannot be written.
    """
    async with _store(built_in=built_in) as store:
        kept = await _find(store, record.session_id)
        state = _portable(await store.state(record.session_id)) if built_in else None
        agent = DEMO if built_in else record.agent.removeprefix(IMPORTED)
        header = _header(record, agent, kept.cwd, kept.title, (kept.created_at, kept.updated_at), state)
        return await write_session(path, header, _pages(store, record.session_id))


async def export_replayed(path: Path, record: ClientSessionRecord, session: Session) -> int:
    """Write the events that an agent has replayed; returns their number."""
    moments = (record.created_at, record.updated_at or time.time())
    header = _header(record, record.agent, session.cwd, session.title, moments, None, built_in=False)

    async def pages() -> AsyncIterator[list[Event]]:
        yield session.transcript.events()

    return await write_session(path, header, pages())


def _header(
    record: ClientSessionRecord,
    agent: str,
    cwd: str,
    title: str | None,
    moments: tuple[float, float],
    state: bytes | None,
    *,
    built_in: bool | None = None,
) -> SessionHeader:
    created_at, updated_at = moments
    return SessionHeader(
        agent=agent,
        built_in=agent == DEMO if built_in is None else built_in,
        session=record.session_id,
        cwd=cwd,
        title=title or record.title,
        prompt=record.prompt,
        created_at=created_at,
        updated_at=updated_at,
        state=None if state is None else base64.b64encode(state).decode("ascii"),
    )


async def _pages(store: SqliteStore, session_id: str) -> AsyncIterator[list[Event]]:
    position = 0
    while page := await store.read_page(session_id, position):
        position += len(page)
        yield page


def _portable(state: bytes | None) -> bytes | None:
    """The state of the built-in agent without the user's answers: a file must not carry permissions."""
    if state is None:
        return None
    try:
        value = json.loads(state)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return json.dumps({name: each for name, each in value.items() if name in _PORTABLE}).encode("ascii")


async def _find(store: SqliteStore, session_id: str) -> SessionRecord:
    kept = await store.get(session_id)
    if kept is None:
        raise CommandFailure(Status.NO_SESSION, "session", f"{session_id} is not kept any more")
    return kept


async def import_session(
    path: Path, index: SessionIndex, *, new_id: bool, progress: Callable[[int, int], None]
) -> ClientSessionRecord:
    """Import the session of a file as one of this directory, whole or not at all.

    Raises:
        CommandFailure: The file cannot be used, or its session is here already.
    """
    file = await asyncio.to_thread(SessionFile, path)
    with contextlib.closing(file):
        header = file.header
        agent = DEMO if header.built_in else f"{IMPORTED}{header.agent}"
        session_id = _new_id() if new_id else header.session
        record = SessionRecord(
            session_id, str(Path.cwd()), header.created_at, header.updated_at, header.title, events=file.count
        )
        async with _store(built_in=header.built_in) as store:
            # What imports have left that were ended.
            await store.prune_unprompted(-math.inf)
            try:
                is_new = await copy_session(file, store, record, progress)
            except StoreError as error:
                if error.reason != "session_differs":
                    raise
                raise _is_here(path, str(error)) from error
            # An import that was ended between the two stores is completed.
            if not is_new and (index.has(agent, session_id) or await store.get(session_id) != record):
                raise _is_here(path, f"the session {session_id} is here already")
    title, prompt = header.title, header.prompt
    index.note(agent, session_id, record.cwd, title=title, prompt=prompt)
    return ClientSessionRecord(agent, session_id, record.cwd, None, title, record.created_at, record.updated_at)


def _is_here(path: Path, message: str) -> CommandFailure:
    advice = f"To import a copy of it: accord sessions import {path} --new-id"
    return CommandFailure(Status.USAGE, "session", message, advice=advice)


def _new_id() -> str:
    from accord.agent.session import new_id  # noqa: PLC0415 - only for copies

    return new_id("session")
