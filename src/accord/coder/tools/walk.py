"""The walk over the folders below a root as Git sees them: without ignored files, and never through a link.

Where the system has descriptors of directories, each folder is opened relative to the one above it, so that no link can
be put in the way. A folder that cannot be opened is skipped. The last ignore pattern that matches counts, those of
deeper folders after those above; files of an ignored folder stay ignored, because that folder is never read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from accord.workspace import Workspace

ALWAYS_HIDDEN = frozenset({".git", ".hg", ".svn"})
MAX_DEPTH = 64
MAX_IGNORE_BYTES = 1024 * 1024
_BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# A FIFO without a writer would keep us waiting.
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Stopped(Exception):
    """The walk was cancelled: its result is not needed any more."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder; where there are no descriptors, its path."""

    place: int | str

    @contextmanager
    def folder(self, name: str) -> Iterator[_Folder]:
        if isinstance(self.place, str):
            yield _Folder(os.path.join(self.place, name))  # noqa: PTH118 - names as the system gave them
            return
        descriptor = os.open(name, _FOLDER, dir_fd=self.place)
        try:
            yield _Folder(descriptor)
        finally:
            os.close(descriptor)

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """The bytes of a regular file that is not larger; None for all else."""
        if isinstance(self.place, str):
            descriptor = os.open(os.path.join(self.place, name), _FILE)  # noqa: PTH118
        else:
            descriptor = os.open(name, _FILE, dir_fd=self.place)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor is no path
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_size > max_bytes:
                return None
            return file.read(max_bytes + 1)


@dataclass(frozen=True, slots=True)
class Found:
    """A file or folder of the walk; `path` is relative to its start."""

    path: str
    depth: int
    is_folder: bool
    above: _Folder
    name: str

    def read(self, max_bytes: int) -> bytes | None:
        """The bytes of a file; None if it is too large, or cannot be read. Only while the walk stands at it."""
        try:
            return self.above.read(self.name, max_bytes)
        except OSError:
            return None


def find_folder(workspace: Workspace, path: str) -> tuple[str, str]:
    """The root that a path lies in, and the path from there, with slashes.

    Only the text of the path is used: the walk itself checks that it stays inside.
    """
    for root in sorted((str(root) for root in workspace.roots), key=len, reverse=True):
        if path == root:
            return root, ""
        if path.startswith(root.rstrip(os.sep) + os.sep):
            return root, path[len(root.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
    return path, ""


def walk(workspace: Workspace, path: str, max_depth: int, check: Callable[[], None]) -> Iterator[Found]:
    """The files and folders below a path, folders before their content, in the order of names.

    The `.gitignore` files of the folders above it count too; the path itself is looked into even if they name it.
    `check` is called again and again, and may raise.

    Raises:
        WorkspaceError: The path leads out of the roots, or is no directory.
    """
    root, inner = find_folder(workspace, path)
    ignored = Ignored()
    names = inner.split("/") if inner else []
    for depth in range(len(names)):
        above = os.path.join(root, *names[:depth])  # noqa: PTH118
        with workspace.open_directory(above) as directory, _opened(directory) as folder:
            ignored = _with_own(ignored, "/".join(names[:depth]), folder)
    with workspace.open_directory(path) as directory, _opened(directory) as folder:
        yield from _below(folder, inner, ignored, (len(inner) + 1 if inner else 0, 0, max_depth), check)


@contextmanager
def _opened(directory: str) -> Iterator[_Folder]:
    if not _BY_DESCRIPTOR:
        yield _Folder(directory)
        return
    # The path may itself be a link of the system, to the very directory that was checked.
    descriptor = os.open(directory, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        yield _Folder(descriptor)
    finally:
        os.close(descriptor)


def _with_own(ignored: Ignored, inner: str, folder: _Folder) -> Ignored:
    try:
        data = folder.read(".gitignore", MAX_IGNORE_BYTES)
    except OSError:
        return ignored
    return ignored if data is None else ignored.inside(inner, data.decode("utf-8", "replace"))


def _below(
    folder: _Folder, inner: str, ignored: Ignored, span: tuple[int, int, int], check: Callable[[], None]
) -> Iterator[Found]:
    cut, depth, max_depth = span
    ignored = _with_own(ignored, inner, folder)
    with os.scandir(folder.place) as scanned:
        # A link to a folder is no folder here.
        entries = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in scanned)
    for name, is_folder in entries:
        check()
        path = f"{inner}/{name}" if inner else name
        if name in ALWAYS_HIDDEN or ignored.hides(path, is_folder=is_folder):
            continue
        yield Found(path[cut:], depth, is_folder, folder, name)
        if is_folder and depth + 1 < min(max_depth, MAX_DEPTH):
            try:
                with folder.folder(name) as below:
                    yield from _below(below, path, ignored, (cut, depth + 1, max_depth), check)
            except OSError:
                continue


@dataclass(frozen=True, slots=True)
class _Pattern:
    expression: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns that hold in a folder: its own behind those of the folders above it."""

    above: tuple[tuple[str, tuple[_Pattern, ...]], ...] = ()

    def inside(self, folder: str, text: str) -> Ignored:
        """With the `.gitignore` of a folder; folders are named from the root, with slashes, the root is empty."""
        patterns = parse_ignore(text)
        return Ignored((*self.above, (folder, patterns))) if patterns else self

    def hides(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path, named from the root, is ignored. The folders above it are not checked."""
        hidden = False
        for folder, patterns in self.above:
            name = path[len(folder) + 1 :] if folder else path
            for pattern in patterns:
                if (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(name):
                    hidden = not pattern.negated
        return hidden


def parse_ignore(text: str) -> tuple[_Pattern, ...]:
    """The patterns of a `.gitignore` file; lines that are no pattern are skipped, as Git does."""
    return tuple(pattern for line in text.splitlines() if (pattern := _pattern(line)) is not None)


def _pattern(line: str) -> _Pattern | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    if negated or line.startswith(("\\#", "\\!")):
        line = line[1:]
    folders_only = line.endswith("/")
    line = line.rstrip("/") if folders_only else line
    # A slash anywhere but at the end ties a pattern to its folder; otherwise it holds at every depth.
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    try:
        expression = re.compile(_expression(line if anchored else f"**/{line}"), re.DOTALL)
    except re.error:
        return None
    return _Pattern(expression, negated, folders_only)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" \t\r")
    # An escaped space counts.
    return stripped + " " if stripped.endswith("\\") and len(stripped) < len(line) else stripped


_TOKENS = re.compile(
    r"(?P<start>^\*\*/)|(?P<between>/\*\*/)|(?P<end>/\*\*$)|(?P<stars>\*+)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?(?:\\.|[^\]\\])*\])|\\(?P<literal>.)|(?P<other>.)",
    re.DOTALL,
)
_FIXED = {"start": "(?:.*/)?", "between": "/(?:.*/)?", "end": "/.+", "stars": "[^/]*", "one": "[^/]"}


def _expression(pattern: str) -> str:
    return "".join(_token_expression(match) for match in _TOKENS.finditer(pattern))


def _token_expression(match: re.Match[str]) -> str:
    kind = match.lastgroup or "other"
    if kind in _FIXED:
        return _FIXED[kind]
    text = match[kind]
    if kind == "set":
        inner = text[1:-1]
        negation, inner = ("^", inner[1:]) if inner[:1] in {"!", "^"} else ("", inner)
        # A set never matches the slash; `[` in it is nothing special.
        return f"(?!/)[{negation}{_set(inner)}]"
    # A set without an end matches nothing.
    return "(?!)" if text == "[" and kind == "other" else re.escape(text)


def _set(inner: str) -> str:
    return inner.replace("[", "\\[").replace("]", "\\]", 1) if inner.startswith("]") else inner.replace("[", "\\[")
