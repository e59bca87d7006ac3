"""The platform's folders for config, state and cache, and private folders and files in them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import threading
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from accord.errors import StoreError

__all__ = ["Folders", "default_path", "folders", "home_folder", "make_folder", "make_private"]

# The folder of ours inside each of the platform's folders.
APPLICATION = "accord"

# Names that Windows reserves for devices, with any suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_MAX_NAME = 64

_CREATION = threading.Lock()


def default_path(name: str) -> Path:
    """The default database of an agent: `accord/<name>/sessions.db` in the platform's state folder.

    Nothing is created. A name that is no safe file name is changed, with a digest so that no two become the same.

    Raises:
        StoreError: `no_home`: the environment names neither a state folder nor a home directory.
    """
    home, problem = home_folder()
    path = Path(place(name, sys.platform, os.environ, home))
    if not path.is_absolute():
        raise StoreError(f"there is no folder for sessions: {problem}", reason="no_home")
    return path


def home_folder() -> tuple[str, str]:
    """The user's home directory, or an empty text and the reason why there is none.

    A relative `HOME` is refused, not guessed at: a directory that another user filled could pass for the user's own.
    """
    if sys.platform == "win32":
        try:
            return str(Path.home()), ""
        except RuntimeError:
            return "", "USERPROFILE is not set"
    given = os.environ.get("HOME", "")
    if given:
        return (given, "") if given.startswith("/") else ("", f"HOME is {given!r}, which is no absolute path")
    import pwd  # noqa: PLC0415 - not on every system, and seldom needed

    try:
        noted = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "", f"HOME is not set, and the user {os.getuid()} has no entry in the password database"
    return (noted, "") if noted.startswith("/") else ("", "HOME is not set, and the password database names none")


def place(name: str, platform: str, environment: Mapping[str, str], home: str) -> PurePath:
    """`default_path`, for any platform."""
    return folders(platform, environment, home).state / APPLICATION / safe_name(name) / "sessions.db"


class Folders(NamedTuple):
    """The platform's folders for one user's programs."""

    config: PurePath
    state: PurePath
    cache: PurePath


def folders(platform: str, environment: Mapping[str, str], home: str) -> Folders:
    """The folders, for any platform."""
    if platform == "win32":
        local = PureWindowsPath(environment.get("LOCALAPPDATA") or PureWindowsPath(home, "AppData", "Local"))
        roaming = PureWindowsPath(environment.get("APPDATA") or PureWindowsPath(home, "AppData", "Roaming"))
        return Folders(roaming, local, local / "Cache")
    if platform == "darwin":
        library = PurePosixPath(home, "Library")
        return Folders(library / "Application Support", library / "Application Support", library / "Caches")
    return Folders(
        _xdg(environment.get("XDG_CONFIG_HOME", ""), home, ".config"),
        _xdg(environment.get("XDG_STATE_HOME", ""), home, ".local/state"),
        _xdg(environment.get("XDG_CACHE_HOME", ""), home, ".cache"),
    )


def _xdg(given: str, home: str, otherwise: str) -> PurePath:
    # XDG: a relative path is invalid and to be ignored.
    return PurePosixPath(given) if PurePosixPath(given).is_absolute() else PurePosixPath(home, otherwise)


def safe_name(name: str) -> str:
    """The name itself where every file system accepts it, otherwise its safe characters and a digest of the whole."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_MAX_NAME].strip("-.")
    if readable == name and name and not _DEVICES.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{readable}-{digest}" if readable and not _DEVICES.fullmatch(readable) else f"agent-{digest}"


def make_private(path: Path) -> None:
    """Make the file, if it does not exist, and the folders above it, for their owner alone.

    An existing file stays unchanged; for the folders see `make_folder`.

    Raises:
        OSError: It cannot be made.
    """
    make_folder(path.parent)
    # A process that closes any descriptor of a file loses all its POSIX locks on it, SQLite's too. So a file that is
    # there is never opened here, and a new one is closed again before other code of this process goes on to open it.
    with _CREATION, contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _chmod(descriptor, 0o600)
        finally:
            os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make the folder and those above it, if they do not exist, for their owner alone, independent of the umask.

    Existing folders inside a folder of ours (`accord`, in the platform's folders) that others may enter are closed to
    them, if they belong to the user: an earlier version made them with the umask's mode.

    Raises:
        OSError: It cannot be made.
    """
    ours = {Path(each, APPLICATION) for each in folders(sys.platform, os.environ, home_folder()[0])}
    is_ours = False
    for each in (*reversed(folder.parents), folder):
        is_ours = is_ours or each in ours
        if not each.exists():
            with contextlib.suppress(FileExistsError):
                each.mkdir(mode=0o700)
                # A umask may have taken from the owner too.
                each.chmod(0o700)
        elif is_ours:
            _close_to_others(each)


def _close_to_others(folder: Path) -> None:
    if sys.platform == "win32":
        return
    status = folder.lstat()
    # Not through a link: its target may be meant for others. A system that refuses the change is no reason to stop.
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and status.st_mode & 0o077:
        with contextlib.suppress(OSError):
            folder.chmod(0o700)


def _chmod(descriptor: int, mode: int) -> None:
    if sys.platform != "win32":
        os.fchmod(descriptor, mode)
