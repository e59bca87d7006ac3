"""The errors of paths, files and commands, and the JSON-RPC code of each.

AccordError
└── WorkspaceError
    ├── InvalidPath -32602         relative, empty, too long, a loop of links
    ├── PathOutsideRoots -32602    it leads, or may lead, out of the roots
    ├── PathChanged -32003         it leads elsewhere than the path that was allowed
    ├── NoSuchFile -32002          nothing is there
    ├── NotAFile -32602            a directory, a FIFO, a device, a socket, a file of the kernel
    ├── NotADirectory -32602       where a command should run
    ├── NotText -32602             not UTF-8, on disk or to be written
    ├── FileTooLarge -32602        over the limit
    ├── AccessDenied -32003        the system says no
    ├── FileFailed -32603          disk full, read-only, broken: `number` is the errno
    └── StartFailed -32602         no such program, or it may not be run
"""

from __future__ import annotations

import errno
from typing import ClassVar

from accord.errors import AccordError

__all__ = [
    "AccessDenied",
    "FileFailed",
    "FileTooLarge",
    "InvalidPath",
    "NoSuchFile",
    "NotADirectory",
    "NotAFile",
    "NotText",
    "PathChanged",
    "PathOutsideRoots",
    "StartFailed",
    "WorkspaceError",
    "workspace_error",
]


class WorkspaceError(AccordError):
    """An operation of the workspace that failed.

    `code` is the matching JSON-RPC error. `path` is the requested one, never the resolved one: the text may be shown to
    the caller without revealing anything about the rest of the disk.
    """

    code: ClassVar[int] = -32602

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class InvalidPath(WorkspaceError):
    """No file can have this path: it is relative, empty, too long, or its links form a loop."""


class PathOutsideRoots(WorkspaceError):
    """It leads out of the roots, by itself or through a link. Its existence was not checked."""


class PathChanged(WorkspaceError):
    """A link or a directory on the way was swapped between the permission and the access; nothing was done."""

    code = -32003


class NoSuchFile(WorkspaceError):
    """The file, or a directory on the way, does not exist."""

    code = -32002


class NotAFile(WorkspaceError):
    """The path is no regular file; `kind` says what it is."""

    def __init__(self, message: str, *, path: str = "", kind: str = "") -> None:
        super().__init__(message, path=path)
        self.kind = kind


class NotADirectory(WorkspaceError):
    """The path of a root, or of a command's directory, is no directory."""


class NotText(WorkspaceError):
    """Not UTF-8: a binary file, or a text with a lone surrogate."""


class FileTooLarge(WorkspaceError):
    """Reading it would need more than `limit_bytes`; `line` and `limit` may help."""

    def __init__(self, message: str, *, path: str = "", limit_bytes: int) -> None:
        super().__init__(message, path=path)
        self.limit_bytes = limit_bytes


class AccessDenied(WorkspaceError):
    """The operating system denies access."""

    code = -32003


class FileFailed(WorkspaceError):
    """The operation failed in the operating system; `number` is the errno."""

    code = -32603

    def __init__(self, message: str, *, path: str = "", number: int = 0) -> None:
        super().__init__(message, path=path)
        self.number = number


class StartFailed(WorkspaceError):
    """The command never ran; `argv` is the requested command."""

    def __init__(self, message: str, *, argv: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.argv = argv


_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_MISSING = {errno.ENOENT, errno.ENOTDIR}
_INVALID = {errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
# Opening a socket, or a FIFO without a reader, fails with ENXIO.
_NO_FILE = {errno.EISDIR, errno.ENXIO}


def workspace_error(error: OSError, path: str) -> WorkspaceError:
    """The workspace error for an error of the system at `path`."""
    number = error.errno or 0
    if number in _MISSING:
        return NoSuchFile("there is no such file", path=path)
    if number in _DENIED:
        return AccessDenied("the system does not allow it", path=path)
    if number in _INVALID:
        return InvalidPath("no file can have this path", path=path)
    if number in _NO_FILE:
        return NotAFile("this is no regular file", path=path, kind="directory" if number == errno.EISDIR else "other")
    return FileFailed(f"the system failed: {error.strerror}", path=path, number=number)
