"""The errors that every store raises, and those for what SQLite reports."""

from __future__ import annotations

import errno
import sqlite3

from accord.errors import StoreError

__all__ = ["closed", "in_use", "no_locks", "not_owned", "of_sqlite", "of_system", "session_exists", "unknown_session"]


def unknown_session(session_id: str) -> StoreError:
    """The session must be there and is not."""
    return StoreError("there is no such session", reason="unknown_session", session_id=session_id)


def session_exists(session_id: str) -> StoreError:
    """The session must not be there and is."""
    return StoreError("there is a session of this id already", reason="session_exists", session_id=session_id)


def in_use(session_id: str) -> StoreError:
    """A process that is alive has the session open."""
    sentence = "another process has this session open: close it there first"
    return StoreError(sentence, reason="in_use", session_id=session_id)


def not_owned(session_id: str) -> StoreError:
    """This process acquired the session, and meanwhile it was deleted and made again, or taken over."""
    sentence = "this process does not own the session any more: open it again"
    return StoreError(sentence, reason="not_owned", session_id=session_id)


def no_locks(path: str) -> StoreError:
    """The file system has no `flock`."""
    sentence = f"{path}: this file system cannot lock files: keep the session database on a local disk"
    return StoreError(sentence, reason="no_locks", path=path)


def closed() -> StoreError:
    return StoreError("the store is closed", reason="closed")


def damaged(path: str) -> StoreError:
    """The file is no database, or is one in disorder."""
    return StoreError(
        f"{path}: the session database is damaged. Move it away together with its -wal and -shm files and start again "
        f"with an empty one, put back a copy, or try `sqlite3 {path} .recover` to save what can be read",
        reason="damaged",
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
    """The reason behind an exception of SQLite, in the words of `StoreError`."""
    # The low byte is the code; what stands above it says more exactly where it happened.
    return _SQLITE_REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "failed")


def of_sqlite(error: Exception, path: str) -> StoreError:
    """The error for one of SQLite, with advice."""
    return _sentence(sqlite_reason(error), path, error)


def of_system(error: OSError, path: str) -> StoreError:
    """Why the operating system gave no file."""
    return _sentence(_SYSTEM_REASONS.get(error.errno or 0, "failed"), path, error)


def _sentence(reason: str, path: str, error: Exception) -> StoreError:
    if reason == "damaged":
        return damaged(path)
    return StoreError(f"{path}: {_SENTENCES[reason]} ({error})", reason=reason, path=path)
