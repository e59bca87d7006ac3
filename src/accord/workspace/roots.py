"""Path resolution that never leaves the roots, also while other processes change the directories.

A path is walked from its root one name at a time, each opened relative to the descriptor of the directory before it
and without following links. A link is read and its text walked in the same way, from a root again. So nothing is
checked first and used later: the descriptor that was reached is the one that is used. A path, or a link, that leaves
the roots is refused by its text alone; nothing outside is touched, not even to see whether it exists.

Not detected: a hard link to a file outside, and a mount inside.

Where directories have no descriptors (Windows) the path is resolved by name and then used by name. That stops honest
mistakes and prepared links, but not a process that swaps a directory for a link between the two steps.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accord.jsonrpc.plain import plain_text
from accord.workspace.errors import InvalidPath, NotADirectory, PathOutsideRoots, workspace_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Parts = tuple[str, ...]

__all__ = ["DIRECTORY_FLAGS", "HAS_DIRECTORY_DESCRIPTORS", "Place", "Roots", "parse_path"]

HAS_DIRECTORY_DESCRIPTORS = {os.open, os.stat, os.readlink, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd

# The limit of Linux.
_MAX_PATH_BYTES = 4096
_MAX_LINKS = 40
# Links and `..` restart the walk; a malicious path could otherwise take minutes.
_MAX_STEPS = 8192

# O_PATH needs no right to list a directory, only to pass through it, as an ordinary open does.
_CAN_PASS_UNLISTED = hasattr(os, "O_PATH")
DIRECTORY_FLAGS = (
    (os.O_PATH if hasattr(os, "O_PATH") else os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


class Place(NamedTuple):
    """A name in an open directory; the file itself may not exist.

    Where there are no descriptors, `directory` is None and `name` a whole path: both mean the same to the functions of
    `os`. `path` is for people and hooks: below the root as that was given, without links and dots. `real` is the same
    with the links of the root followed too: permissions are about this path.
    """

    directory: int | None
    name: str
    path: Path
    real: Path

    def sibling(self, name: str) -> str:
        """The path of another name in the same directory."""
        return name if self.directory is not None else str(Path(self.name).parent / name)


class _Root(NamedTuple):
    given: Path
    real: Parts
    names: tuple[Parts, ...]  # what a path below it may begin with


def parse_path(path: str | os.PathLike[str]) -> str:
    """The path as a string that the system will take.

    Raises:
        InvalidPath: It is relative or no system could have it.
    """
    text = plain_text(os.fspath(path))
    try:
        size_bytes = len(os.fsencode(text))
    except UnicodeEncodeError:
        raise InvalidPath("a path must be whole characters", path=repr(text)) from None
    if not text or "\0" in text or size_bytes > _MAX_PATH_BYTES:
        raise InvalidPath("no file can have this path", path=text)
    if not Path(text).is_absolute():
        raise InvalidPath("a path must be absolute", path=text)
    return text


class Roots:
    """The directories that may be used. They are named when they are given; they hold nothing open.

    Raises:
        InvalidPath: A root is relative.
        NotADirectory: A root is no directory, or does not exist.
    """

    def __init__(
        self, roots: Sequence[str | os.PathLike[str]], *, by_descriptor: bool = HAS_DIRECTORY_DESCRIPTORS
    ) -> None:
        self._roots = [_root(parse_path(root)) for root in roots]
        self._by_descriptor = by_descriptor

    @property
    def paths(self) -> tuple[Path, ...]:
        """The roots as they were given."""
        return tuple(root.given for root in self._roots)

    @contextmanager
    def locate(self, path: str, *, create_parents: bool = False) -> Iterator[Place]:
        """The place that `path` means, with its directory open as long as the context lasts.

        The name may be missing but is no link, or was none a moment ago: every operation on it must not follow one. An
        `OSError` is not converted.

        Raises:
            InvalidPath: It is relative, or its links form a loop. PathOutsideRoots: It leads out of the roots.
        """
        text = parse_path(path)
        if not self._by_descriptor:
            yield self._locate_by_name(text, create_parents=create_parents)
            return
        walk = _Walk(self, text, create_parents=create_parents)
        try:
            yield walk.run()
        finally:
            walk.close()

    def contains(self, path: str) -> bool:
        """Whether an absolute path lies in a root by its text."""
        return self.enter(_parts(path)) is not None

    def enter(self, parts: Parts) -> tuple[_Root, Parts] | None:
        """The first root that a path lies in by its text, and the rest of the path."""
        for root in self._roots:
            for name in root.names:
                if parts[: len(name)] == name:
                    return root, parts[len(name) :]
        return None

    def _locate_by_name(self, text: str, *, create_parents: bool) -> Place:
        real = Path(os.path.realpath(text))
        for root in self._roots:
            home = Path(os.path.realpath(root.given))
            if real.is_relative_to(home):
                if create_parents:
                    real.parent.mkdir(parents=True, exist_ok=True)
                return Place(None, str(real), root.given / real.relative_to(home), real)
        raise PathOutsideRoots("the path is outside the roots", path=text)


def _root(text: str) -> _Root:
    try:
        real = Path(os.path.realpath(text, strict=True))
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
            raise workspace_error(error, text) from error
        raise NotADirectory("a root must exist", path=text) from error
    if not real.is_dir():
        raise NotADirectory("a root must be a directory", path=text)
    names = [_parts(str(real))]
    given = _parts(text)
    # The name before `..` may be a link: only the system can resolve it.
    if ".." not in given:
        names.append(given)
    return _Root(Path(text), names[0], tuple(names))


def _parts(text: str) -> Parts:
    return tuple(part for part in text.split("/") if part not in {"", "."})


class _Walk:
    """One path on its way through the roots; holds one descriptor at a time."""

    def __init__(self, roots: Roots, text: str, *, create_parents: bool) -> None:
        self._roots = roots
        self._text = text
        self._create_parents = create_parents
        self._links = 0
        self._steps = 0
        self._directory = -1

    def run(self) -> Place:
        onward: Place | Parts = _parts(self._text)
        while not isinstance(onward, Place):
            onward = self._walk_from_root(onward)
        return onward

    def close(self) -> None:
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    def _walk_from_root(self, parts: Parts) -> Place | Parts:
        """The place, or the parts of the path that a link leads to."""
        entry = self._roots.enter(parts)
        if entry is None:
            raise self._outside()
        root, rest = entry
        self._open_root(root)
        pending = deque(rest)
        names: list[str] = []
        while pending:
            name = pending.popleft()
            if name == "..":
                # At the bottom this is the root's own parent, which another root may hold.
                above = (*root.real, *names)[:-1]
                return (*above, *pending)
            target = self._step(name, pending)
            if target is not None:
                start = () if target.startswith("/") else (*root.real, *names)
                return (*start, *_parts(target), *pending)
            names.append(name)
        real = Path("/", *root.real, *names)
        return Place(self._directory, names[-1] if names else ".", root.given.joinpath(*names), real)

    def _open_root(self, root: _Root) -> None:
        try:
            if not _CAN_PASS_UNLISTED:
                self._move("/" + "/".join(root.real))
                return
            # Name by name too: roots nest, and one may be swapped for a link from inside another.
            self._move("/")
            for name in root.real:
                self._move(name)
        except OSError as error:
            if error.errno in {errno.ENOTDIR, errno.ELOOP}:
                raise self._outside() from error
            raise

    def _step(self, name: str, pending: deque[str]) -> str | None:
        """Go into a directory, or stop in front of the last name; where there is a link, its text instead."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise self._circles()
        if not pending:
            return self._link(name) if self._is_link(name) else None
        try:
            self._move(name)
        except FileNotFoundError:
            if not self._create_parents or ".." in pending:
                raise
            self._make(name)
        except OSError as error:
            if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
                raise
            link = self._link(name)
            # Neither a link nor a directory: the directory was restored in between, or it is a file.
            if link is None:
                self._move(name)
            return link
        return None

    def _move(self, name: str) -> None:
        onward = os.open(name, DIRECTORY_FLAGS, dir_fd=self._directory if self._directory >= 0 else None)
        self.close()
        self._directory = onward

    def _make(self, name: str) -> None:
        # Another writer may have been faster.
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._directory)
        self._move(name)

    def _is_link(self, name: str) -> bool:
        try:
            found = os.stat(name, dir_fd=self._directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return stat.S_ISLNK(found.st_mode)

    def _link(self, name: str) -> str | None:
        try:
            target = os.readlink(name, dir_fd=self._directory)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise
        self._links += 1
        if self._links > _MAX_LINKS:
            raise self._circles()
        return target

    def _outside(self) -> PathOutsideRoots:
        return PathOutsideRoots("the path is outside the roots", path=self._text)

    def _circles(self) -> InvalidPath:
        return InvalidPath("the path goes round in circles", path=self._text)
