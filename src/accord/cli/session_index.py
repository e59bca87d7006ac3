"""The session records for commands: a failed read ends the command, a failed write is a remark; and short ids."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

from accord.cli.status import CommandFailure, Status, remark
from accord.config import ClientSessionRecord, Records
from accord.display import SafeText, filled
from accord.errors import StoreError
from accord.time_scale import scaled

T = TypeVar("T")

# The prefix that agents put before every id; it need not be typed.
PREFIXES = ("session-", "session_", "sess-", "sess_", "ses_")


PROMPT_CHARACTERS = 200

# A reader waits only for a process that holds the whole file.
READ_SECONDS = scaled(3.0)


class SessionIndex:
    """The user's sessions. Reading fails with the cause; a failure to write is reported once, and work goes on."""

    def __init__(self) -> None:
        self._reader: Records | None = None
        self._writer: Records | None = None
        self._is_lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for records in (self._reader, self._writer):
            if records is not None:
                records.close()

    def _read(self, work: Callable[[Records], T]) -> T:
        try:
            if self._reader is None:
                self._reader = Records(busy_seconds=READ_SECONDS, read_only=True)
            return work(self._reader)
        except StoreError as error:
            raise _failure("read", error) from error

    def _write(self, work: Callable[[Records], T]) -> T:
        if self._writer is None:
            self._writer = Records()
        done = work(self._writer)
        # A reader from before may have seen no file, or one of an older version.
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        return done

    def note(
        self,
        agent: str,
        session_id: str,
        cwd: str | os.PathLike[str],
        *,
        name: str | None = None,
        title: str | None = None,
        key: str | None = None,
        prompt: str | None = None,
        opened: bool = False,
    ) -> None:
        """Record that a session was used now; `key` is our key for it, to which remembered answers are bound.

        With `opened` it was not prompted yet; `prompt` is the first prompt.
        """
        if self._is_lost:
            return
        try:
            line = None if prompt is None else first_line(prompt)
            self._write(
                lambda records: records.note(
                    agent, session_id, cwd, name=name, title=title, key=key, prompt=line, opened=opened
                )
            )
        except StoreError as error:
            self._is_lost = True
            remark(filled("sessions are not noted: {}", str(error)))

    @property
    def can_write(self) -> bool:
        """Whether every record so far was written."""
        return not self._is_lost

    def last(self, agent: str | None = None) -> ClientSessionRecord | None:
        """The session that was used last in this directory."""
        return self._read(lambda records: records.last(".", agent))

    def named(self, name: str, agent: str | None = None) -> ClientSessionRecord | None:
        """The session of this name in this directory, else the one with this id or beginning of an id.

        Raises:
            CommandFailure: Several ids begin so, or the records cannot be read.
        """
        named = self._read(lambda records: records.named(name, ".", agent))
        if named is not None:
            return named
        found: list[ClientSessionRecord] = []
        for prefix in ("", *PREFIXES):
            found = found or self._find(prefix + name, agent)
        if len(found) > 1:
            ids = ", ".join(f"{each.session_id} ({each.agent})" for each in found[:5])
            raise CommandFailure(Status.USAGE, "session", f"{name!r} may be several sessions: {ids}")
        return found[0] if found else None

    def has(self, agent: str, session_id: str) -> bool:
        """Whether there is a record of exactly this session."""
        return any(each.session_id == session_id for each in self._find(session_id, agent))

    def _find(self, session_id: str, agent: str | None) -> list[ClientSessionRecord]:
        return self._read(lambda records: records.find(session_id, agent))

    def all(self, *, everywhere: bool, agent: str | None = None) -> list[ClientSessionRecord]:
        """All sessions of this directory, or all; the last used first. Includes those without a prompt."""
        return self._read(lambda records: records.all(None if everywhere else ".", agent))

    def remark_left_out(self) -> None:
        """Say which records the last look left out, as they are damaged."""
        for each in self._reader.left_out if self._reader is not None else ():
            remark(filled("left out, as its record is damaged: {}", each))

    def forget(self, record: ClientSessionRecord) -> bool:
        """Drop a record; returns whether it existed."""
        try:
            return self._write(lambda records: records.forget(record.agent, record.session_id))
        except StoreError as error:
            raise _failure("changed", error) from error


def first_line(prompt: str) -> str | None:
    """The begin of a prompt, as a list of sessions shows it."""
    line = next((each.strip() for each in prompt.splitlines() if each.strip()), "")
    return line[:PROMPT_CHARACTERS] or None


def is_listed(record: ClientSessionRecord) -> bool:
    """Whether a session is listed: one without a prompt only while it is open."""
    return record.prompted or record.is_open


def _failure(what: str, error: StoreError) -> CommandFailure:
    return CommandFailure(
        Status.USAGE, "session", f"the records of sessions cannot be {what}: {error}", cause="StoreError"
    )


# --- short ids

SHORT_LETTERS = 8
# So many common characters, one of them a digit, are no coincidence.
ALIKE_LETTERS = 6


def bare_id(session_id: str) -> str:
    """An id without the prefix that agents put before every id."""
    for prefix in PREFIXES:
        session_id = session_id.removeprefix(prefix)
    return session_id


def short_id(session_id: str, known: Iterable[str]) -> str:
    """The beginning of an id that is unique among the known ids."""
    bare = bare_id(session_id)
    others = {form for other in known if other != session_id for form in (other, bare_id(other))}
    length = max((len(_common(bare, other)) + 1 for other in others), default=0)
    # An id that is the beginning of another one cannot be shortened.
    return bare[: max(length, SHORT_LETTERS)] if length <= len(bare) else session_id


def known_ids(index: SessionIndex) -> list[str]:
    """The ids of our records; none where they cannot be read, because that must not fail a run."""
    try:
        return [record.session_id for record in index.all(everywhere=True)]
    except CommandFailure:
        return []


async def check_new_name(
    index: SessionIndex, name: str, agent: str, yes: Callable[[SafeText], Awaitable[bool]] | None
) -> None:
    """Ask about the name of a new session that looks like the id of another one: a mistake, or another agent's id.

    `yes` asks the user; None where there is no user to ask.

    Raises:
        CommandFailure: The user does not want a session of that name, or cannot be asked.
    """
    records = index.all(everywhere=True)
    alike = next((record for record in records if _is_alike(name, record)), None)
    if alike is None:
        return
    known = f"{alike.session_id} of {alike.agent}"
    message = f"there is no session {name!r} of {agent}, and it looks like the session {known}"
    if yes is None:
        short = short_id(alike.session_id, (record.session_id for record in records))
        advice = f"To go on with that one, type -s {short} and its agent; to begin one, choose another name"
        raise CommandFailure(Status.NO_SESSION, "session", message, advice=advice)
    if not await yes(filled("{}.\nbegin a new one of that name?", message)):
        raise CommandFailure(Status.NO_SESSION, "session", f"there is no session {name!r}, and none was begun")


def _is_alike(name: str, record: ClientSessionRecord) -> bool:
    typed, known = bare_id(name), bare_id(record.session_id)
    common = _common(typed, known)
    is_beginning = len(common) == len(typed) >= ALIKE_LETTERS
    return is_beginning or (len(common) >= ALIKE_LETTERS and any(char.isdigit() for char in common))


def _common(one: str, other: str) -> str:
    return os.path.commonprefix((one, other))  # noqa: RUF071 - letters are what is compared
