"""Copies of one folder for agents that may change it, in a private folder that is removed in any case.

A first copy stays as the folder was, and every other one is made of it: all agents find the same, whatever happens to
the folder meanwhile. It is no sandbox: a program can leave its copy.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from accord.config import ConfigPaths
from accord.evaluation.changes import changes_between
from accord.evaluation.folder_copy import FolderCopy, remove_folder
from accord.session.tool import FileChange
from accord.stores.folder import make_folder
from accord.stores.owner import is_held, open_owner, owners_folder

__all__ = ["FolderCopies", "open_copies"]

_GIT_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


class CopyFailed(OSError):
    """Something of a folder cannot be read or written while it is copied."""


class FolderCopies:
    """The copies of one folder. Made by `open_copies`."""

    def __init__(self, root: Path, source: Path, on_file: Callable[[int], None]) -> None:
        self._root = root
        self._source = source
        self._name = source.name or "folder"
        self._on_file = on_file
        self._count = 0
        self.before = root / "before" / self._name

    @property
    def environment(self) -> dict[str, str | None]:
        """Changes of the environment, so that nothing leads Git out of a copy; None unsets a variable."""
        return {**dict.fromkeys(_GIT_VARIABLES), "GIT_CEILING_DIRECTORIES": str(self._root)}

    async def begin(self) -> None:
        """Make the first copy.

        Raises:
            CopyFailed: Something cannot be read or written.
        """
        await self._copied(self._source, self.before)

    async def copy(self, name: str) -> Path:
        """A new copy; `name` is that of a folder around it.

        Raises:
            CopyFailed: Something cannot be read or written.
        """
        target = self._root / name / self._name
        await self._copied(self.before, target)
        return target

    async def changes(self, copy: Path) -> list[FileChange]:
        """The files that are different in a copy."""
        return await asyncio.to_thread(changes_between, self.before, copy)

    async def remove(self, copy: Path) -> None:
        await asyncio.shield(asyncio.to_thread(remove_folder, copy.parent))

    async def _copied(self, source: Path, target: Path) -> None:
        stop = threading.Event()

        def on_file() -> None:
            self._count += 1
            self._on_file(self._count)
            if stop.is_set():
                raise InterruptedError("the copy was stopped")

        def copy() -> None:
            make_folder(target.parent)
            FolderCopy(source, leave_out=self._root.parent, on_file=on_file).make(target)

        copying = asyncio.ensure_future(asyncio.to_thread(copy))
        try:
            await asyncio.shield(copying)
        except OSError as error:
            raise CopyFailed(error.errno, error.strerror or str(error), error.filename) from error
        finally:
            stop.set()
            with contextlib.suppress(OSError):
                await asyncio.shield(copying)


@contextlib.asynccontextmanager
async def open_copies(
    source: Path, place: str, on_file: Callable[[int], None] = lambda _: None
) -> AsyncIterator[FolderCopies]:
    """Copies of a folder, in the folder `place` of the cache. What killed processes left there is removed first.

    `on_file` gets the number of copied files; it is called in a thread.

    Raises:
        OSError: The folder cannot be copied.
        StoreError: The private folder cannot be made.
    """
    folder = ConfigPaths.here().cache / place
    make_folder(folder)
    owner = open_owner(folder)
    try:
        for each in folder.iterdir():
            if not is_held(owners_folder(folder), each.name):
                await asyncio.to_thread(remove_folder, each)
        root = folder / owner.name
        make_folder(root)
        try:
            copies = FolderCopies(root, source, on_file)
            await copies.begin()
            yield copies
        finally:
            await asyncio.shield(asyncio.to_thread(remove_folder, root))
    finally:
        owner.close()
