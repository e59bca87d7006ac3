"""The files of projects that the user has trusted: a cloned repository must not be able to start programs.

A file is trusted by its path and its content: the same text in another folder may mean other programs, and a changed
one does. The trust file is append-only, a line per entry, so that two processes can write at once and a crash costs at
most its own line.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from accord.config.errors import ConfigError, Problem
from accord.config.fields import read_bytes
from accord.config.paths import ConfigPaths
from accord.stores.folder import make_private

__all__ = ["Trust"]

# Entries without a version are of the first version, and mean the same.
NOTE_VERSION = 1
MAX_NOTES_BYTES = 16 * 1024 * 1024


class Trust:
    """The user's trusted files; `path` is the file that keeps them, by default in the platform's state folder."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = ConfigPaths.here().trust_file if path is None else Path(path)

    def is_trusted(self, path: str | os.PathLike[str], sha256: str) -> bool:
        """Whether this file was trusted with this content. A malformed line trusts nothing.

        Raises:
            ConfigError: The trust file cannot be read, or a later version of Accord has written to it: an entry that it
                revoked could count as trusted here.
        """
        place, trusted = _place(path), False
        content = read_bytes(self._path, MAX_NOTES_BYTES) or b""
        for line in content.split(b"\n"):
            note = _parsed(line)
            if _version(note) > NOTE_VERSION:
                expected = (
                    f"notes of version {NOTE_VERSION} at most; a later version of Accord wrote some: update Accord"
                )
                raise ConfigError(str(self._path), [Problem("version", expected)])
            if note.get("path") == place and note.get("sha256") == sha256:
                trusted = note.get("trusted") is True
        return trusted

    def trust(self, path: str | os.PathLike[str], sha256: str) -> None:
        """Trust the file with this content from now on. Pass the digest of the content that the user was shown.

        Raises:
            ConfigError: The trust file cannot be written.
        """
        self._note(path, sha256, trusted=True)

    def distrust(self, path: str | os.PathLike[str], sha256: str) -> None:
        self._note(path, sha256, trusted=False)

    def _note(self, path: str | os.PathLike[str], sha256: str, *, trusted: bool) -> None:
        note = {"version": NOTE_VERSION, "path": _place(path), "sha256": sha256, "trusted": trusted}
        line = json.dumps(note)
        try:
            make_private(self._path)
            # One append. The line before may be incomplete after a crash: begin a new one. A FIFO without a reader is
            # refused, not waited for.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0))
            try:
                os.write(descriptor, f"\n{line}\n".encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            problem = Problem("", f"a file that can be written ({error.strerror})")
            raise ConfigError(str(self._path), [problem]) from error


def _place(path: str | os.PathLike[str]) -> str:
    # Without following a link at the end: relative paths in the file are resolved beside the link, not its target.
    place = Path(path).absolute()
    return str(Path(os.path.realpath(place.parent), place.name))


def _version(note: dict[str, Any]) -> int:
    version = note.get("version", NOTE_VERSION)
    return version if type(version) is int else NOTE_VERSION


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        note = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}
