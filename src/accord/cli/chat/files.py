"""The files below a directory that can be named with `@`: as Git sees them, so many at most, looked up in a thread."""

from __future__ import annotations

import asyncio
import time

from accord.coder.tools.walk import walk
from accord.workspace import Workspace, WorkspaceError

__all__ = ["FileList"]

MAX_FILES = 20_000
MAX_SECONDS = 5.0
FRESH_SECONDS = 10.0


class _Enough(Exception):
    """It takes too long."""


class FileList:
    """The files of one directory; read again when somebody asks and the list is old."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._files: list[str] = []
        self._read_at: float | None = None
        self._reading: asyncio.Task[list[str]] | None = None

    @property
    def known(self) -> list[str]:
        """Those of the last look."""
        return self._files

    async def refresh(self) -> list[str]:
        """The files now, or of a moment ago."""
        now = asyncio.get_running_loop().time()
        if self._read_at is not None and now - self._read_at < FRESH_SECONDS:
            return self._files
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(asyncio.to_thread(_read, self._cwd))
        try:
            self._files = await asyncio.shield(self._reading)
        finally:
            self._reading = None
        self._read_at = now
        return self._files


def _read(cwd: str) -> list[str]:
    deadline = time.monotonic() + MAX_SECONDS

    def check() -> None:
        if time.monotonic() > deadline:
            raise _Enough

    files: list[str] = []
    try:
        for found in walk(Workspace([cwd]), cwd, 32, check):
            files.append(f"{found.path}/" if found.is_folder else found.path)
            if len(files) >= MAX_FILES:
                break
    except (_Enough, WorkspaceError, OSError):
        # What was found so far is better than nothing.
        pass
    return files
