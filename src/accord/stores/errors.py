"""The errors of every store, the mapping of SQLite's errors, and the ledger of losses that are not reported yet.

A commit that failed must not be followed by one that succeeds before the caller knows of it: the log would have a
hole. So a session that lost events goes on losing them until the loss was reported. Tickets are numbers that only grow.
The ledger neither waits nor locks; the store does.
"""

from __future__ import annotations

import errno
import sqlite3

from accord.errors import StoreError

__all__ = [
    "LossLedger",
    "closed",
    "in_use",
    "moved",
    "no_locks",
    "not_owned",
    "of_sqlite",
    "of_system",
    "session_exists",
    "unknown_session",
]


def unknown_session(session_id: str) -> StoreError:
    """The session does not exist."""
    return StoreError("there is no such session", reason="unknown_session", session_id=session_id)


def session_exists(session_id: str) -> StoreError:
    """The session exists already."""
    return StoreError("there is a session of this id already", reason="session_exists", session_id=session_id)


def in_use(session_id: str) -> StoreError:
    """Another living process has the session open."""
    sentence = "another process has this session open: close it there first"
    return StoreError(sentence, reason="in_use", session_id=session_id)


def not_owned(session_id: str) -> StoreError:
    """This process acquired the session, but it was deleted and created again, or taken over, since."""
    sentence = "this process does not own the session any more: open it again"
    return StoreError(sentence, reason="not_owned", session_id=session_id)


def no_locks(path: str) -> StoreError:
    """The file system has no `flock`."""
    sentence = f"{path}: this file system cannot lock files: keep the session database on a local disk"
    return StoreError(sentence, reason="no_locks", path=path)


def closed() -> StoreError:
    return StoreError("the store is closed", reason="closed")


def damaged(path: str) -> StoreError:
    """The file is no database, or a corrupt one."""
    return StoreError(
        f"{path}: the session database is damaged. Move it away together with its -wal and -shm files and start again "
        f"with an empty one, put back a copy, or try `sqlite3 {path} .recover` to save what can be read",
        reason="damaged",
        path=path,
    )


def moved(path: str) -> StoreError:
    """The path leads to another file than the one that is open, or to none."""
    return StoreError(
        f"{path}: the session database was deleted, moved or replaced while it was open. Put it back together with its "
        "-wal and -shm files, or restart the program, which begins with the file that is there then",
        reason="moved",
        path=path,
    )


_SENTENCES = {
    "full": "the disk is full: free some space and try again",
    "read_only": "the session database cannot be written: check the permissions of the file and its folder",
    "busy": "another program keeps the session database locked: close it, or try again later",
    "failed": "the session database failed",
}

_SQLITE_REASONS = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}

_SYSTEM_REASONS = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EACCES: "read_only",
    errno.EPERM: "read_only",
    errno.EROFS: "read_only",
}


def sqlite_reason(error: Exception) -> str:
    """The `StoreError` reason for an exception of SQLite."""
    # The low byte is the code; the higher bytes are a more specific code.
    return _SQLITE_REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "failed")


def of_sqlite(error: Exception, path: str) -> StoreError:
    """The error for one of SQLite, with advice."""
    return _sentence(sqlite_reason(error), path, error)


def of_system(error: OSError, path: str) -> StoreError:
    """The error for a file that the operating system did not open."""
    return _sentence(_SYSTEM_REASONS.get(error.errno or 0, "failed"), path, error)


def _sentence(reason: str, path: str, error: Exception) -> StoreError:
    if reason == "damaged":
        return damaged(path)
    return StoreError(f"{path}: {_SENTENCES[reason]} ({error})", reason=reason, path=path)


# So many failures per session are kept for tickets that were not committed yet.
_REMEMBERED = 32


class _Loss:
    __slots__ = ("error", "first", "last", "reported")

    def __init__(self, ticket: int, error: StoreError) -> None:
        self.first = ticket
        self.last = ticket
        self.error = error
        self.reported = False


class LossLedger:
    """The losses of one store, by session."""

    def __init__(self) -> None:
        self._issued = 0
        self._losses: dict[str, list[_Loss]] = {}

    def issue(self) -> int:
        self._issued += 1
        return self._issued

    def lose(self, session_id: str, ticket: int, error: StoreError) -> None:
        """Note that the events of a ticket are lost. Tickets of one session are noted in order."""
        losses = self._losses.setdefault(session_id, [])
        if losses and not losses[-1].reported:
            losses[-1].last = ticket
            return
        losses.append(_Loss(ticket, error))
        del losses[:-_REMEMBERED]

    def lose_also(self, session_id: str, ticket: int) -> bool:
        """Whether the ticket is lost too, because an earlier loss of its session is not reported yet."""
        losses = self._losses.get(session_id)
        if not losses or losses[-1].reported:
            return False
        losses[-1].last = ticket
        return True

    def raise_loss(self, session_id: str, ticket: int) -> None:
        """Raise the error by which the ticket was lost, if it was; the session may go on then."""
        for loss in self._losses.get(session_id, ()):
            if loss.first <= ticket <= loss.last:
                raise _reported(loss, session_id)

    def raise_any_loss(self) -> None:
        """Raise the first error that is not reported yet; all sessions may go on then."""
        untold = [(loss, name) for name, losses in self._losses.items() for loss in losses if not loss.reported]
        errors = [_reported(loss, name) for loss, name in untold]
        if errors:
            raise errors[0]


def _reported(loss: _Loss, session_id: str) -> StoreError:
    loss.reported = True
    # A new one each time: several tasks may get it, and each adds its own traceback.
    error = StoreError(str(loss.error), reason=loss.error.reason, path=loss.error.path, session_id=session_id)
    error.__cause__ = loss.error
    return error
