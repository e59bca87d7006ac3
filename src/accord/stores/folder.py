"""Knows where the platform wants an agent's sessions to be, and how to make that place private."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import threading
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

__all__ = ["default_path", "make_private"]

# Names that Windows keeps for devices, whatever their suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_MAX_NAME = 64

_CREATION = threading.Lock()


def default_path(name: str) -> Path:
    """Where the agent of that name keeps its sessions: `accord/<name>/sessions.db` in the platform's state folder.

    Nothing is created. A name that is no safe file name is changed, with a digest so that no two become the same.
    """
    return Path(place(name, sys.platform, os.environ, str(Path.home())))


def place(name: str, platform: str, environment: Mapping[str, str], home: str) -> PurePath:
    """`default_path`, for any platform."""
    return _state_folder(platform, environment, home) / "accord" / safe_name(name) / "sessions.db"


def _state_folder(platform: str, environment: Mapping[str, str], home: str) -> PurePath:
    if platform == "win32":
        return PureWindowsPath(environment.get("LOCALAPPDATA") or PureWindowsPath(home, "AppData", "Local"))
    if platform == "darwin":
        return PurePosixPath(home, "Library", "Application Support")
    # XDG: a relative path is invalid and to be ignored.
    given = PurePosixPath(environment.get("XDG_STATE_HOME", ""))
    return given if given.is_absolute() else PurePosixPath(home, ".local", "state")


def safe_name(name: str) -> str:
    """The name itself where every file system takes it, otherwise what is left of it and a digest of the whole."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_MAX_NAME].strip("-.")
    if readable == name and name and not _DEVICES.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{readable}-{digest}" if readable and not _DEVICES.fullmatch(readable) else f"agent-{digest}"


def make_private(path: Path) -> None:
    """Make the file, if it is not there, for its owner alone, and the folders it needs likewise.

    What is there already stays as it is.

    Raises:
        OSError: It cannot be made.
    """
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    # A process that closes any descriptor of a file loses all its POSIX locks on it, SQLite's too. So a file that is
    # there is never opened here, and a new one is closed again before anybody in this process goes on to open it.
    with _CREATION, contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
