"""The journal of what a check changes: on disk before the change is sent, gone when all of it was set back.

One JSON document per agent (its command and the directory it is started in), below the state folder. A run holds the
lock of its agent from its first change on: a journal whose lock is free was left by a run that was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accord.check.rule import EDITIONS, EditionName
from accord.check.settings import Key, Value
from accord.config.places import Places

if sys.platform != "win32":
    import fcntl

__all__ = ["Change", "Journal", "JournalError", "Page"]

FORMAT, VERSION = "accord-check-journal", 1
_FIELDS = {"format", "version", "argv", "cwd", "env", "edition", "changes"}
_CHANGE_FIELDS = {"kind", "id", "old", "new"}


class JournalError(Exception):
    """The journal cannot be written or read; says why in one line."""


@dataclass
class Change:
    """One setting that was changed: its value before the check, and every value that came of the check."""

    key: Key
    old: Value
    new: list[Value] = field(default_factory=list)


@dataclass
class Page:
    """What one run changed."""

    edition: EditionName
    env: str
    """A digest of the variables that the agent was given: with others it may be another agent."""
    changes: list[Change]


class Journal:
    """The journal of one agent.

    Raises:
        JournalError: There is no state folder for this user.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str | None], folder: Path | None = None) -> None:
        try:
            self._folder = folder or Places.here().state / "check"
            self._cwd = os.getcwd()  # noqa: PTH109 - as text, like argv
        except (OSError, RuntimeError) as error:
            raise JournalError(f"there is no folder for the journal of changes: {error}") from error
        self._argv = list(argv)
        self.env = _digest(sorted((name, value) for name, value in env.items()))
        name = _digest([self._argv, self._cwd])[:32]
        self.path = self._folder / f"{name}.json"
        self._lock_path = self._folder / f"{name}.lock"
        self._lock: int | None = None

    # --- the lock

    def lock(self) -> bool:
        """Take the lock of the agent; False while another run holds it.

        Raises:
            JournalError: The state folder cannot be written.
        """
        if self._lock is not None or sys.platform == "win32":
            return True
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"the journal of changes cannot be written: {_cause(error)}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def unlock(self) -> None:
        """Let others have it; what is on disk stays."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # --- the document

    def write(self, page: Page) -> None:
        """Put a page on disk, in one piece and synced; an empty one removes the file.

        Raises:
            JournalError: It could not be written.
        """
        try:
            if page.changes:
                self._write(page)
            else:
                self.path.unlink(missing_ok=True)
            _sync_folder(self._folder)
        except OSError as error:
            raise JournalError(f"the journal of changes cannot be written: {_cause(error)}") from error

    def _write(self, page: Page) -> None:
        changes = [
            {"kind": each.key.kind, "id": each.key.id, "old": each.old, "new": each.new} for each in page.changes
        ]
        document = {"format": FORMAT, "version": VERSION, "argv": self._argv, "cwd": self._cwd}
        document |= {"env": page.env, "edition": page.edition, "changes": changes}
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=".journal-", suffix=".new")
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(json.dumps(document, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def read(self) -> Page | None:
        """What an earlier run left; None if there is nothing.

        Raises:
            JournalError: The file is not a journal of this agent, or one of a later version.
        """
        try:
            text = self.path.read_text(encoding="ascii")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise JournalError(f"{self.path} cannot be read: {_cause(error)}") from error
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise JournalError(f"{self.path} is no JSON document") from None
        return self._parse(document)

    def _parse(self, document: Any) -> Page:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise JournalError(f"{self.path} is not a journal of accord check")
        if document.get("version") != VERSION or isinstance(document.get("version"), bool):
            found = document.get("version")
            raise JournalError(f"{self.path} has version {found!r}, and this version of Accord reads {VERSION}")
        is_sound = document.keys() == _FIELDS and document["edition"] in EDITIONS and isinstance(document["env"], str)
        if not is_sound or document["argv"] != self._argv or document["cwd"] != self._cwd:
            raise JournalError(f"{self.path} is not the journal of this agent")
        changes = document["changes"]
        if not isinstance(changes, list) or not all(map(_is_change, changes)):
            raise JournalError(f"{self.path} has an entry that is no change")
        found = [Change(Key(each["kind"], each["id"]), each["old"], each["new"]) for each in changes]
        return Page(document["edition"], document["env"], found)


def _is_change(said: Any) -> bool:
    if not isinstance(said, dict) or said.keys() != _CHANGE_FIELDS or not isinstance(said["new"], list):
        return False
    values = [said["old"], *said["new"]]
    if said["kind"] not in ("option", "mode", "model") or not isinstance(said["id"], str):
        return False
    return all(isinstance(each, str | bool) for each in values)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode("ascii")).hexdigest()


def _cause(error: Exception) -> str:
    return str(error.strerror) if isinstance(error, OSError) and error.strerror else type(error).__name__


def _sync_folder(folder: Path) -> None:
    """A name that was replaced or removed is on disk when its folder is."""
    if sys.platform == "win32" or not folder.exists():
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
