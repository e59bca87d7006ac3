"""Files in the state folder that only the user may read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from accord.stores.folder import make_folder


def write_private(path: Path, data: bytes) -> None:
    """Replace the file atomically: a reader sees the old one or the new one.

    Raises:
        OSError: It cannot be written.
    """
    make_folder(path.parent)
    # Made with mode 0600, independent of the umask.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def append_private(path: Path, data: bytes) -> None:
    """Add to the file in one write, so that two chats that do so do not mix their lines.

    Raises:
        OSError: It cannot be written.
    """
    make_folder(path.parent)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
