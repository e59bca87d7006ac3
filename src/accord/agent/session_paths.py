"""Where the paths of a session lead, whoever uses them then: this machine or the client's.

A path means the same on both sides: relative ones start at the session's directory, and dots are taken out by the text
alone. Nothing here reads or writes a file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from accord.jsonrpc.plain import plain_text
from accord.workspace import (
    AccessDenied,
    Disk,
    FileFailed,
    InvalidPath,
    NoSuchFile,
    NotAFile,
    PathOutsideRoots,
    Workspace,
    WorkspaceError,
)
from accord.workspace.roots import parse_path

__all__ = ["SessionPaths"]

_DIRECTORY_ENDINGS = tuple({"/", "/.", os.sep, f"{os.sep}."})


class SessionPaths:
    """The roots of a session; the first is its directory.

    `workspace` makes, or has, the same roots on this machine; it is called when it is needed, and raises
    `NotADirectory` where they are not here.
    """

    def __init__(self, roots: Sequence[str], workspace: Callable[[], Workspace]) -> None:
        self._roots = [_normal(root) for root in roots]
        self._workspace = workspace
        self._disk: Disk | None = None

    @property
    def cwd(self) -> str:
        """The session's directory."""
        return self._roots[0]

    @property
    def workspace(self) -> Workspace:
        """The roots on this machine.

        Raises:
            NotADirectory: They are not here.
        """
        return self._workspace()

    def directory(self, path: str | os.PathLike[str] | None) -> str:
        """The absolute path of a directory; None is the session's own.

        Raises:
            InvalidPath: No system could have it.
        """
        if path is None:
            return self.cwd
        text = plain_text(os.fspath(path))
        if not text:
            raise InvalidPath("a path cannot be empty", path=text)
        return _normal(os.path.join(self.cwd, text))  # noqa: PTH118 - a Path would hide how it ends

    def file(self, path: str | os.PathLike[str]) -> str:
        """The absolute path of a file.

        Raises:
            InvalidPath: No system could have it.
            NotAFile: It is written as that of a directory.
        """
        place = self.directory(path)
        text = plain_text(os.fspath(path))
        if text.endswith(_DIRECTORY_ENDINGS):
            raise NotAFile("this is a directory's path", path=text, kind="directory")
        return place

    async def check(self, place: str) -> None:
        """Refuse what leads out of the roots, by its text or through a link that this machine can see.

        What is not here, or may not be looked at, is the client's to judge.

        Raises:
            PathOutsideRoots: It leads out.
            InvalidPath: It goes round in circles.
        """
        try:
            disk = self._local_disk()
        except WorkspaceError:
            if not any(Path(place).is_relative_to(root) for root in self._roots):
                raise PathOutsideRoots("the path is outside the roots", path=place) from None
            return
        try:
            await asyncio.to_thread(disk.resolve, place)
        except (NoSuchFile, AccessDenied, FileFailed):
            return

    def _local_disk(self) -> Disk:
        if self._disk is None:
            self._disk = Disk(self._workspace().roots)
        return self._disk


def _normal(text: str) -> str:
    # POSIX lets two slashes at the beginning mean something else; nowhere else can there be two after this.
    return os.path.normpath(parse_path(text)).replace("//", "/", 1)
