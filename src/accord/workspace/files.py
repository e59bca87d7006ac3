"""The text files of a session: on disk below its roots, or in an editor's unsaved buffers.

`accord.workspace.disk` accesses the disk; this module runs it in threads, after the hooks.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from accord.workspace.disk import DEFAULT_MAX_BYTES, Disk, Missing
from accord.workspace.errors import NoSuchFile, PathChanged
from accord.workspace.lines import select_lines

__all__ = ["Missing", "ReadHook", "Workspace", "WriteHook"]

ReadHook: TypeAlias = Callable[[Path], str | Awaitable[str | None] | None]
"""Returns the text of an unsaved buffer; None for the file on disk."""
WriteHook: TypeAlias = Callable[[Path, str], bool | Awaitable[bool]]
"""Takes a text for a buffer; False for the file on disk."""


class Workspace:
    """Text files below some roots, bounded to them by descriptor.

    `read_hook` gets a path and returns the text of an unsaved buffer, or None for the file on disk; `write_hook` gets a
    path and the new text and returns True if it took it. Both may be coroutine functions, run in the loop, and see only
    paths inside the roots, with links resolved, below the root as that was given. Their exceptions are not caught.

    The other options are those of `accord.workspace.disk.Disk`. Nothing is held open; there is no close.

    Raises:
        InvalidPath: A root is relative.
        NotADirectory: A root is no directory.
    """

    def __init__(
        self,
        roots: Sequence[str | os.PathLike[str]],
        *,
        read_hook: ReadHook | None = None,
        write_hook: WriteHook | None = None,
        missing: Missing = "error",
        create_parents: bool = True,
        keep_line_ends: bool = True,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._disk = Disk(
            roots,
            missing=missing,
            create_parents=create_parents,
            keep_line_ends=keep_line_ends,
            max_bytes=max_bytes,
        )
        self._read_hook = read_hook
        self._write_hook = write_hook
        self._writing = asyncio.Lock()

    @property
    def roots(self) -> tuple[Path, ...]:
        """The roots as they were given."""
        return self._disk.roots

    async def real_path(self, path: str | os.PathLike[str]) -> Path:
        """The real path, with every link followed, which permissions are about; see `Disk.real_path`."""
        return await asyncio.to_thread(self._disk.real_path, path)

    async def read_text(
        self,
        path: str | os.PathLike[str],
        line: int | None = None,
        limit: int | None = None,
        *,
        expected: Path | None = None,
    ) -> str:
        """The text from line `line` (from 1; 0 is the start too) on, `limit` lines of it; its line ends are kept.

        Beyond the end there is nothing: an empty text, not an error. With `expected`, only from that real path.

        Raises:
            WorkspaceError: See the classes in `accord.workspace.errors`.
            ValueError: A negative `line` or `limit`.
        """
        if self._read_hook is not None:
            await self._check(path, expected)
            place = await self._resolve(path)
            unsaved = None if place is None else self._read_hook(place)
            if inspect.isawaitable(unsaved):
                unsaved = await unsaved
            if unsaved is not None:
                return select_lines(unsaved, line, limit)
        return await asyncio.to_thread(self._disk.read_text, path, line, limit, expected=expected)

    async def write_text(self, path: str | os.PathLike[str], content: str, *, expected: Path | None = None) -> None:
        """Replace the file's text, or create the file; a reader sees the old text or the new one.

        Writes happen in the order in which they were asked for. One that is cancelled after it began may still happen.
        With `expected`, only to that real path.

        Raises:
            WorkspaceError: See the classes in `accord.workspace.errors`; the file is as it was.
        """
        async with self._writing:
            if self._write_hook is not None:
                await self._check(path, expected)
                place = await self._resolve(path)
                taken = place is not None and self._write_hook(place, content)
                if inspect.isawaitable(taken):
                    taken = await taken
                if taken:
                    return
            await asyncio.to_thread(self._disk.write_text, path, content, expected=expected)

    async def delete_file(self, path: str | os.PathLike[str], *, expected: Path | None = None) -> None:
        """Delete a regular file on disk, in the order of writes. With `expected`, only at that real path.

        Raises:
            WorkspaceError: See the classes in `accord.workspace.errors`; the file is as it was.
        """
        async with self._writing:
            await asyncio.to_thread(self._disk.delete_file, path, expected=expected)

    def open_directory(
        self, path: str | os.PathLike[str], *, expected: Path | None = None
    ) -> AbstractContextManager[str]:
        """A name under which a child process may enter a directory inside the roots; see `Disk.open_directory`."""
        return self._disk.open_directory(path, expected=expected)

    async def _check(self, path: str | os.PathLike[str], expected: Path | None) -> None:
        if expected is not None and await self.real_path(path) != expected:
            raise PathChanged("the path leads elsewhere than the one that was allowed", path=str(path))

    async def _resolve(self, path: str | os.PathLike[str]) -> Path | None:
        """The path for a hook; None where its directory is missing, so that there can be no buffer."""
        try:
            return await asyncio.to_thread(self._disk.resolve, path)
        except NoSuchFile:
            return None
