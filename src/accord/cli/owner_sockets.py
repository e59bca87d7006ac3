"""The sockets of running processes: their folder, their access checks, and the removal of dead ones.

They are in `live/` of the state folder, which every process of a user finds, or, where that path is too long for a
socket, in a private folder below `/tmp`. The names are random and never used again: a socket that refuses a connection
has lost its process, and can be removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
import stat
import struct
import sys
import time
from pathlib import Path

from accord.config.paths import ConfigPaths
from accord.stores.folder import make_folder

VERSION = 1
"""The version of the protocol over the sockets."""
SUFFIX = ".sock"
# The suffix of a socket that does not listen yet: it would refuse a connection although its process lives.
_NEW = ".new"
_NEW_SECONDS = 60.0
# The length of `sockaddr_un` on the narrowest of our systems (macOS: 104), without the final zero.
MAX_PATH_BYTES = 103
_NAME_BYTES = 1 + 32 + len(SUFFIX)


def is_supported() -> bool:
    return sys.platform != "win32" and hasattr(socket, "AF_UNIX")


def sockets_folder() -> Path:
    """The folder of the sockets; nothing is made here.

    Raises:
        ConfigError: There is no home directory.
    """
    folder = ConfigPaths.here().state / "live"
    if len(os.fsencode(folder)) + _NAME_BYTES <= MAX_PATH_BYTES:
        return folder
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return Path(f"/tmp/accord-{os.getuid()}-{digest}")  # noqa: S108 - made and checked as a private folder


def check_private(folder: Path) -> None:
    """Refuse a folder that is not private to this user: below `/tmp` any user could have made it.

    Raises:
        OSError: It is a link, another user's, open to others, or not there.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a private folder of this user")


def bind() -> tuple[socket.socket, Path]:
    """A new socket of this process, listening, for this user alone.

    Raises:
        OSError: It cannot be made.
        ConfigError: There is no home directory.
    """
    folder = sockets_folder()
    make_folder(folder)
    check_private(folder)
    sweep(folder)
    place = folder / f"{secrets.token_hex(16)}{SUFFIX}"
    new = place.with_suffix(_NEW)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.settimeout(0.0)
        listening.bind(os.fspath(new))
        new.chmod(0o600)
        listening.listen(16)
        new.rename(place)
    except BaseException:
        listening.close()
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    return listening, place


def sweep(folder: Path) -> None:
    """Remove the sockets of processes that have died."""
    for place in folder.glob(f"*{_NEW}"):
        with contextlib.suppress(OSError):
            if time.time() - place.lstat().st_mtime > _NEW_SECONDS:
                place.unlink()
    for place in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):
            connected = connect(place)
            if connected is not None:
                connected.close()


def connect(place: Path, seconds: float = 2.0) -> socket.socket | None:
    """A connection to the process of a socket; None where it has died, and then the socket is removed.

    Raises:
        OSError: It is no socket of this user, or takes no connection.
    """
    status = place.lstat()
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{place} is not a socket of this user")
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(seconds)
    try:
        connected.connect(os.fspath(place))
        check_peer(connected)
    except ConnectionRefusedError:
        connected.close()
        place.unlink(missing_ok=True)
        return None
    except BaseException:
        connected.close()
        raise
    return connected


def check_peer(connected: socket.socket) -> None:
    """Refuse a peer of another user, where the system reports the user.

    Raises:
        PermissionError: It is another user.
    """
    user = peer_user(connected)
    if user is not None and user != os.getuid():
        raise PermissionError(f"the other end belongs to the user {user}")


def peer_user(connected: socket.socket) -> int | None:
    """The user id of the process at the other end; None where the system does not report it."""
    if hasattr(socket, "SO_PEERCRED"):
        form = "3i"
        data = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
        return int(struct.unpack(form, data)[1])
    if sys.platform == "darwin":  # pragma: no cover - LOCAL_PEERCRED of SOL_LOCAL gives a struct xucred
        return int(struct.unpack("2I", connected.getsockopt(0, 1, 8))[1])
    return None  # pragma: no cover - the mode of the folder is the only check
