"""The meaning and the code of each failure of the system."""

from __future__ import annotations

import errno
import os

from accord.errors import AccordError
from accord.workspace import errors
from accord.workspace.errors import (
    AccessDenied,
    FileFailed,
    InvalidPath,
    NoSuchFile,
    NotAFile,
    WorkspaceError,
    workspace_error,
)
from tests.tables import rows


@rows(
    ("number", "kind", "code"),
    [
        (errno.ENOENT, NoSuchFile, -32002),
        (errno.ENOTDIR, NoSuchFile, -32002),
        (errno.EACCES, AccessDenied, -32003),
        (errno.EPERM, AccessDenied, -32003),
        (errno.EROFS, AccessDenied, -32003),
        (errno.ENAMETOOLONG, InvalidPath, -32602),
        (errno.ELOOP, InvalidPath, -32602),
        (errno.EISDIR, NotAFile, -32602),
        (errno.ENXIO, NotAFile, -32602),
        (errno.ENOSPC, FileFailed, -32603),
        (errno.EIO, FileFailed, -32603),
    ],
)
def test_an_error_of_the_system_becomes_one_of_ours(number: int, kind: type[WorkspaceError], code: int) -> None:
    error = workspace_error(OSError(number, os.strerror(number), "/where/it/led"), "/asked/for")
    assert type(error) is kind
    assert error.code == code
    assert error.path == "/asked/for"
    assert "/where/it/led" not in str(error)
    assert getattr(error, "number", number) == number


def test_every_error_of_the_room_is_an_accord_error() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__ if name[0].isupper()]
    assert all(issubclass(kind, WorkspaceError) and issubclass(kind, AccordError) for kind in kinds)
