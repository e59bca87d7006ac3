"""Our records of sessions as the command uses them: where they cannot be kept, that is said once, and work goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from accord.cli.complaint import remark
from accord.cli.status import Failure, Status
from accord.config import Record, Records
from accord.display import filled
from accord.errors import StoreError

__all__ = ["PREFIXES", "Book"]

T = TypeVar("T")

# What agents put before every id: nobody wants to type it.
PREFIXES = ("session-", "session_", "sess-", "sess_", "ses_")


class Book:
    """The user's sessions."""

    def __init__(self) -> None:
        self._records: Records | None = None
        self._is_lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._records is not None:
            self._records.close()

    def _do(self, work: Callable[[Records], T], otherwise: T) -> T:
        if self._is_lost:
            return otherwise
        try:
            if self._records is None:
                self._records = Records()
            return work(self._records)
        except StoreError as error:
            self._is_lost = True
            remark(filled("sessions are not noted: {}", str(error)))
            return otherwise

    def note(
        self,
        agent: str,
        session_id: str,
        cwd: str | os.PathLike[str],
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> None:
        """A session was used just now."""
        self._do(lambda records: records.note(agent, session_id, cwd, name=name, title=title), None)

    def last(self, agent: str | None = None) -> Record | None:
        """The one that was used last in this directory."""
        return self._do(lambda records: records.last(".", agent), None)

    def named(self, name: str, agent: str | None = None) -> Record | None:
        """The one of this name in this directory, else the one whose id it is, or begins with it.

        Raises:
            Failure: Several ids begin so.
        """
        named = self._do(lambda records: records.named(name, ".", agent), None)
        if named is not None:
            return named
        found: list[Record] = []
        for prefix in ("", *PREFIXES):
            found = found or self._find(prefix + name, agent)
        if len(found) > 1:
            ids = ", ".join(f"{each.session_id} ({each.agent})" for each in found[:5])
            raise Failure(Status.USAGE, "session", f"{name!r} may be several sessions: {ids}")
        return found[0] if found else None

    def _find(self, session_id: str, agent: str | None) -> list[Record]:
        return self._do(lambda records: records.find(session_id, agent), list[Record]())

    def all(self, *, everywhere: bool, agent: str | None = None) -> list[Record]:
        """All of this directory, or all; the last used first."""
        return self._do(lambda records: records.all(None if everywhere else ".", agent), list[Record]())

    def forget(self, record: Record) -> bool:
        """Drop one; says whether it was there."""
        return self._do(lambda records: records.forget(record.agent, record.session_id), otherwise=False)
