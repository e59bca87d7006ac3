"""Reading and writing of text files inside the roots: only regular files, replaced as a whole.

It blocks for as long as the disk takes; `accord.workspace.files` has it do so in a thread.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from accord.display import whole
from accord.workspace.errors import (
    FileTooLarge,
    NotADirectory,
    NotAFile,
    NotText,
    PathChanged,
    PathOutsideRoots,
    workspace_error,
)
from accord.workspace.lines import LineSelection, line_end_of, with_line_end
from accord.workspace.roots import DIRECTORY_FLAGS, HAS_DIRECTORY_DESCRIPTORS, Roots, parse_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from accord.workspace.roots import Place

__all__ = ["DEFAULT_MAX_BYTES", "Disk", "Missing"]

Missing: TypeAlias = Literal["error", "empty"]
"""The answer for a file that does not exist: an error, or an empty text."""

_T = TypeVar("_T")

DEFAULT_MAX_BYTES = 64 * 1024 * 1024
# How far a read by lines may look for its first one.
DEFAULT_MAX_SCAN_BYTES = 1024 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
# How often a file may turn into a link during an access before it fails.
_ATTEMPTS = 8

# O_NONBLOCK: opening a FIFO would wait for a process on its other end. O_NOCTTY: a terminal must not become ours.
_SAFELY = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)

_KINDS = {
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


class Disk:
    """Text files below some roots, read and written at once.

    `missing` is the result of reading a file that does not exist. A file that is written keeps its mode, and its line
    ends if all of them are alike (`keep_line_ends`). `max_bytes` is the most that one read returns; to find the lines
    it was asked for it looks at `max_scan_bytes` at most.

    Raises:
        InvalidPath: A root is relative.
        NotADirectory: A root is no directory.
    """

    def __init__(
        self,
        roots: Sequence[str | os.PathLike[str]],
        *,
        missing: Missing = "error",
        create_parents: bool = True,
        keep_line_ends: bool = True,
        max_bytes: int = DEFAULT_MAX_BYTES,
        max_scan_bytes: int = DEFAULT_MAX_SCAN_BYTES,
        by_descriptor: bool = HAS_DIRECTORY_DESCRIPTORS,
    ) -> None:
        self._roots = Roots(roots, by_descriptor=by_descriptor)
        self._missing = missing
        self._create_parents = create_parents
        self._keep_line_ends = keep_line_ends
        self._max_bytes = max_bytes
        self._max_scan_bytes = max_scan_bytes

    @property
    def roots(self) -> tuple[Path, ...]:
        """The roots as they were given."""
        return self._roots.paths

    def resolve(self, path: str | os.PathLike[str]) -> Path:
        """The path below its root without links and dots; the file itself may be missing.

        Raises:
            WorkspaceError: It leads out of the roots, or its directory is missing.
        """
        text = parse_path(path)
        with _translated(text), self._roots.locate(text) as place:
            return place.path

    def real_path(self, path: str | os.PathLike[str]) -> Path:
        """The real path, with every link followed; the file and directories before it may be missing.

        Raises:
            WorkspaceError: It leads out of the roots.
        """
        text = parse_path(path)
        with _translated(text):
            try:
                with self._roots.locate(text) as place:
                    return place.real
            except FileNotFoundError:
                real = os.path.realpath(text)
        if not self._roots.contains(real):
            raise PathOutsideRoots("the path is outside the roots", path=text)
        return Path(real)

    def read_text(
        self,
        path: str | os.PathLike[str],
        line: int | None = None,
        limit: int | None = None,
        *,
        expected: Path | None = None,
    ) -> str:
        """The text from line `line` (from 1; 0 is the start too) on, `limit` lines of it; its line ends are kept.

        Beyond the end there is nothing: an empty text, not an error. `expected` is the real path that was allowed.

        Raises:
            PathChanged: It leads elsewhere by now; nothing was read.
            WorkspaceError: See the classes in `accord.workspace.errors`.
            ValueError: A negative `line` or `limit`.
        """
        text = _parse_file_path(path)
        selection = LineSelection(line, limit)
        with _translated(text):
            try:
                descriptor = self._try(text, lambda place: _open_file(place, text, os.O_RDONLY), expected)
            except FileNotFoundError:
                if self._missing == "empty":
                    return ""
                raise
            with _closed(descriptor):
                self._read(descriptor, selection, text)
        try:
            return selection.picked.decode()
        except UnicodeDecodeError as error:
            raise NotText("this is no UTF-8 text, it may be a binary file", path=text) from error

    def write_text(self, path: str | os.PathLike[str], content: str, *, expected: Path | None = None) -> None:
        """Replace the file's text, or create the file; a reader sees the old text or the new one.

        A link is kept and its target written, if that is inside. A file that may not be written is not replaced, though
        the system would allow it. A lone surrogate is written as U+FFFD. `expected` is the real path that was allowed.

        Raises:
            PathChanged: It leads elsewhere by now; nothing was written.
            WorkspaceError: See the classes in `accord.workspace.errors`; the file is as it was.
        """
        text = _parse_file_path(path)
        with _translated(text):
            self._try(
                text,
                lambda place: self._replace(place, text, whole(content)),
                expected,
                create_parents=self._create_parents,
            )

    def delete_file(self, path: str | os.PathLike[str], *, expected: Path | None = None) -> None:
        """Delete a regular file; where the path is a link, what it leads to. `expected` is as in `write_text`.

        Raises:
            PathChanged: It leads elsewhere by now; nothing was deleted.
            WorkspaceError: See the classes in `accord.workspace.errors`; the file is as it was.
        """
        text = _parse_file_path(path)
        with _translated(text):
            self._try(text, lambda place: _delete(place, text), expected)

    @contextmanager
    def open_directory(self, path: str | os.PathLike[str], *, expected: Path | None = None) -> Iterator[str]:
        """A name under which a child process may enter the directory as long as the context lasts.

        On Linux it is the directory that was found, also if the path was replaced since. `expected` is the real path
        that was allowed.

        Raises:
            PathChanged: It leads elsewhere by now.
            WorkspaceError: It leads out of the roots, or is no directory.
        """
        text = parse_path(path)
        with _translated(text):
            descriptor = self._try(text, lambda place: _open_directory(place, text), expected)
        if descriptor is None:
            yield str(self.resolve(text))
            return
        with _closed(descriptor):
            entrance = f"/proc/self/fd/{descriptor}"
            yield entrance if Path(entrance).is_dir() else str(self.resolve(text))

    def _try(
        self, text: str, use: Callable[[Place], _T], expected: Path | None = None, *, create_parents: bool = False
    ) -> _T:
        """Use the place of a path; retried where a link appeared there since it was found.

        The place that is compared with the expected one is the open directory that is used: nothing can come between.
        """
        for _ in range(_ATTEMPTS):
            with self._roots.locate(text, create_parents=create_parents) as place, suppress(_LinkAppeared):
                if expected is not None and place.real != expected:
                    raise PathChanged("the path leads elsewhere than the one that was allowed", path=text)
                return use(place)
        raise PathOutsideRoots("the path turns into a link again and again", path=text)

    def _read(self, descriptor: int, selection: LineSelection, text: str) -> None:
        scanned_bytes = 0
        while not selection.is_full:
            data = os.read(descriptor, _CHUNK_BYTES)
            if not data:
                return
            selection.feed(data)
            scanned_bytes += len(data)
            if len(selection.picked) > self._max_bytes or scanned_bytes > self._max_scan_bytes:
                limit_bytes = min(self._max_bytes, self._max_scan_bytes)
                raise FileTooLarge("the file is too large to be read", path=text, limit_bytes=limit_bytes)

    def _replace(self, place: Place, text: str, content: str) -> None:
        try:
            present = _open_file(place, text, os.O_RDWR)
        except FileNotFoundError:
            _put(place, content.encode(), None)
            return
        with _closed(present):
            if self._keep_line_ends:
                content = with_line_end(content, line_end_of(os.read(present, _CHUNK_BYTES)))
            _put(place, content.encode(), os.fstat(present))


class _LinkAppeared(Exception):
    """The name became a link after the walk had reached it."""


def _parse_file_path(path: str | os.PathLike[str]) -> str:
    text = parse_path(path)
    if text.endswith(("/", "/.")):
        raise NotAFile("this is a directory's path", path=text, kind="directory")
    return text


def _open_file(place: Place, text: str, how: int) -> int:
    # Before it is opened: to open a device can have effects. After it: something else may have come in between.
    _check(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False), text)
    try:
        descriptor = os.open(place.name, how | _SAFELY, dir_fd=place.directory)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _LinkAppeared from error
        raise
    try:
        _check(os.fstat(descriptor), text)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(found: os.stat_result, text: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _LinkAppeared
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "" if stat.S_ISREG(found.st_mode) else "other")
    if not kind and found.st_dev in _kernel_devices():
        kind = "kernel file"
    if kind:
        raise NotAFile(f"this is no file but a {kind}", path=text, kind=kind)


@cache
def _kernel_devices() -> frozenset[int]:
    """The devices of /proc and /sys: their files look regular, and are neither text nor a user's work."""
    if sys.platform != "linux":
        return frozenset()
    ordinary = Path("/").stat().st_dev
    return frozenset(
        folder.stat().st_dev
        for folder in (Path("/proc"), Path("/sys"))
        if folder.is_dir() and folder.stat().st_dev != ordinary
    )


def _open_directory(place: Place, text: str) -> int | None:
    found = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        raise _LinkAppeared
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectory("this is no directory", path=text)
    if place.directory is None:
        return None
    try:
        return os.open(place.name, DIRECTORY_FLAGS, dir_fd=place.directory)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise _LinkAppeared from error
        raise


def _put(place: Place, data: bytes, like: os.stat_result | None) -> None:
    """Make a new file beside the place and move it there, with the permissions of the file it replaces."""
    temporary = place.sibling(f".{secrets.token_hex(8)}.accord")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
    descriptor = os.open(temporary, flags, 0o666 if like is None else 0o600, dir_fd=place.directory)
    try:
        with _closed(descriptor):
            _write_all(descriptor, data)
            if like is not None:
                _dress(descriptor, like)
        os.replace(temporary, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.directory)
        raise


def _delete(place: Place, text: str) -> None:
    _check(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False), text)
    os.unlink(place.name, dir_fd=place.directory)


def _write_all(descriptor: int, data: bytes) -> None:
    with memoryview(data) as view:
        written = 0
        while written < len(data):
            written += os.write(descriptor, view[written : written + _CHUNK_BYTES])


def _dress(descriptor: int, like: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    mode = stat.S_IMODE(like.st_mode)
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except OSError:
            # The file's owner becomes this user: the set-id bits must not give our rights to others.
            mode &= 0o777
    # After the owner: changing that clears these bits.
    os.fchmod(descriptor, mode)


@contextmanager
def _closed(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _translated(text: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise workspace_error(error, text) from error
